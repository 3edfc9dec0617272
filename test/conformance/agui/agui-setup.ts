// A gateway that answers AG-UI requests, with a model that says what it is told to, and its streams read frame by frame.
import * as z from 'zod'
import { type Agent, defineAgent } from '../../../src/agents/define-agent.ts'
import { openAiCompatible } from '../../../src/agents/models/openai-compatible.ts'
import { defineTool } from '../../../src/agents/tools/define-tool.ts'
import type { Database } from '../../../src/db/client.ts'
import { type Api, startApi } from '../../doubles/api.ts'
import { type ScriptedModelServer, startScriptedModel } from '../../doubles/scripted-model-server.ts'

export type Frame = {
  readonly id: string | undefined
  readonly event: Record<string, unknown> & { readonly type: string }
}

export type Scene = {
  readonly api: Api
  readonly model: ScriptedModelServer
  readonly paid: readonly number[]
  readonly stop: () => Promise<void>
}

export async function startScene(database: Database, agents?: readonly Agent[]): Promise<Scene> {
  const model = await startScriptedModel()
  const paid: number[] = []
  const pay = defineTool({
    name: 'bank/pay',
    description: 'Pays.',
    parameters: z.object({ amount: z.number() }),
    action_policy: 'preview',
    execute: async ({ amount }) => {
      paid.push(amount)
      return { paid: amount }
    },
  })
  const look = defineTool({
    name: 'bank/look',
    description: 'Looks.',
    parameters: z.object({}),
    idempotent: true,
    execute: async () => ({ balance: 12 }),
  })
  const clerk = defineAgent({
    slug: 'demo',
    instructions: 'You are a clerk.',
    model: openAiCompatible({ baseUrl: model.baseUrl, model: 'scripted' }),
    tools: [pay, look],
  })
  const api = startApi(database, agents ?? [clerk], 5_000)
  return {
    api,
    model,
    paid,
    async stop() {
      await api.stop()
      await model.close()
    },
  }
}

const request = (threadId: string, runId: string, more: object = {}) => ({
  threadId,
  runId,
  protocolVersion: '1.0',
  messages: [{ id: `m-${runId}`, role: 'user', content: 'hello' }],
  ...more,
})

/** One run, asked for as a stream. */
export async function stream(
  { api }: Pick<Scene, 'api'>,
  body: { readonly threadId: string; readonly runId: string } & Record<string, unknown>,
  headers: Readonly<Record<string, string>> = {},
): Promise<{ readonly status: number; readonly frames: readonly Frame[] }> {
  const response = await api.request(
    '/api/v1/agent/runs',
    {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'text/event-stream', ...headers },
      body: JSON.stringify(request(body.threadId, body.runId, body)),
    },
    { isHere: true },
  )
  const text = await response.text()
  return { status: response.status, frames: response.ok ? framesIn(text) : [] }
}

export function framesIn(text: string): readonly Frame[] {
  return text
    .split('\n\n')
    .filter((frame) => frame.includes('data: '))
    .map((frame) => ({
      id: /^id: (.*)$/m.exec(frame)?.[1],
      event: JSON.parse(/^data: (.*)$/m.exec(frame)?.[1] ?? '{}'),
    }))
}

export const typesOf = (frames: readonly Frame[]): readonly string[] => frames.map(({ event }) => event.type)
export const textIn = (frames: readonly Frame[]): string =>
  frames.map(({ event }) => (event.type === 'TEXT_MESSAGE_CONTENT' ? String(event['delta']) : '')).join('')

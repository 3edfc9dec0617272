// The agent of the crash tests `steps` and `cancel`: a model with tools that act on the tool stub: one takes keys, one does not,
// one is asked about first.
import * as z from 'zod'
import { a2aAgent } from '../../adapters/a2a/client/remote-agent.ts'
import { type Agent, defineAgent } from '../../src/agents/define-agent.ts'
import { openAiCompatible } from '../../src/agents/models/openai-compatible.ts'
import { defineTool, type Tool } from '../../src/agents/tools/define-tool.ts'
import type { EffectBody } from './tool-stub.ts'

export function stepsAgent(modelUrl: string, toolUrl: string): Agent {
  return defineAgent({
    slug: 'steps',
    instructions: 'Take all your steps.',
    model: openAiCompatible({ baseUrl: modelUrl, model: 'scripted' }),
    tools: [actTool(toolUrl, 'keyed'), actTool(toolUrl, 'plain'), actTool(toolUrl, 'asked')],
    actionPolicy: { tools: { 'steps/asked': 'preview' } },
    maxTurns: 20,
  })
}

/** Says what its model says, without any tool. */
export function wordsAgent(modelUrl: string): Agent {
  const model = openAiCompatible({ baseUrl: modelUrl, model: 'words' })
  return defineAgent({ slug: 'words', instructions: 'Count.', model, tools: [] })
}

/** Passes everything on to an agent elsewhere. */
export function relayAgent(slug: string, peerUrl: string): Agent {
  return defineAgent({ slug, description: 'Passes everything on.', model: a2aAgent(peerUrl) })
}

/** Keys and values in no order a database would keep: what is read back must be the same call all the same. */
function actTool(toolUrl: string, kind: 'keyed' | 'plain' | 'asked'): Tool {
  return defineTool({
    name: `steps/${kind}`,
    description: 'Does one step.',
    parameters: z.object({
      zone: z.string(),
      number: z.number(),
      id: z.string(),
      note: z.record(z.string(), z.number()),
    }),
    idempotent: kind === 'keyed',
    async execute({ zone, number, id }, { key, fetch, signal, turn }) {
      const body: EffectBody = { ...nobody, id: `${id} ${number}`, wish: kind, key, attempt: turn, pid: process.pid }
      const response = await fetch(`${toolUrl}/effects`, { method: 'POST', body: JSON.stringify(body), signal })
      return { zone, said: await response.text(), number, a: null }
    },
  })
}

const nobody = {
  connection: 'steps',
  conversation: '',
  turn: '',
  startedAt: 0,
  sender: '',
  evidence: '',
  members: [],
  rowsRead: 0,
  historyLines: 0,
}

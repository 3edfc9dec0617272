// A model agent as a developer with a web page in front would set it up: tools of its own, the page's tools, shared state.
import * as z from 'zod'
import { defineAgent } from '../../../src/agents/define-agent.ts'
import type { ModelAgentOptions } from '../../../src/agents/model-agent-options.ts'
import { openAiCompatible } from '../../../src/agents/models/openai-compatible.ts'
import { defineTool } from '../../../src/agents/tools/define-tool.ts'
import type { Database } from '../../../src/db/client.ts'
import { type Api, startApi } from '../../doubles/api.ts'
import { type ScriptedModelServer, startScriptedModel } from '../../doubles/scripted-model-server.ts'

export type ClerkScene = {
  readonly api: Api
  readonly model: ScriptedModelServer
  readonly paid: readonly number[]
  readonly stop: () => Promise<void>
}

export async function startClerk(database: Database, more: Partial<ModelAgentOptions> = {}): Promise<ClerkScene> {
  const model = await startScriptedModel()
  const paid: number[] = []
  const roll = defineTool({
    name: 'dice/roll',
    description: 'Rolls.',
    parameters: z.object({}),
    execute: async () => ({ rolled: 6 }),
  })
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
  const clerk = defineAgent({
    slug: 'demo',
    instructions: 'You are a clerk.',
    model: openAiCompatible({ baseUrl: model.baseUrl, model: 'scripted' }),
    tools: [roll, pay],
    toolPolicy: { runtime_tools: 'all' },
    sharedState: true,
    ...more,
  })
  const api = startApi(database, [clerk], 5_000)
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

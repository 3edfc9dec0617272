// What takes a turn in the scenario `loop`: a function, the loop with a model that answers at once, and the bare loop of the
// AI SDK with a model just as fast. The three tools do nothing; what is left is everybody's own work.
import { generateText, isStepCount, jsonSchema, type LanguageModel, type ToolSet, tool } from 'ai'
import { type Agent, defineAgent } from '../../src/agents/define-agent.ts'
import type { Model } from '../../src/agents/models/model.ts'
import { defineTool } from '../../src/agents/tools/define-tool.ts'
import { type NormalizedMessage, textPart } from '../../src/contract/index.ts'
import { loneContext } from '../../test/doubles/agent-context.ts'

const words = 'It will be here on Sunday.'
const instructions = 'You are the concierge of a shop for lamps. Be brief.'
const questions = ['lamps', 'orders', 'delivery'] as const
const schema = {
  type: 'object',
  properties: { q: { type: 'string' }, limit: { type: 'number' } },
  required: ['q'],
} as const

const tools = questions.map((name) =>
  defineTool({
    name: `shop/${name}`,
    description: `Looks up ${name}.`,
    parameters: schema,
    idempotent: true,
    execute: () => ({ found: name, count: 3 }),
  }),
)

/** Three calls in its first answer, words in its second; without tools words at once. */
const model: Model = async ({ messages, tools: offered }) => {
  const isAsked = offered.length > 0 && messages.at(-1)?.type !== 'tool_result'
  const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }
  if (!isAsked) return { content: words, tool_calls: [], usage }
  const calls = questions.map((name) => ({ id: `c-${name}`, name: `shop/${name}`, parameters: { q: name, limit: 3 } }))
  return { content: '', tool_calls: calls, usage }
}

export const agents: readonly Agent[] = [
  defineAgent({ slug: 'function', run: () => words }),
  defineAgent({ slug: 'answer', instructions, model }),
  defineAgent({ slug: 'tools', instructions, model, tools }),
]

/** One run without a gateway: what the loops themselves cost. */
export type BareRun = { readonly name: string; readonly run: () => Promise<unknown> }

export const bareRuns: readonly BareRun[] = [
  { name: 'sdk', run: () => generateText({ model: sdkModel, system: instructions, prompt: question }) },
  { name: 'loop', run: alone('answer') },
  {
    name: 'sdk-tools',
    run: () =>
      generateText({
        model: sdkModel,
        system: instructions,
        prompt: question,
        tools: sdkTools,
        stopWhen: isStepCount(5),
      }),
  },
  { name: 'loop-tools', run: alone('tools') },
]

const question = 'When will the two blue lamps be here?'

const sdkTools: ToolSet = Object.fromEntries(
  questions.map((name) => [
    `shop__${name}`,
    tool({
      description: `Looks up ${name}.`,
      inputSchema: jsonSchema<{ q: string }>(schema),
      execute: async () => ({ found: name, count: 3 }),
    }),
  ]),
)

type LocalModel = Extract<LanguageModel, { specificationVersion: 'v4' }>

const sdkModel: LocalModel = {
  specificationVersion: 'v4',
  provider: 'local',
  modelId: 'local',
  supportedUrls: {},
  doGenerate: async ({ prompt, tools: offered = [] }) => {
    const isAsked = offered.length > 0 && prompt.at(-1)?.role !== 'tool'
    const calls = questions.map((name) => ({
      type: 'tool-call' as const,
      toolCallId: `c-${name}`,
      toolName: `shop__${name}`,
      input: JSON.stringify({ q: name, limit: 3 }),
    }))
    return {
      content: isAsked ? calls : [{ type: 'text', text: words }],
      finishReason: isAsked ? { unified: 'tool-calls', raw: 'tool_calls' } : { unified: 'stop', raw: 'stop' },
      usage: {
        inputTokens: { total: 10, noCache: 10, cacheRead: 0, cacheWrite: 0 },
        outputTokens: { total: 5, text: 5, reasoning: 0 },
      },
      warnings: [],
    }
  },
  doStream: async () => {
    throw new Error('the bench does not stream')
  },
}

/** The loop with nothing around it: steps are run and not journaled. */
function alone(slug: string): () => Promise<unknown> {
  const agent = agents.find((each) => each.slug === slug)
  const context = loneContext(slug)
  return async () => agent?.run(message, context)
}

const message: NormalizedMessage = {
  id: 'm',
  thread_id: 't',
  sender: { address: '@ada@example.com', auth_method: 'none', verified: false },
  recipient: '@concierge@example.com',
  parts: [textPart(question)],
  recipient_capabilities: { mention_relay: { kind: 'none' } },
  received_via: 'bench',
  received_at: '2026-01-01T00:00:00.000Z',
  raw: null,
}

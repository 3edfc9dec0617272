// A model with a tool that needs consent, without a model: what it says follows from what it is shown.
import * as z from 'zod'
import { type Agent, defineAgent } from '../../src/agents/define-agent.ts'
import type { Model } from '../../src/agents/models/model.ts'
import { defineTool, type Tool } from '../../src/agents/tools/define-tool.ts'
import type { ToolContext } from '../../src/agents/tools/tool.ts'
import type { Envelope } from '../../src/contract/gateway-events.ts'

/** `keyed` takes idempotency keys, `brief` expires soon. */
const kinds = ['plain', 'keyed', 'brief'] as const

/** Long enough to be asked, short enough to be waited for. */
const briefMs = 1500

export function buyerAgent(toolUrl: string): Agent {
  return defineAgent({ slug: 'buyer', model: buyer, tools: kinds.map((kind) => buyTool(toolUrl, kind)) })
}

const buyer: Model = async ({ messages }) => {
  const last = messages.at(-1)
  if (last?.type === 'tool_result') return { content: outcomeWords(last) }
  const text = String(last?.content ?? '')
  const kind = kinds.find((each) => text === `buy ${each}`)
  if (kind === undefined) return { content: `heard ${text}` }
  return {
    tool_calls: [{ name: `shop/buy-${kind}`, id: `call-${kind}`, parameters: { item: 'tea', card: 'secret-4711' } }],
  }
}

function outcomeWords({ payload }: Envelope): string {
  if (payload['success'] === true) return 'bought'
  const metadata = payload['metadata'] as Readonly<Record<string, unknown>>
  return `not bought: ${String(metadata['error_type'])}`
}

function buyTool(toolUrl: string, kind: (typeof kinds)[number]): Tool {
  return defineTool({
    name: `shop/buy-${kind}`,
    description: 'Buys something.',
    parameters: z.object({ item: z.string(), card: z.string() }),
    sensitive_parameters: ['card'],
    action_policy: 'preview',
    idempotent: kind === 'keyed',
    approval: { summary: ({ item }) => `buy ${item}`, ...(kind === 'brief' ? { expiresInMs: briefMs } : {}) },
    execute: (_args, context) => buy(toolUrl, kind, context),
  })
}

async function buy(toolUrl: string, kind: string, { context, key, fetch, signal }: ToolContext): Promise<unknown> {
  const from = context['client_context'] as Readonly<Record<string, unknown>>
  const conversation = String(from['external_conversation_id'])
  const response = await fetch(`${toolUrl}/effects`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ connection: 'shop', conversation, id: conversation, wish: kind, key, pid: process.pid }),
    signal,
  })
  if (!response.ok) throw new Error(`the shop answered ${response.status}`)
  return { receipt: conversation }
}

// The agent under test: one journaled effect per message at the tool stub, then a reply that names what it saw.
import { type Agent, type AgentContext, defineAgent, type StepContext } from '../../src/agents/define-agent.ts'
import { type NormalizedMessage, textOf } from '../../src/contract/index.ts'
import { partsWished } from './part-text.ts'
import type { EffectBody } from './tool-stub.ts'

const thinkMs: Readonly<Record<string, number>> = { slow: 500 }

let rowsRead = 0

export function countRows(rows: number): void {
  rowsRead += rows
}

export function crashTestAgent(toolUrl: string, slug = 'proof'): Agent {
  return defineAgent({
    slug,
    run: (_message, context) => answer(toolUrl, context),
    onSignal: (signal) => `woken ${String(signal.payload['id'])}`,
  })
}

async function answer(toolUrl: string, context: AgentContext): Promise<string> {
  const startedAt = Date.now()
  const parts = context.members.flatMap((member) => partsWished(member.id, wishOf(member)))
  if (parts.length > 0) return parts.join('\n\n')
  if (context.members.some((member) => wishOf(member) === 'hang before')) await new Promise(() => {})
  if (context.attempt === 1 && context.members.some((member) => wishOf(member) === 'flaky early'))
    throw new Error('fails the first time, before it has acted')
  for (const member of context.members) {
    const body = effectBody(member, context, startedAt)
    const options = { args: { id: member.id }, idempotent: body.wish === 'keyed' }
    await context.step('tool', (step) => useTool(toolUrl, { ...body, key: step.key }, step), options)
  }
  for (const member of context.members) await fulfil(member, context)
  return `saw ${context.members.map((member) => member.id).join(' ')}`
}

async function fulfil(member: NormalizedMessage, context: AgentContext): Promise<void> {
  const wish = wishOf(member)
  if (wish === 'hang') await new Promise(() => {})
  if (wish === 'poison') throw new Error('poisoned')
  if (wish === 'flaky' && context.attempt === 1) throw new Error('fails the first time')
  if (wish === 'remind') context.schedule(`remind ${member.id}`, 100, { id: member.id })
  await new Promise((resolve) => setTimeout(resolve, thinkMs[wish] ?? 0))
}

function effectBody(member: NormalizedMessage, context: AgentContext, startedAt: number): Omit<EffectBody, 'key'> {
  return {
    connection: member.channel?.connector_id ?? '',
    conversation: member.channel?.external_conversation_id ?? '',
    id: member.id,
    wish: wishOf(member),
    turn: context.runId,
    attempt: context.attempt,
    pid: process.pid,
    startedAt,
    sender: member.channel?.sender_id ?? '',
    evidence: member.sender.identities?.[0]?.subject ?? '',
    members: context.members.map((each) => each.id),
    rowsRead,
    historyLines: context.history.length,
  }
}

/** The stub minds the key of a `keyed` message only: everything else that happens twice is seen twice. */
async function useTool(toolUrl: string, body: EffectBody, { fetch, signal }: StepContext): Promise<string> {
  const response = await fetch(`${toolUrl}/effects`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal,
  })
  if (!response.ok) throw new Error(`the tool answered ${response.status}`)
  return await response.text()
}

function wishOf(member: NormalizedMessage): string {
  return textOf(member.parts).trim()
}

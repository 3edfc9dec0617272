// A turn that paused, as the stores find it: a conversation, its lane free, and what the run waits for.

import { randomUUID } from 'node:crypto'
import { type Database, nameStatement } from '../../src/db/client.ts'
import { storeInboxDrafts } from '../../src/db/inbox.ts'
import { type NewPendingAction, type NewToolRequest, type NewTurn, noAccessBasis } from '../../src/db/turn-rows.ts'
import { claimTurns, completeTurn, openTurn } from '../../src/db/turns.ts'
import { openTenantDb } from '../setup/tenant-db.ts'
import { aDraft } from './inbox-drafts.ts'
import { silentEnd } from './turn-result.ts'

export const tenant = 'default'
export const owner = 'test:alice'

export type Wait = { readonly actions?: readonly NewPendingAction[]; readonly requests?: readonly NewToolRequest[] }

export type PausedTurn = { readonly turnId: string; readonly conversationId: string }

export async function pauseTurn(database: Database, wait: Wait): Promise<PausedTurn> {
  const store = openTenantDb(database, { holder: 'test', leaseMs: 60_000, tenant: 'default' })
  const conversation = randomUUID()
  await storeInboxDrafts(openTenantDb(database), [aDraft({ messageId: conversation, candidates: [conversation] })])
  const [lane] = await claimTurns(store, 1)
  if (lane === undefined) throw new Error('nothing to claim')
  const turn = newTurn(lane.messages.map((row) => row.id))
  await openTurn(store, lane, turn, [])
  const actions = wait.actions ?? []
  const requests = wait.requests ?? []
  const timers = [...actions, ...requests].map(({ id, expiresInMs }) => ({
    id,
    name: `expiry:${id}`,
    kind: actions.some((each) => each.id === id) ? 'approval_expiry' : 'runtime_tool_timeout',
    dueInMs: expiresInMs ?? 60_000,
    payload: { id, principal: owner },
  }))
  const run = { status: 'approval_required', stopReason: 'approval_required', usage: {}, budgets: {}, summary: {} }
  await completeTurn(store, lane, silentEnd(turn, { run, actions, requests, timers }))
  return { turnId: turn.id, conversationId: lane.conversationId }
}

export function anAction(changes: Partial<NewPendingAction> = {}): NewPendingAction {
  const id = randomUUID()
  return {
    id,
    runId: 'run-1',
    toolName: 'bank/pay',
    toolCallId: 'call-1',
    owner,
    resume: { reply_to: { conversation: 'here' } },
    kind: 'tool_call',
    summary: 'pay 12 EUR',
    action: { action_id: id, preview: { amount: 12 }, apply_input: { amount: 12, iban: 'canary-iban' } },
    actionHash: `sha256:${id}`,
    resolvers: 'anyone',
    expiresInMs: 60_000,
    ...changes,
  }
}

export function aRequest(changes: Partial<NewToolRequest> = {}): NewToolRequest {
  const id = randomUUID()
  return {
    id,
    runId: 'run-1',
    toolName: 'client/open',
    toolCallId: 'call-1',
    owner,
    resume: { reply_to: { conversation: 'here' } },
    requestId: `runtime-tool-${id.replaceAll('-', '').repeat(2)}`,
    parameters: { door: 3, pin: 'canary-pin' },
    request: { parameters: { door: 3, pin: '[redacted]' } },
    expiresInMs: 60_000,
    ...changes,
  }
}

/** What the deciding statement leaves in the conversation's lane. */
export const wakes = nameStatement(
  'test_wakes',
  `select s.id, s.kind, s.name, s.payload, s.origin, (select l.pending from lanes l where l.conversation_id = s.conversation_id)
     as pending from signals s order by s.seq`,
)

export type Wake = {
  readonly id: string
  readonly kind: string
  readonly name: string
  readonly payload: Record<string, unknown>
  readonly origin: string
  readonly pending: number
}

function newTurn(members: readonly string[]): NewTurn {
  return {
    id: randomUUID(),
    kind: 'messages',
    attempt: 1,
    sessionId: randomUUID(),
    isNewSession: true,
    keeping: null,
    parentTurn: null,
    continuesTurn: false,
    history: null,
    principal: owner,
    runId: null,
    traceId: 'trace',
    deadlineMs: 60_000,
    replyTo: null,
    members: members.map((id, ord) => ({ ...noAccessBasis, id, ord, principal: owner, accessRule: 'public' })),
    signalId: null,
    resumes: null,
    taskId: null,
  }
}

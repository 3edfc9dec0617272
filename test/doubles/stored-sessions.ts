// Sessions as they really come about: a message is accepted, its lane claimed, a turn opened and ended with two lines.

import { randomUUID } from 'node:crypto'
import { type Envelope, envelopeSchemaId } from '../../src/contract/gateway-events.ts'
import { type Database, nameStatement } from '../../src/db/client.ts'
import { storeInboxDrafts } from '../../src/db/inbox.ts'
import type { InboxDraft } from '../../src/db/inbox-row.ts'
import { type HeldLane, type NewTurn, noAccessBasis } from '../../src/db/turn-rows.ts'
import { claimTurns, completeTurn, openTurn } from '../../src/db/turns.ts'
import { openTenantDb } from '../setup/tenant-db.ts'
import { aDraft, aMessage } from './inbox-drafts.ts'
import { silentEnd } from './turn-result.ts'

let count = 0

/** What a subject says in a conversation, answered; the session it stands in. */
export async function talk(
  database: Database,
  said: { readonly subject: string | null; readonly conversation: string; readonly text: string },
): Promise<string> {
  const held = await hold(database, said)
  const turn = newTurn(held, said.subject)
  const store = openTenantDb(database, { holder: 'test', leaseMs: 60_000, tenant: 'default' })
  await openTurn(store, held, turn, [])
  const inboxId = held.messages[0]?.id ?? null
  await completeTurn(store, held, {
    ...silentEnd(turn),
    envelopes: [
      { inboxId, envelope: line('user', said.text) },
      { inboxId: null, envelope: line('assistant', `you said ${said.text}`) },
    ],
  })
  return turn.sessionId ?? ''
}

/** A lane with one message waiting in it, claimed. */
export async function hold(
  database: Database,
  said: { readonly subject: string | null; readonly conversation: string; readonly text?: string },
): Promise<HeldLane> {
  const messageId = `${said.conversation}.${++count}`
  const { raw: _raw, ...message } = aMessage({ id: messageId, subject: said.subject ?? '', text: said.text ?? 'hello' })
  await storeInboxDrafts(openTenantDb(database), [
    aDraft({
      messageId,
      subject: said.subject ?? undefined,
      candidates: [said.conversation],
      newThreadKey: messageId,
      message: message as unknown as InboxDraft['message'],
    }),
  ])
  const [held] = await claimTurns(openTenantDb(database, { holder: 'test', leaseMs: 60_000, tenant: 'default' }), 1)
  if (held === undefined) throw new Error('nothing to claim')
  return held
}

export function newTurn(held: HeldLane, principal: string | null): NewTurn {
  return {
    id: randomUUID(),
    kind: 'messages',
    attempt: 1,
    sessionId: held.sessionId ?? randomUUID(),
    isNewSession: held.sessionId === null,
    keeping: null,
    parentTurn: null,
    continuesTurn: false,
    history: null,
    principal,
    runId: null,
    traceId: 'trace',
    deadlineMs: 60_000,
    replyTo: null,
    members: held.messages.map((row, ord) => ({ ...noAccessBasis, id: row.id, ord, principal, accessRule: 'public' })),
    signalId: null,
    resumes: null,
    taskId: null,
  }
}

const move = nameStatement('test_move', 'update sessions set workspace_type = $2, workspace_id = $3 where id = $1')

export async function moveSession(database: Database, id: string, type: string, workspace: string): Promise<void> {
  await database.query(move, [id, type, workspace])
}

function line(role: string, content: string): Envelope {
  const sender = { address: `@${role}@parley.localhost`, display_name: 'Canary Name' }
  return { schema: envelopeSchemaId, version: 1, type: 'text', role, content, payload: {}, metadata: { sender } }
}

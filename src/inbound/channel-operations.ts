// Operations that an operator asks of a channel. The adapter says what that changes, and the commit that takes inbound events
// does it: one row, once by its name, all of it or nothing.

import type { OperationResult } from '../contract/index.ts'
import type { Operation, OperationChange } from '../contract/optional-verbs.ts'
import type { AcceptResult } from '../contract/results.ts'
import { areRecordChangesStorable } from '../db/records.ts'
import { GatewayError } from '../lib/errors.ts'
import type { JsonObject } from '../lib/json-value.ts'
import { withTimeout } from '../lib/time.ts'
import type { GatewayConnection } from '../turns/gateway-connection.ts'
import { acceptDraftOrThrow, createRejectedEventDraft, operationDedupeKey } from './accept.ts'
import type { ReceiveServices } from './receive-services.ts'
import { createAcceptContext, reportAcceptance, startRequestTrace } from './store-events.ts'

/** `by`: who asks, as the audit log names them. */
export type Asked = { readonly name: string; readonly input: JsonObject; readonly by: string }

/** `inboxId`: the row of what was changed. `isRepeat`: it had been done before, and was not done again. */
export type Done = { readonly value: JsonObject; readonly inboxId?: string; readonly isRepeat?: boolean }

/** An inbound event changes a few things; an operator may have many people told. */
const maxChanges = 5000
const patienceMs = 30_000

export async function runChannelOperation(deps: ReceiveServices, at: GatewayConnection, asked: Asked): Promise<Done> {
  const operation = findChannelOperation(at, asked.name)
  const facts = { connection: at.connection, at: new Date(deps.now()).toISOString() }
  const { value, change } = await withOperationTimeout(operation(asked.input, facts))
  if (change === undefined) return { value }
  const acceptance = await storeChannelOperation(deps, at, asked, change)
  if (acceptance.kind === 'refused')
    throw new GatewayError('conflict', `nothing was changed (${acceptance.reason}); look again, then repeat it`)
  return { value, inboxId: acceptance.inboxId, ...(acceptance.kind === 'accepted' ? {} : { isRepeat: true }) }
}

function findChannelOperation({ adapter }: GatewayConnection, name: string): Operation {
  const known = adapter.admin ?? {}
  const operation = Object.hasOwn(known, name) ? known[name] : undefined
  if (operation !== undefined) return operation
  const names = Object.keys(known).join(', ')
  throw new GatewayError(
    'not_found',
    names === '' ? 'nothing can be asked of this channel' : `this channel knows no such operation; it knows ${names}`,
  )
}

async function storeChannelOperation(
  deps: ReceiveServices,
  at: GatewayConnection,
  { name, input, by }: Asked,
  change: OperationChange,
): Promise<AcceptResult> {
  const { reason, deliveryId, roomStatus, subject = null } = change
  const { recordWrites = [], protocolReplies = [] } = change
  if (recordWrites.length + protocolReplies.length > maxChanges)
    throw new GatewayError('bad_request', `it would change more than ${maxChanges} things at once; ask for less`)
  if (!areRecordChangesStorable(change, maxChanges))
    throw new GatewayError('bad_request', 'a name or a text in it is too long to be kept; shorten it')
  // Not in the commit, and so before it: an operator who asks again says it again, and that changes nothing.
  if (roomStatus !== undefined) await at.noteRoomStatus(roomStatus, subject)
  const entry = startRequestTrace(deps, undefined)
  const context = createAcceptContext(at, entry)
  const raw = { operation: name, by, input }
  const draft = createRejectedEventDraft(deps, { ...change, raw, subject, state: 'ignored', content: '' }, context)
  // Of a kind of its own: it is no inbound event, and is never read again as one.
  const acceptance = await acceptDraftOrThrow(deps, {
    ...draft,
    kind: 'operation',
    dedupe: operationDedupeKey(deliveryId),
  })
  if (acceptance.kind === 'accepted' && (change.protocolReplies ?? []).length > 0) deps.wakeups.sends.notify()
  reportAcceptance(deps, at, entry, { meant: 'ignored', reason, acceptance })
  return acceptance
}

/** Nothing is committed for an operator who was told that it took too long. */
function withOperationTimeout(work: Promise<OperationResult>): Promise<OperationResult> {
  const error = new GatewayError('storage_unavailable', 'it took too long and nothing was changed; ask again')
  return withTimeout(work, patienceMs, () => error)
}

// Hop 3 of a replay: the stored original, read by today's code; the stored message where the original cannot tell.
import { GatewayError, type JsonObject } from '../../contract/index.ts'
import type { StoredMember } from '../../db/replay.ts'
import type { WaitingMessage } from '../../db/turn-rows.ts'
import { checkEvent } from '../arrivals/check-arrived.ts'
import type { GatewayConnection, GatewayDeps } from '../deps.ts'
import { storedRawToRequest } from '../resubmit.ts'
import { formatSortedJson } from './line-diff.ts'

export type ReadAgain =
  | { readonly kind: 'message'; readonly row: WaitingMessage; readonly note: string | undefined }
  /** Today's code would not make a message of it. */
  | { readonly kind: 'remains'; readonly outcome: 'ignored' | 'dead'; readonly reason: string }

type ReadDeps = Pick<GatewayDeps, 'validation' | 'log'>

export async function readAgain(deps: ReadDeps, at: GatewayConnection, member: StoredMember): Promise<ReadAgain> {
  const { message, replyTo, raw } = member
  if (raw === null && message === null) throw erased()
  const stored = message === null || replyTo === null ? undefined : { ...member, message, replyTo }
  const today = raw === null ? undefined : await normalizeRawBlob(deps, at, member, raw)
  if (stored === undefined) {
    if (today !== undefined) return today
    throw new GatewayError('conflict', '[replay] this channel cannot read a stored original again; nothing can be run')
  }
  if (today === undefined)
    return { kind: 'message', row: stored, note: 'the stored message was used, not its original' }
  const isWhole = raw !== null && !isIncomplete(raw)
  if (today.kind === 'remains')
    return isWhole ? today : { kind: 'message', row: stored, note: 'its original was kept without some of its content' }
  if (isSameMessage(stored, today.row)) return today
  return isWhole
    ? { ...today, note: `read differently today: ${differingFields(stored, today.row).join(', ')}` }
    : { kind: 'message', row: stored, note: 'its original was kept without some of its content' }
}

async function normalizeRawBlob(
  deps: ReadDeps,
  at: GatewayConnection,
  member: StoredMember,
  raw: JsonObject,
): Promise<ReadAgain | undefined> {
  const { channel, recipient_capabilities } = member.message ?? {}
  const kept = { subject: member.subject, caller: channel?.caller, agentChain: recipient_capabilities?.agent_chain }
  const reception = await at.adapter.reread?.(storedRawToRequest(raw, receivedAt(member)), at.connection, kept)
  if (reception === undefined) return undefined
  if (reception.kind === 'unreadable') return { kind: 'remains', outcome: 'dead', reason: reception.reason }
  if (reception.kind !== 'read') return undefined
  const { arrivals } = reception
  const arrived =
    arrivals.find((each) => each.kind === 'message' && isSameStoredMessage(member, each.message.id)) ?? arrivals[0]
  if (arrived === undefined) return { kind: 'remains', outcome: 'ignored', reason: 'says_nothing' }
  if (arrived.kind === 'ignored') return { kind: 'remains', outcome: 'ignored', reason: arrived.reason }
  const checked = checkEvent(deps, arrived)
  if (checked.kind === 'remains') return { kind: 'remains', outcome: checked.state, reason: checked.reason }
  const { raw: _original, ...message } = checked.arrived.message
  const { subject = null, replyTo } = checked.arrived
  // Which of several agents took it was decided when it came, and it may have been decided by what was said before it.
  const { agent, obligation = null } = at.isShared ? member : checked.arrived
  const event = message.channel?.event ?? 'new'
  const editOf = message.channel?.target_id ?? null
  const row = { ...member, message, agent, subject, obligation, replyTo, event, editOf, messageId: message.id }
  return { kind: 'message', row, note: undefined }
}

function isSameStoredMessage({ messageId }: StoredMember, id: string): boolean {
  return messageId === null || messageId === id
}

function receivedAt({ message, receivedAt: stored }: StoredMember): number {
  return Date.parse(message?.received_at ?? stored)
}

/** Secrets were taken out of it, or it was too large to keep: what it says now is not what arrived. */
function isIncomplete(raw: JsonObject): boolean {
  return 'omitted' in raw || JSON.stringify(raw).includes('[redacted]')
}

function isSameMessage(stored: WaitingMessage, today: WaitingMessage): boolean {
  return differingFields(stored, today).length === 0
}

function differingFields(stored: WaitingMessage, today: WaitingMessage): readonly string[] {
  const before = new Map(Object.entries(toComparableJson(stored)))
  const after = new Map(Object.entries(toComparableJson(today)))
  const names = [...new Set([...before.keys(), ...after.keys()])]
  return names.filter((name) => formatSortedJson(before.get(name)) !== formatSortedJson(after.get(name)))
}

/** As it is stored: fields that are undefined are not there. */
function toComparableJson({ message, agent, subject, replyTo }: WaitingMessage): object {
  return JSON.parse(JSON.stringify({ ...message, agent, subject, replyTo }))
}

function erased(): GatewayError {
  return new GatewayError(
    'content_erased',
    '[replay] the content of this message was erased, by retention or by its author; it cannot be run again',
  )
}

// The input and the result of a replay: the stored payload normalized by today's code, or the stored message where the payload is
// not enough, and the difference between what was sent and what would be sent.

import type { ValidationScope } from '../contract/validate-message.ts'
import type { SentCall, StoredMember } from '../db/replay.ts'
import type { WaitingMessage } from '../db/turn-rows.ts'
import { storedRawToRequest } from '../inbound/receive.ts'
import { validateAndCleanEvent } from '../inbound/store-events.ts'
import { GatewayError } from '../lib/errors.ts'
import type { Json, JsonObject } from '../lib/json-value.ts'
import type { Log } from '../lib/log.ts'
import type { GatewayConnection } from './gateway-connection.ts'

export type ReadAgain =
  | { readonly kind: 'message'; readonly row: WaitingMessage; readonly note: string | undefined }
  /** Today's code would not make a message of it. */
  | { readonly kind: 'rejected_event'; readonly outcome: 'ignored' | 'dead'; readonly reason: string }

type ReadDeps = { readonly validation: Extract<ValidationScope, { from: 'adapter' }>; readonly log: Log }

export async function normalizeStoredMessageAgain(
  deps: ReadDeps,
  at: GatewayConnection,
  member: StoredMember,
): Promise<ReadAgain> {
  const { message, replyTo, raw } = member
  if (raw === null && message === null) throw contentErasedError()
  const stored = message === null || replyTo === null ? undefined : { ...member, message, replyTo }
  const today = raw === null ? undefined : await normalizeRawMessageAgain(deps, at, member, raw)
  if (stored === undefined) {
    if (today !== undefined) return today
    throw new GatewayError('conflict', '[replay] this channel cannot read a stored original again; nothing can be run')
  }
  if (today === undefined)
    return { kind: 'message', row: stored, note: 'the stored message was used, not its original' }
  const isWhole = raw !== null && !isRawIncomplete(raw)
  if (today.kind === 'rejected_event')
    return isWhole ? today : { kind: 'message', row: stored, note: 'its original was kept without some of its content' }
  if (isSameMessage(stored, today.row)) return today
  return isWhole
    ? { ...today, note: `read differently today: ${differingFields(stored, today.row).join(', ')}` }
    : { kind: 'message', row: stored, note: 'its original was kept without some of its content' }
}

async function normalizeRawMessageAgain(
  deps: ReadDeps,
  at: GatewayConnection,
  member: StoredMember,
  raw: JsonObject,
): Promise<ReadAgain | undefined> {
  const { channel, recipient_capabilities } = member.message ?? {}
  const kept = { subject: member.subject, caller: channel?.caller, agentChain: recipient_capabilities?.agent_chain }
  const verified = await at.adapter.reread?.(storedRawToRequest(raw, receivedAtMs(member)), at.connection, kept)
  if (verified === undefined) return undefined
  if (verified.kind === 'unreadable') return { kind: 'rejected_event', outcome: 'dead', reason: verified.reason }
  if (verified.kind !== 'read') return undefined
  const { events } = verified
  const event =
    events.find((each) => each.kind === 'message' && isSameStoredMessage(member, each.message.id)) ?? events[0]
  if (event === undefined) return { kind: 'rejected_event', outcome: 'ignored', reason: 'says_nothing' }
  if (event.kind === 'ignored') return { kind: 'rejected_event', outcome: 'ignored', reason: event.reason }
  const checked = validateAndCleanEvent(deps, event)
  if (checked.kind === 'rejected_event')
    return { kind: 'rejected_event', outcome: checked.state, reason: checked.reason }
  const { raw: _original, ...message } = checked.event.message
  const { subject = null, replyTo } = checked.event
  // Which of several agents took it was decided when it came, and it may have been decided by what was said before it.
  const agent = at.isShared ? member.agent : checked.event.agent
  const mustReplyIndividually =
    (at.isShared ? member.mustReplyIndividually : checked.event.mustReplyIndividually) ?? null
  const change = message.channel?.event ?? 'new'
  const editOf = message.channel?.target_id ?? null
  const row = {
    ...member,
    message,
    agent,
    subject,
    mustReplyIndividually,
    replyTo,
    event: change,
    editOf,
    messageId: message.id,
  }
  return { kind: 'message', row, note: undefined }
}

function isSameStoredMessage({ messageId }: StoredMember, id: string): boolean {
  return messageId === null || messageId === id
}

function receivedAtMs({ message, receivedAt: stored }: StoredMember): number {
  return Date.parse(message?.received_at ?? stored)
}

/** Secrets were taken out of it, or it was too large to keep: what it says now is not what arrived. */
function isRawIncomplete(raw: JsonObject): boolean {
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

function contentErasedError(): GatewayError {
  return new GatewayError(
    'content_erased',
    '[replay] the content of this message was erased, by retention or by its author; it cannot be run again',
  )
}

// Compared as lines that a person can read.

export type Account = {
  readonly outcome: string
  readonly reason: string | null
  readonly calls: readonly SentCall[]
  /** Names of timers. */
  readonly timers: readonly string[]
}

/** Beyond this a difference is shown as everything out, everything in. */
const maxLines = 2_000

export function describeReplayOutcome({ outcome, reason, calls, timers }: Account): readonly string[] {
  return [
    reason === null ? outcome : `${outcome}(${reason})`,
    ...calls.flatMap(({ purpose, primary, call }, index) => [
      `call ${index + 1}, ${purpose}${primary ? '' : ', beside the answer'}`,
      ...formatJsonFieldLines(call, '  '),
    ]),
    ...timers.map((name) => `timer ${name}`),
  ]
}

/** Every line with ' ', '-' or '+' before it. */
export function diffLines(before: readonly string[], after: readonly string[]): readonly string[] {
  if (before.length > maxLines || after.length > maxLines)
    return [...before.map((line) => `-${line}`), ...after.map((line) => `+${line}`)]
  const common = longestCommonSubsequenceTable(before, after)
  const lines: string[] = []
  let old = 0
  let now = 0
  while (old < before.length || now < after.length) {
    if (old < before.length && now < after.length && before[old] === after[now]) {
      lines.push(` ${before[old]}`)
      old += 1
      now += 1
    } else if (
      now >= after.length ||
      (old < before.length && commonLengthAt(common, old + 1, now) >= commonLengthAt(common, old, now + 1))
    ) {
      lines.push(`-${before[old]}`)
      old += 1
    } else {
      lines.push(`+${after[now]}`)
      now += 1
    }
  }
  return lines
}

/** The same JSON whatever order its keys are in: the database keeps its own. */
export function formatSortedJson(value: unknown): string {
  return JSON.stringify(value, (_key, each: unknown) =>
    typeof each === 'object' && each !== null && !Array.isArray(each)
      ? Object.fromEntries(Object.entries(each).toSorted(([one], [other]) => (one < other ? -1 : 1)))
      : each,
  )
}

function formatJsonFieldLines(value: Json, indent: string): readonly string[] {
  if (typeof value !== 'object' || value === null) return formatScalarLines('', value, indent)
  return Object.entries(value)
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .flatMap(([key, field]) =>
      typeof field === 'object' && field !== null
        ? [`${indent}${key}:`, ...formatJsonFieldLines(field, `${indent}  `)]
        : formatScalarLines(`${key}: `, field, indent),
    )
}

function formatScalarLines(label: string, value: Json, indent: string): readonly string[] {
  const [first = '', ...rest] = String(value).split('\n')
  return [`${indent}${label}${first}`, ...rest.map((line) => `${indent}  ${line}`)]
}

/** Length of the longest common rest of both, from each pair of places on. */
function longestCommonSubsequenceTable(before: readonly string[], after: readonly string[]): readonly Uint16Array[] {
  const rows = Array.from({ length: before.length + 1 }, () => new Uint16Array(after.length + 1))
  for (let old = before.length - 1; old >= 0; old -= 1) {
    for (let now = after.length - 1; now >= 0; now -= 1) {
      const row = rows[old]
      if (row === undefined) continue
      row[now] =
        before[old] === after[now]
          ? commonLengthAt(rows, old + 1, now + 1) + 1
          : Math.max(commonLengthAt(rows, old + 1, now), commonLengthAt(rows, old, now + 1))
    }
  }
  return rows
}

function commonLengthAt(rows: readonly Uint16Array[], old: number, now: number): number {
  return rows[old]?.[now] ?? 0
}

// Plans the next turn from what waits in a lane: which messages are merged, amended, refused or held. Pure: the same rows give the
// same plan after any crash.

import type { OpenPairing } from '../contract/access.ts'
import type { NormalizedMessage } from '../contract/index.ts'
import {
  type AccessBasis,
  type Disposition,
  type HeldLane,
  noAccessBasis,
  type StoredMessage,
  type WaitingMessage,
} from '../db/turn-rows.ts'
import type { Fields, JsonObject } from '../lib/json-value.ts'
import type { AmbientRecord } from '../sessions/ambient-context.ts'
import { ambientMessageEnvelope } from '../sessions/transcript.ts'

/** What admission says of a message. */
export type Admission = AccessBasis &
  /** `speaker`: what an agent is told of who is let in. */
  (
    | { readonly kind: 'admitted'; readonly principal: string; readonly speaker: Fields }
    /** `pairing`: the one that is open already. Without one, or to be told, it takes a turn of its own. */
    | {
        readonly kind: 'held'
        readonly pairing: OpenPairing | null
        /** An agent, or `*` for the whole connection. */
        readonly pairedWith: string
        readonly mustNotify: boolean
      }
    | {
        readonly kind: 'refused'
        readonly reason: string
        readonly mustNotify: boolean
        /** It may be said, and is not for the agent. */
        readonly ambient?: AmbientDecision
      }
  )

/** How it is remembered; null: not at all. */
export type AmbientDecision = {
  readonly memory:
    | (Pick<AmbientRecord, 'room' | 'mainLine' | 'principal' | 'minutes'> & { readonly maxBytes: number })
    | null
}

export type MergeLimits = { readonly maxMessages: number; readonly maxBytes: number }

export type TurnPlan =
  | {
      readonly kind: 'run'
      readonly members: readonly Absorbed[]
      readonly principal: string
      readonly dispositions: readonly Disposition[]
    }
  | {
      readonly kind: 'amend'
      readonly edit: WaitingMessage
      readonly principal: string
      readonly dispositions: readonly Disposition[]
    }
  /** The sender is told why they have no access. */
  | { readonly kind: 'access_challenge'; readonly entry: Absorbed; readonly dispositions: readonly Disposition[] }
  /** Nothing to run, but some messages have found their end. */
  | { readonly kind: 'settle'; readonly dispositions: readonly Disposition[] }
  | { readonly kind: 'empty' }

export function planTurn(lane: HeldLane, admissions: ReadonlyMap<string, Admission>, limits: MergeLimits): TurnPlan {
  if (lane.messages.length === 0) return { kind: 'empty' }
  const first = lane.messages.find((row) => row.event === 'new')
  if (first?.continuesTurn === true) return planRetriedTurn(lane, admissions, first)
  const { entries, dispositions } = mergeEditsIntoWaitingMessages(lane.messages)
  const group: Absorbed[] = []
  let principal = ''
  let challenged: Absorbed | undefined
  for (const entry of entries) {
    const { row } = entry
    const admission = admissions.get(row.id) ?? noDecision
    const ending = findEarlyEnd(entry, admission)
    if (ending === 'access_challenge') {
      // A sender without access keeps no other from being answered; they are told once none is left to answer.
      challenged ??= entry
      continue
    }
    if (ending !== undefined) {
      dispositions.push({ id: row.id, ...ending })
      continue
    }
    const speaker = admission.kind === 'admitted' ? admission.principal : ''
    if (row.event !== 'new') {
      if (group.length > 0) break
      return { kind: 'amend', edit: row, principal: speaker, dispositions }
    }
    if (group.length > 0 && !(speaker === principal && fitsMergeLimits(group, entry, limits))) break
    group.push(entry)
    principal = speaker
    if (runsInOwnTurn(row)) break
  }
  if (group.length > 0) return { kind: 'run', members: group, principal, dispositions }
  return challenged === undefined
    ? { kind: 'settle', dispositions }
    : { kind: 'access_challenge', entry: challenged, dispositions }
}

/** A dead turn is tried again as it was, all of its messages or none: what it has done was done for these. */
function planRetriedTurn(
  lane: HeldLane,
  admissions: ReadonlyMap<string, Admission>,
  { parentTurn }: WaitingMessage,
): TurnPlan {
  const rows = lane.messages.filter((row) => row.continuesTurn && row.parentTurn === parentTurn)
  const { entries } = mergeEditsIntoWaitingMessages(rows)
  const decided = entries.map(({ row }) => admissions.get(row.id) ?? noDecision)
  const refusal = decided.find((admission) => admission.kind !== 'admitted')
  const principal = decided.find((admission) => admission.kind === 'admitted')?.principal ?? ''
  if (refusal === undefined) return { kind: 'run', members: entries, principal, dispositions: [] }
  const { accessRule, subject, evidence } = refusal
  const reason = refusal.kind === 'refused' ? refusal.reason : 'pairing_required'
  const ground = { accessRule, subject, evidence, pairingId: null, tombstone: false }
  return { kind: 'settle', dispositions: rows.map(({ id }) => ({ ...ground, id, state: 'refused', reason })) }
}

const noDecision: Admission = { ...noAccessBasis, kind: 'refused', reason: 'no_decision', mustNotify: false }

type Ending = Omit<Disposition, 'id'>

function findEarlyEnd({ row, message }: Absorbed, admission: Admission): Ending | 'access_challenge' | undefined {
  const toEarlyRefusal = (reason: string, tombstone = false): Ending => ({
    ...noAccessBasis,
    state: 'refused',
    reason,
    tombstone,
    pairingId: null,
  })
  if (row.message.channel?.from_self === true) return toEarlyRefusal('from_self')
  if (row.tombstone?.event === 'delete') return toEarlyRefusal('withdrawn')
  if (row.event !== 'new') {
    if (row.original === null) return toEarlyRefusal('unknown_target', true)
    if (row.original.subject !== row.subject) return toEarlyRefusal('not_the_author')
    if (row.original.isSame === true) return toEarlyRefusal('unchanged')
  }
  if (admission.kind === 'admitted') return undefined
  const { accessRule, subject, evidence } = admission
  if (admission.mustNotify) return 'access_challenge'
  if (admission.kind === 'refused') {
    const { reason, ambient } = admission
    const memberLines = ambient === undefined ? {} : { ambient: { memory: toAmbientRecord(row, message, ambient) } }
    return { ...toEarlyRefusal(reason), accessRule, subject, evidence, ...memberLines }
  }
  const { pairing } = admission
  if (pairing === null) return 'access_challenge'
  return { ...toEarlyRefusal('pairing_required'), state: 'held', pairingId: pairing.id, accessRule, subject, evidence }
}

/** As it reads after its edits. What is longer than all that a turn is given is not kept for one. */
function toAmbientRecord(
  row: WaitingMessage,
  message: StoredMessage,
  { memory }: AmbientDecision,
): AmbientRecord | null {
  if (memory === null) return null
  const { maxBytes, ...kept } = memory
  const envelope = ambientMessageEnvelope(row.editOf === null ? message : { ...message, id: row.editOf })
  const bytes = new TextEncoder().encode(JSON.stringify([envelope.content, envelope.payload])).length
  return bytes > maxBytes ? null : { ...kept, original: row.original?.id ?? null, envelope, bytes }
}

/** A command, a click, a run or a task wants its own answer; so does what failed in company before. */
function runsInOwnTurn(row: WaitingMessage): boolean {
  return row.runsAlone || row.continuesTurn || row.mustReplyIndividually !== null
}

/** Of what waits, in order, that which may join a turn that runs: the same rules as for a turn that begins. */
export function listMessagesThatMayMerge(
  members: readonly Absorbed[],
  waiting: readonly Absorbed[],
  limits: MergeLimits,
): readonly Absorbed[] {
  if (members.length === 0 || members.some(({ row }) => runsInOwnTurn(row))) return []
  const group = [...members]
  for (const entry of waiting) {
    const isBarred = entry.row.message.channel?.from_self === true || entry.row.tombstone !== null
    if (isBarred || !fitsMergeLimits(group, entry, limits)) break
    group.push(entry)
  }
  return group.slice(members.length)
}

function fitsMergeLimits(group: readonly Absorbed[], entry: Absorbed, limits: MergeLimits): boolean {
  const first = group[0]?.row
  if (first === undefined || runsInOwnTurn(entry.row)) return false
  const bytes = group.reduce((sum, member) => sum + member.row.bytes, entry.row.bytes)
  return (
    group.length < limits.maxMessages &&
    bytes <= limits.maxBytes &&
    first.agent === entry.row.agent &&
    isSameReplyAddress(first.replyTo, entry.row.replyTo)
  )
}

// Edits and deletes of messages that still wait: the message is amended or withdrawn before an agent reads it.

/** A row with the answer it wants after its edits, the message as it reads after them, and the edits it took in. */
export type Absorbed = {
  readonly row: WaitingMessage
  readonly message: StoredMessage
  readonly edits: readonly WaitingMessage[]
}

export type AbsorbedRows = { readonly entries: readonly Absorbed[]; readonly dispositions: Disposition[] }

export function mergeEditsIntoWaitingMessages(rows: readonly WaitingMessage[]): AbsorbedRows {
  const entries = new Map<string, Absorbed>()
  const dispositions: Disposition[] = []
  for (const row of rows) {
    const target = row.event === 'new' ? undefined : findWaitingOriginalOfEdit(entries, row)
    if (target === undefined) {
      // An edit that overtook its original speaks in its place.
      const parts = row.tombstone?.event === 'edit' ? row.tombstone.parts : null
      const message = parts === null ? row.message : { ...row.message, parts }
      entries.set(row.id, { row, message, edits: [] })
    } else if (row.event === 'delete') {
      entries.delete(target.row.id)
      for (const gone of [target.row, ...target.edits]) dispositions.push(refusedDisposition(gone.id, 'withdrawn'))
      dispositions.push(refusedDisposition(row.id, 'withdrew_a_waiting_message'))
    } else if (JSON.stringify(target.message.parts) === JSON.stringify(row.message.parts)) {
      dispositions.push(refusedDisposition(row.id, 'unchanged'))
    } else {
      const message = { ...target.message, parts: row.message.parts }
      const amended = { ...target.row, replyTo: replyAddressAfterEdit(target.row.replyTo, row.replyTo) }
      entries.set(target.row.id, { row: amended, message, edits: [...target.edits, row] })
    }
  }
  return { entries: [...entries.values()], dispositions }
}

/** Only the author's own edit counts; another sender's is judged like an edit of a message that is gone. */
function findWaitingOriginalOfEdit(entries: ReadonlyMap<string, Absorbed>, edit: WaitingMessage): Absorbed | undefined {
  for (const entry of entries.values()) {
    const isTarget = entry.row.event === 'new' && entry.row.messageId === edit.editOf
    if (isTarget && entry.row.subject === edit.subject && entry.row.agent === edit.agent) return entry
  }
  return undefined
}

function refusedDisposition(id: string, reason: string): Disposition {
  return { ...noAccessBasis, id, state: 'refused', reason, tombstone: false, pairingId: null }
}

// Neighbours become one message, in order; each keeps its own evidence beside it.

/** The message an agent reads. The last one gives the id and the reply address; every part of every one is there. */
export function mergeMessages(
  members: readonly StoredMessage[],
  history: NormalizedMessage['history'],
): NormalizedMessage {
  const last = members.at(-1)
  if (last === undefined) throw new RangeError('a turn has at least one message')
  return { ...last, parts: members.flatMap((member) => member.parts), history: history ?? [], raw: null }
}

// Where replies go, as far as the core reads it: by the names of the fields (contract/inbound-event.ts).

const replyFieldPrefix = 'reply_to_'
const replyModePrefix = 'reply_to_as_'

/** Replies to different messages of one chat go to the same place; only where they go counts, and how. */
function isSameReplyAddress(one: JsonObject, other: JsonObject): boolean {
  return replyAddressKey(one) === replyAddressKey(other)
}

/** How an edited message is answered is as its author has it now. Where that goes stays: no edit has more people read the answer. */
function replyAddressAfterEdit(replyTo: JsonObject, edit: JsonObject): JsonObject {
  const isReplyModeField = ([name]: readonly [string, unknown]): boolean => name.startsWith(replyModePrefix)
  const kept = Object.entries(replyTo).filter((field) => !isReplyModeField(field))
  return Object.fromEntries([...kept, ...Object.entries(edit).filter(isReplyModeField)])
}

function replyAddressKey(address: JsonObject): string {
  const fields = Object.entries(address).filter(
    ([name]) => !name.startsWith(replyFieldPrefix) || name.startsWith(replyModePrefix),
  )
  return JSON.stringify(fields.toSorted(([one], [other]) => (one < other ? -1 : 1)))
}

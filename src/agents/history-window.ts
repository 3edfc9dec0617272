// The history window of a model: the stable beginning of a long conversation and its recent end. Pure.

import type { Sender } from '../contract/index.ts'
import type { HistoricalMessage } from '../contract/message.ts'

export type HistoryInput = {
  readonly history: readonly HistoricalMessage[]
  /** Of the current speaker as much as a resumed run still knows: no evidence, so nothing to decide by. */
  readonly current: { readonly role: 'user'; readonly sender: Pick<Sender, 'address' | 'auth_method' | 'verified'> }
}

export type HistoryResult = {
  readonly messages: readonly HistoricalMessage[]
  /** The last message that stays the same from turn to turn: where a cache marker belongs. */
  readonly cacheBreakpointAfter?: number
  readonly dropped: number
  readonly notes: readonly string[]
}

export type HistoryPolicy = (input: HistoryInput) => HistoryResult

export type SlidingWindowOptions = {
  readonly keepHead?: number
  readonly maxTurns?: number
  /** The window moves in jumps of this size, so that the prompt's beginning stays byte for byte the same meanwhile. */
  readonly step?: number
  readonly maxChars?: number
  readonly alternation?: 'strict' | 'seam' | 'off'
  readonly pin?: (message: HistoricalMessage) => boolean
}

const maxPinned = 4

/**
 * What of a long conversation a model sees: its beginning, its latest turns, and what is pinned.
 *
 * @example
 * defineAgent({ slug: 'helper', model, history: createSlidingWindowPolicy({ keepHead: 2, maxTurns: 30 }) })
 */
export function createSlidingWindowPolicy(options: SlidingWindowOptions = {}): HistoryPolicy {
  const keepHead = Math.max(0, options.keepHead ?? 2)
  const maxTurns = Math.max(1, options.maxTurns ?? 20)
  const step = Math.min(Math.max(1, options.step ?? 1), maxTurns)
  const alternation = options.alternation ?? 'strict'
  return ({ history }) => {
    const turns = sortByTime(history.filter(hasTurnContent))
    const headEnd = Math.min(keepHead, turns.length)
    const excess = turns.length - keepHead - maxTurns
    const first = excess <= 0 ? headEnd : keepHead + Math.ceil(excess / step) * step
    const window = { turns, headEnd, alternation, pin: options.pin }
    const cut = dropTurnsToFit(window, first, options.maxChars)
    return { ...assembleWindow(window, cut), notes: cut.notes }
  }
}

type Window = {
  readonly turns: readonly HistoricalMessage[]
  readonly headEnd: number
  readonly alternation: 'strict' | 'seam' | 'off'
  readonly pin: ((message: HistoricalMessage) => boolean) | undefined
}
type Cut = { readonly headEnd: number; readonly start: number; readonly notes: readonly string[] }

function assembleWindow({ turns, alternation, pin }: Window, { headEnd, start }: Cut): Omit<HistoryResult, 'notes'> {
  const head = turns.slice(0, headEnd)
  const tail = [...pinnedMessages(turns, headEnd, start, pin), ...turns.slice(start)]
  const kept = head.length + tail.length
  const merged =
    alternation === 'strict'
      ? { head: mergeConsecutiveSameRoles(head), tail: mergeConsecutiveSameRoles(tail) }
      : { head, tail }
  const dropped = turns.length - kept
  const messages = [...merged.head, ...merged.tail]
  return { messages, dropped, ...(merged.head.length === 0 ? {} : { cacheBreakpointAfter: merged.head.length - 1 }) }
}

/** Two of one role must not meet where head and window touch. */
function skipTurnsOfSameRole({ turns, alternation }: Window, headEnd: number, from: number): number {
  if (alternation === 'off' || headEnd === 0) return from
  // Where nothing was left out the two turns are neighbours by nature; merging takes care of them.
  if (from === headEnd) return from
  let start = from
  while (start < turns.length - 1 && turns[start]?.role === turns[headEnd - 1]?.role) start += 1
  return start
}

function dropTurnsToFit(window: Window, first: number, maxChars: number | undefined): Cut {
  let headEnd = window.headEnd
  let start = skipTurnsOfSameRole(window, headEnd, first)
  if (maxChars === undefined) return { headEnd, start, notes: [] }
  const notes: string[] = []
  const countWindowCharacters = (): number =>
    countCharacters([...window.turns.slice(0, headEnd), ...window.turns.slice(start)])
  while (countWindowCharacters() > maxChars && start < window.turns.length - 1)
    start = skipTurnsOfSameRole(window, headEnd, start + 1)
  while (countWindowCharacters() > maxChars && headEnd > 0 && start < window.turns.length) headEnd -= 1
  if (countWindowCharacters() > maxChars) notes.push('the last turn alone is longer than maxChars and was kept')
  return { headEnd, start, notes }
}

function pinnedMessages(
  turns: readonly HistoricalMessage[],
  headEnd: number,
  start: number,
  pin: Window['pin'],
): readonly HistoricalMessage[] {
  if (pin === undefined) return []
  const kept = new Set<number>()
  const found = turns.map((turn, index) => (index >= headEnd && index < start && pin(turn) ? index : -1))
  for (const index of found.filter((each) => each >= 0).slice(0, maxPinned)) {
    kept.add(index)
    // Its neighbour comes along, so that roles go on alternating.
    if (index + 1 < start && turns[index + 1]?.role !== turns[index]?.role) kept.add(index + 1)
  }
  return [...kept].toSorted((a, b) => a - b).flatMap((index) => turns[index] ?? [])
}

function mergeConsecutiveSameRoles(turns: readonly HistoricalMessage[]): readonly HistoricalMessage[] {
  const groups: HistoricalMessage[][] = []
  for (const turn of turns) {
    const last = groups.at(-1)
    if (last?.[0]?.role === turn.role && !isAmbientMessage(turn) && !isAmbientMessage(last[0])) last.push(turn)
    else groups.push([turn])
  }
  return groups.flatMap(mergeSameRoleTurns)
}

/** Ambient context of a room never becomes part of what a person said to it. */
function isAmbientMessage({ ambient }: HistoricalMessage): boolean {
  return ambient === true
}

function mergeSameRoleTurns(group: readonly HistoricalMessage[]): readonly HistoricalMessage[] {
  const last = group.at(-1)
  if (last === undefined || group.length === 1) return group
  const isShared = group.every((turn) => turn.sender.address === last.sender.address)
  const parts = group.flatMap((turn) => (isShared ? turn.parts : [senderAddressPart(turn), ...turn.parts]))
  return [{ ...last, parts }]
}

function senderAddressPart({ sender }: HistoricalMessage): HistoricalMessage['parts'][number] {
  return { kind: 'text', mime: 'text/plain', content: `${sender.address}:` }
}

function hasTurnContent(turn: HistoricalMessage): boolean {
  return turn.parts.some((part) => part.kind !== 'text' || String(part['content'] ?? '').trim() !== '')
}

function sortByTime(turns: readonly HistoricalMessage[]): readonly HistoricalMessage[] {
  return turns.toSorted((a, b) => (a.timestamp < b.timestamp ? -1 : a.timestamp > b.timestamp ? 1 : 0))
}

function countCharacters(turns: readonly HistoricalMessage[]): number {
  return turns.reduce((sum, turn) => sum + turn.parts.reduce((of, part) => of + JSON.stringify(part).length, 0), 0)
}

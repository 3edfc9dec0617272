// A paragraph that is too long, in two: after a sentence, else between words, and inside a word only when it must be.
import { cutPoint } from '../cut-point.ts'
import type { Inline } from '../tree.ts'
import { mostThat } from './fit.ts'
import { from, type InlineWindow, inlineWindow, upTo } from './inline-window.ts'

export type InlineSplit = { readonly head: readonly Inline[]; readonly rest: readonly Inline[] }
export type InlineRoom = {
  readonly fits: (nodes: readonly Inline[]) => boolean
  /** No text longer than this can fit. */
  readonly maxLength: number
  /** There is no emptier message to wait for: words and labels may be torn. */
  readonly isForced: boolean
}

export function splitInline(nodes: readonly Inline[], room: InlineRoom): InlineSplit | undefined {
  const window = inlineWindow(nodes, room.maxLength)
  const { text } = window
  const length = mostThat(text.length, room.maxLength >> 1, (count) => room.fits(upTo(nodes, count)))
  if (length === 0) return undefined
  if (length === text.length) return { head: nodes, rest: [] }
  const cut = bestCut(window, length, room)
  if (cut === undefined) return undefined
  const end = text.slice(0, cut).trimEnd().length
  const start = text.length - text.slice(cut).trimStart().length
  return { head: upTo(nodes, end === 0 ? cut : end), rest: from(nodes, start) }
}

function bestCut(
  { text, whole }: InlineWindow,
  length: number,
  { isForced, maxLength }: InlineRoom,
): number | undefined {
  for (let room = length; ; ) {
    const cut = cutPoint(text, room)
    const torn = whole.find(({ start, end }) => start < cut && cut < end)
    if (torn === undefined) return isForced || isBetweenWords(text, cut) || room < length ? cut : undefined
    // Nothing can be put before it: torn only where its own words are too long, not where its address is.
    const isTooLong = torn.end - torn.start > maxLength >> 1
    if (torn.start === 0 || (isTooLong && torn.start * 4 < length)) return isForced && isTooLong ? cut : undefined
    if (isAtSpace(text, torn.start)) return torn.start
    room = torn.start
  }
}

function isBetweenWords(text: string, cut: number): boolean {
  return isAtSpace(text, cut) || '。！？'.includes(text.charAt(cut - 1))
}

function isAtSpace(text: string, cut: number): boolean {
  return text.charAt(cut).trim() === '' || text.charAt(cut - 1).trim() === ''
}

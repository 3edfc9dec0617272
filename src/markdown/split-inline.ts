// Splits a paragraph that is too long in two: after a sentence, else between words, and inside a word only when it must be.

import { mostThat } from './chunk-size.ts'
import { cutPoint } from './chunk-text.ts'
import type { Inline } from './tree.ts'

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

// The beginning of inline content as flat text, with the places where no cut belongs; and the content up to and from a place.

/** From `start` up to `end`, where a cut would tear a label, a piece of code or a name. */
export type WholeSpan = { readonly start: number; readonly end: number }
type InlineWindow = { readonly text: string; readonly whole: readonly WholeSpan[] }

export function inlineWindow(nodes: readonly Inline[], maxLength: number): InlineWindow {
  const whole: WholeSpan[] = []
  let text = ''
  const read = (children: readonly Inline[], isWhole: boolean) => {
    for (const node of children) {
      if (text.length > maxLength) return
      const start = text.length
      if ('children' in node) read(node.children, isWhole || node.type === 'link')
      else text += leafText(node)
      const isSpan = node.type === 'link' || node.type === 'inlineCode' || node.type === 'mention'
      if (isSpan && !isWhole) whole.push({ start, end: text.length })
    }
  }
  read(nodes, false)
  return { text, whole }
}

/** Marks that are open at `end` are closed there. */
export function upTo(nodes: readonly Inline[], end: number): readonly Inline[] {
  const taken: Inline[] = []
  let left = end
  for (const node of nodes) {
    if (left <= 0) break
    const length = lengthOfNode(node)
    if (length <= left) taken.push(node)
    else if ('children' in node) taken.push({ ...node, children: upTo(node.children, left) })
    else taken.push(sliceLeaf(node, 0, left))
    left -= length
  }
  return taken
}

/** Marks that are open at `start` are opened again. */
export function from(nodes: readonly Inline[], start: number): readonly Inline[] {
  let passed = 0
  for (const [index, node] of nodes.entries()) {
    const length = lengthOfNode(node)
    if (passed + length > start) {
      if (passed === start) return nodes.slice(index)
      const at = start - passed
      const rest: Inline = 'children' in node ? { ...node, children: from(node.children, at) } : sliceLeaf(node, at)
      return [rest, ...nodes.slice(index + 1)]
    }
    passed += length
  }
  return []
}

type Leaf = Exclude<Inline, { readonly children: readonly Inline[] }>

function leafText(node: Leaf): string {
  if (node.type === 'break') return '\n'
  return node.type === 'mention' ? node.name : node.value
}

/** A name that is cut in two is text, no mention. */
function sliceLeaf(node: Leaf, start: number, end?: number): Inline {
  const value = leafText(node).slice(start, end)
  return { type: node.type === 'inlineCode' ? 'inlineCode' : 'text', value }
}

function lengthOfNode(node: Inline): number {
  if (!('children' in node)) return leafText(node).length
  let length = 0
  for (const child of node.children) length += lengthOfNode(child)
  return length
}

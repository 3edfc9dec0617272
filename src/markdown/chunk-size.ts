// Sizes of chunks: what a platform accepts in one message, in its own unit.
import type { Block, Inline } from './tree.ts'

export type Fit = {
  readonly limit: number
  /** Units of what the face would send for these blocks, separators between them included; never fewer than their characters. */
  readonly sizeOf: (blocks: readonly Block[]) => number
  /** What else is counted, for example formatted ranges. */
  readonly costOf?: (blocks: readonly Block[]) => number
  readonly maxCost?: number
}

/** How much of a message these blocks would take: more than 1 is too much. */
export type Load = (blocks: readonly Block[]) => number

export function createLoad({ limit, sizeOf, costOf, maxCost }: Fit): Load {
  if (costOf === undefined || maxCost === undefined) return (blocks) => sizeOf(blocks) / limit
  return (blocks) => Math.max(sizeOf(blocks) / limit, costOf(blocks) / maxCost)
}

/** The greatest count that is accepted, where every smaller one is too. A good guess saves most of the asking. */
export function mostThat(max: number, guess: number, isAccepted: (count: number) => boolean): number {
  let accepted = 0
  let refused = max + 1
  const ask = (count: number) => {
    if (isAccepted(count)) accepted = count
    else refused = count
  }
  if (max > 0) ask(Math.min(Math.max(1, guess), max))
  // Away from the guess in growing steps, and then between the two nearest answers.
  const isUp = accepted > 0
  for (let step = 1; refused - accepted > 1 && (isUp ? refused > max : accepted === 0); step *= 2) {
    ask(isUp ? Math.min(accepted + step, max) : Math.max(refused - step, 1))
  }
  while (refused - accepted > 1) ask((accepted + refused) >> 1)
  return accepted
}

// How long the words of a tree are at least, counted no further than the caller asks.

/** UTF-16 units, at least one for every block; stops soon after `enough`. */
export function blockTextLength(block: Block, enough: number): number {
  switch (block.type) {
    case 'paragraph':
    case 'heading':
      return Math.max(1, inlineLength(block.children, enough))
    case 'code':
      return Math.max(1, block.value.length)
    case 'blockquote':
      return sum(block.children, enough, blockTextLength)
    case 'list':
      return sum(block.children, enough, (item, left) => Math.max(1, sum(item.children, left, blockTextLength)))
    case 'table':
      return sum(block.children, enough, (row, left) =>
        sum(row.children, left, (cell, few) => inlineLength(cell.children, few)),
      )
    case 'thematicBreak':
      return 1
    default:
      return block satisfies never
  }
}

export function lengthOfAll(blocks: readonly Block[], enough: number): number {
  return sum(blocks, enough, blockTextLength)
}

const unseen = /^[\s\u00ad\u200b-\u200f\u2060-\u2064\ufeff]*$/

/** Nothing a reader would see. A line between nothing and nothing counts as nothing. */
export function isBlankBlock(block: Block): boolean {
  switch (block.type) {
    case 'paragraph':
    case 'heading':
      return block.children.every(isBlankInline)
    case 'code':
      return unseen.test(block.value)
    case 'blockquote':
      return block.children.every(isBlankBlock)
    case 'list':
      return block.children.every((item) => item.children.every(isBlankBlock))
    case 'table':
      return block.children.every((row) => row.children.every((cell) => cell.children.every(isBlankInline)))
    case 'thematicBreak':
      return true
    default:
      return block satisfies never
  }
}

function isBlankInline(node: Inline): boolean {
  if ('children' in node) return node.children.every(isBlankInline)
  if (node.type === 'break') return true
  return node.type !== 'mention' && unseen.test(node.value)
}

function inlineLength(nodes: readonly Inline[], enough: number): number {
  return sum(nodes, enough, (node, left) => {
    if ('children' in node) return inlineLength(node.children, left)
    if (node.type === 'break') return 1
    return node.type === 'mention' ? node.name.length : node.value.length
  })
}

function sum<Item>(items: readonly Item[], enough: number, lengthOfItem: (item: Item, left: number) => number): number {
  let length = 0
  for (const item of items) {
    if (length > enough) break
    length += lengthOfItem(item, enough - length)
  }
  return length
}

// A measure of blocks that adds up, remembered for each block: cutting asks for the same ones many times.

export function sumOfBlocks(measure: (block: Block) => number): (blocks: readonly Block[]) => number {
  const known = new WeakMap<Block, number>()
  return (blocks) => {
    let sum = 0
    for (const block of blocks) {
      const size = known.get(block) ?? measure(block)
      known.set(block, size)
      sum += size
    }
    return sum
  }
}

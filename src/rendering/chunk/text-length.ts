// How long the words of a tree are at least, counted no further than the caller asks.
import type { Block, Inline } from '../tree.ts'

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

// The tree in the platform's old markup, for fields that accept nothing else.
import { chunkTree } from '../chunk/chunk-tree.ts'
import { sumOfBlocks } from '../sum-of-blocks.ts'
import { tableAsCode } from '../table/table-as-code.ts'
import type { Block, List, ListItem, Root } from '../tree.ts'
import { escapeLiteral, inertBroadcasts } from './mrkdwn-escape.ts'
import { mrkdwnBold, mrkdwnInline } from './mrkdwn-inline.ts'
import type { BlocksOptions } from './options.ts'

export function renderMrkdwn(root: Root, limit: number, options: BlocksOptions = {}): readonly string[] {
  const sizeOf = sumOfBlocks((block) => blockText(block, options).length + seam.length)
  return chunkTree(root, { limit: limit + seam.length, sizeOf })
    .map((piece) => mrkdwnText(piece.children, options))
    .filter((text) => text.trim() !== '')
}

const seam = '\n\n'

/** In one piece. */
export function mrkdwnText(blocks: readonly Block[], options: BlocksOptions): string {
  return blocks
    .map((block) => blockText(block, options))
    .filter((text) => text !== '')
    .join(seam)
}

function blockText(block: Block, options: BlocksOptions): string {
  switch (block.type) {
    case 'paragraph':
      return mrkdwnInline(block.children, options)
    case 'heading':
      return mrkdwnBold(block.children, options)
    case 'blockquote':
      return quoted(mrkdwnText(block.children, options))
    case 'list':
      return listText(block, options)
    case 'code':
      return fenced(block.value)
    case 'table':
      return tableAsCode(block)
        .map((part) => blockText(part, options))
        .join('\n')
    case 'thematicBreak':
      return '———'
    default:
      return block satisfies never
  }
}

/** Only one level is read, and only one mark on a line. */
function quoted(text: string): string {
  return text
    .split('\n')
    .map((line) => (line.startsWith('> ') ? line : `> ${line}`))
    .join('\n')
}

/** A fence inside would end ours. */
function fenced(value: string): string {
  return `\`\`\`\n${escapeLiteral(inertBroadcasts(value)).replace(/`(?=``)/g, '`\u200b')}\n\`\`\``
}

function listText(list: List, options: BlocksOptions): string {
  return list.children.map((item, index) => itemText(item, markerOf(list, index), options)).join('\n')
}

function markerOf({ ordered, start }: List, index: number): string {
  return ordered ? `${start + index}.` : '•'
}

function itemText({ checked, children }: ListItem, marker: string, options: BlocksOptions): string {
  const task = checked === null ? '' : checked ? '☑ ' : '☐ '
  const text = children
    .map((child) => blockText(child, options))
    .filter((each) => each !== '')
    .join('\n')
  return `${marker} ${task}${text.replaceAll('\n', '\n    ')}`
}

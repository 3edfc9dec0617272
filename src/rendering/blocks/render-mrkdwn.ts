// The tree in the platform's old markup, for fields that accept nothing else.
import { chunkTree } from '../chunk/chunk-tree.ts'
import { sumOfBlocks } from '../sum-of-blocks.ts'
import { tableAsCode } from '../table/table-as-code.ts'
import type { Block, List, ListItem, Root } from '../tree.ts'
import { escapeLiteral, inertBroadcasts } from './mrkdwn-escape.ts'
import { mrkdwnBold, mrkdwnInline } from './mrkdwn-inline.ts'
import type { BlocksOptions } from './options.ts'

export function renderMrkdwn(root: Root, limit: number, options: BlocksOptions = {}): readonly string[] {
  const sizeOf = sumOfBlocks((block) => blockToMrkdwn(block, options).length + seam.length)
  return chunkTree(root, { limit: limit + seam.length, sizeOf })
    .map((piece) => mrkdwnText(piece.children, options))
    .filter((text) => text.trim() !== '')
}

const seam = '\n\n'

/** In one piece. */
export function mrkdwnText(blocks: readonly Block[], options: BlocksOptions): string {
  return blocks
    .map((block) => blockToMrkdwn(block, options))
    .filter((text) => text !== '')
    .join(seam)
}

function blockToMrkdwn(block: Block, options: BlocksOptions): string {
  switch (block.type) {
    case 'paragraph':
      return mrkdwnInline(block.children, options)
    case 'heading':
      return mrkdwnBold(block.children, options)
    case 'blockquote':
      return quoteMrkdwn(mrkdwnText(block.children, options))
    case 'list':
      return listToMrkdwn(block, options)
    case 'code':
      return fenceMrkdwn(block.value)
    case 'table':
      return tableAsCode(block)
        .map((part) => blockToMrkdwn(part, options))
        .join('\n')
    case 'thematicBreak':
      return '———'
    default:
      return block satisfies never
  }
}

/** Only one level is read, and only one mark on a line. */
function quoteMrkdwn(text: string): string {
  return text
    .split('\n')
    .map((line) => (line.startsWith('> ') ? line : `> ${line}`))
    .join('\n')
}

/** A fence inside would end ours. */
function fenceMrkdwn(value: string): string {
  return `\`\`\`\n${escapeLiteral(inertBroadcasts(value)).replace(/`(?=``)/g, '`\u200b')}\n\`\`\``
}

function listToMrkdwn(list: List, options: BlocksOptions): string {
  return list.children.map((item, index) => itemToMrkdwn(item, mrkdwnMarker(list, index), options)).join('\n')
}

function mrkdwnMarker({ ordered, start }: List, index: number): string {
  return ordered ? `${start + index}.` : '•'
}

function itemToMrkdwn({ checked, children }: ListItem, marker: string, options: BlocksOptions): string {
  const task = checked === null ? '' : checked ? '☑ ' : '☐ '
  const text = children
    .map((child) => blockToMrkdwn(child, options))
    .filter((each) => each !== '')
    .join('\n')
  return `${marker} ${task}${text.replaceAll('\n', '\n    ')}`
}

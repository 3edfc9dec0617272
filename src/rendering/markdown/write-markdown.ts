// The face for readers of Markdown: agents and run APIs. Canonical and safe: read again it gives the same tree.
import { chunkTree } from '../chunk/chunk-tree.ts'
import type { Block, Heading, List, ListItem, Root, Table, TableRow } from '../tree.ts'
import { fenceFor } from './escape-markdown.ts'
import { inlineMarkdown } from './write-inline-markdown.ts'

export function writeMarkdown(root: Root): string {
  return blocksMarkdown(root.children)
}

/** Pieces of at most `limit` UTF-16 units. */
export function renderMarkdown(root: Root, limit: number): readonly string[] {
  const pieces = chunkTree(root, { limit, sizeOf: (blocks) => blocksMarkdown(blocks).length })
  return pieces.flatMap((piece) => {
    const written = writeMarkdown(piece)
    // What is escaped depends on what stands beside it, so a piece may be longer than its parts: it is cut once more.
    const excess = written.length - limit
    return excess > 0 && excess < limit ? renderMarkdown(piece, limit - excess) : [written]
  })
}

function blocksMarkdown(blocks: readonly Block[]): string {
  let isOther = false
  let written = ''
  for (const [index, block] of blocks.entries()) {
    const previous = blocks[index - 1]
    // Two lists side by side are told apart by their marks.
    const isSame = block.type === 'list' && previous?.type === 'list' && previous.ordered === block.ordered
    isOther = isSame && !isOther
    if (previous !== undefined) written += '\n\n'
    written += block.type === 'list' ? listMarkdown(block, isOther) : blockMarkdown(block)
  }
  return written
}

function blockMarkdown(block: Exclude<Block, List>): string {
  switch (block.type) {
    case 'paragraph':
      return inlineMarkdown(block.children)
    case 'heading':
      return headingMarkdown(block)
    case 'code': {
      const fence = fenceFor(block.value, 3)
      const body = block.value === '' ? '' : `${block.value}\n`
      return `${fence}${block.lang ?? ''}\n${body}${fence}`
    }
    case 'blockquote':
      return mapLines(blocksMarkdown(block.children), (line) => (line === '' ? '>' : `> ${line}`))
    case 'table':
      return tableMarkdown(block)
    case 'thematicBreak':
      return '___'
    default:
      return block satisfies never
  }
}

function headingMarkdown({ depth, children }: Heading): string {
  const words = inlineMarkdown(children).replaceAll('  \n', ' ')
  // A row of # at the end would be taken for the heading's own.
  return `${'#'.repeat(depth)} ${words.replace(/(^|\s)(#+)$/, '$1\\$2')}`.trimEnd()
}

function listMarkdown(list: List, isOther: boolean): string {
  const mark = (index: number) =>
    list.ordered ? `${list.start + index}${isOther ? ')' : '.'} ` : isOther ? '* ' : '- '
  return list.children.map((item, index) => itemMarkdown(item, mark(index))).join('\n')
}

function itemMarkdown({ checked: box, children: blocks }: ListItem, mark: string): string {
  // A box stands before words; where there are none it is one itself.
  const hasWords = blocks[0]?.type === 'paragraph' && blocks[0].children.length > 0
  const checked = hasWords ? box : null
  const children = box === null || hasWords ? blocks : [checkboxBlock(box), ...blocks]
  const [first, second] = children
  const isTight = first?.type === 'paragraph' && children.length === 2 && second?.type === 'list' && canFollow(second)
  const body = isTight
    ? `${inlineMarkdown(first.children)}\n${blocksMarkdown(children.slice(1))}`
    : blocksMarkdown(children)
  const written = checked === null ? '' : checked ? '[x] ' : '[ ] '
  const words = checked === null ? body.replace(/^\[(?=[ xX]\]\s)/, '\\[') : body
  const indent = ' '.repeat(mark.length)
  return `${mark}${written}${mapLines(words, (line) => (line === '' ? '' : indent + line)).slice(indent.length)}`.trimEnd()
}

function checkboxBlock(checked: boolean): Block {
  return { type: 'paragraph', children: [{ type: 'text', value: checked ? '☑' : '☐' }] }
}

/** Only a list that begins at one and says something may follow a line of words at once (CommonMark 5.3). */
function canFollow(list: List): boolean {
  return (!list.ordered || list.start === 1) && (list.children[0]?.children.length ?? 0) > 0
}

const rules = { left: ':--', center: ':-:', right: '--:' } as const

function tableMarkdown({ align, children }: Table): string {
  const [header, ...rows] = children
  const rule = `| ${align.map((each) => (each === null ? '---' : rules[each])).join(' | ')} |`
  return [...(header === undefined ? [] : [rowMarkdown(header)]), rule, ...rows.map(rowMarkdown)].join('\n')
}

function rowMarkdown({ children }: TableRow): string {
  const cells = children.map((cell) => inlineMarkdown(cell.children).replaceAll('  \n', ' ').replaceAll('|', '\\|'))
  return `| ${cells.join(' | ')} |`
}

function mapLines(text: string, change: (line: string) => string): string {
  return text.split('\n').map(change).join('\n')
}

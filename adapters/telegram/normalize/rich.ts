// A rich message, which comes as a tree of blocks, as Markdown an agent can read. Pure; bounded in depth.
import { richBlockSchema, richSchema, richTextSchema } from '../wire/content.ts'

type RichBlock = ReturnType<typeof richBlockSchema.parse>

const maxDepth = 16

export function richText(value: unknown): string {
  const parsed = richSchema.safeParse(value)
  return parsed.success ? blocksText(parsed.data.blocks, 0) : ''
}

function blocksText(blocks: readonly unknown[], depth: number): string {
  if (depth > maxDepth) return '[…]'
  const written = blocks.map((block) => {
    const parsed = richBlockSchema.safeParse(block)
    return parsed.success ? blockText(parsed.data, depth) : ''
  })
  return written.filter((text) => text.trim() !== '').join('\n\n')
}

function blockText(block: RichBlock, depth: number): string {
  switch (block.type) {
    case 'heading':
      return `${'#'.repeat(block.size ?? 1)} ${inline(block.text, depth)}`
    case 'pre':
      return `\`\`\`${block.language ?? ''}\n${inline(block.text, depth)}\n\`\`\``
    case 'divider':
      return '---'
    case 'mathematical_expression':
      return `$${block.expression ?? ''}$`
    case 'list':
      return (block.items ?? []).map((item) => itemText(item, depth)).join('\n')
    case 'blockquote':
    case 'expandable_blockquote':
    case 'pullquote':
      return contentText(block, depth).replace(/^/gm, '> ')
    case 'table':
      return tableText(block.cells ?? [], depth)
    case 'details':
      return [inline(block.summary, depth), blocksText(block.blocks ?? [], depth + 1)].join('\n\n')
    default:
      return contentText(block, depth) || captionText(block, depth)
  }
}

function contentText(block: RichBlock, depth: number): string {
  return block.blocks === undefined ? inline(block.text, depth) : blocksText(block.blocks, depth + 1)
}

/** Media inside a rich message is named, with what is written below it. */
function captionText({ type, caption }: RichBlock, depth: number): string {
  const parsed = richTextSchema.partial().safeParse(caption)
  const words = parsed.success ? inline(parsed.data.text, depth) : ''
  return `[${type.replaceAll('_', ' ').slice(0, 40)}] ${words}`.trim()
}

function itemText(item: NonNullable<RichBlock['items']>[number], depth: number): string {
  const marker = item.value === undefined ? '-' : `${item.value}.`
  const box = item.has_checkbox === true ? (item.is_checked === true ? '[x] ' : '[ ] ') : ''
  const body = blocksText(item.blocks, depth + 1).replaceAll('\n\n', '\n')
  return `${marker} ${box}${body.replaceAll('\n', `\n${' '.repeat(marker.length + 1)}`)}`
}

function tableText(cells: NonNullable<RichBlock['cells']>, depth: number): string {
  const rows = cells.map(
    (row) => `| ${row.map(({ text }) => inline(text, depth).replace(/[\n|]/g, ' ')).join(' | ')} |`,
  )
  const rule = `|${' --- |'.repeat(cells[0]?.length ?? 0)}`
  return rows.length === 0 ? '' : [rows[0], rule, ...rows.slice(1)].join('\n')
}

const marks: Readonly<Record<string, string>> = { bold: '**', italic: '_', strikethrough: '~~', code: '`' }

function inline(text: unknown, depth: number): string {
  if (typeof text === 'string') return text
  if (depth > maxDepth) return '…'
  if (Array.isArray(text)) return text.map((each) => inline(each, depth + 1)).join('')
  const parsed = richTextSchema.safeParse(text)
  if (!parsed.success) return ''
  const { type, url, expression, alternative_text } = parsed.data
  if (expression !== undefined) return `$${expression}$`
  const words = inline(parsed.data.text, depth + 1) || (alternative_text ?? '')
  if (type === 'url' && url !== undefined && words !== '' && words !== url) return `[${words}](${url})`
  const mark = words.trim() === '' ? '' : (marks[type] ?? '')
  return `${mark}${words}${mark}`
}

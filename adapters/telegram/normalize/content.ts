// Content that is neither text nor a file, said in words: places, people, polls, dice, lists, and rich messages. Pure.
import { cleanName, type KnownPart, textPart } from '../../../src/contract/index.ts'
import {
  checklistSchema,
  contactSchema,
  contentFields,
  diceSchema,
  locationSchema,
  pollSchema,
  richBlockSchema,
  richSchema,
  richTextSchema,
  stickerSchema,
  venueSchema,
} from '../wire/update.ts'

/** A message, or what another one says about it. */
type Carrier = Readonly<Record<string, unknown>>

/** Undefined: there is nothing but words. What cannot be read is named all the same, so that no message is empty. */
export function contentPart(message: Carrier): KnownPart | undefined {
  const field = contentFields.find((each) => message[each] !== undefined)
  if (field === undefined) return undefined
  const rich = field === 'rich_message' ? richMessageText(message[field]) : ''
  if (rich !== '') return textPart(rich, 'text/markdown')
  const words = contentReaders[field]?.(message[field]) ?? ''
  return textPart(`[${field.replaceAll('_', ' ')}]${words === '' ? '' : ` ${words}`}`)
}

/** What a sticker says; its picture alone tells an agent little. */
export function stickerParts(message: Carrier): readonly KnownPart[] {
  const emoji = stickerSchema.safeParse(message['sticker']).data?.emoji
  return emoji === undefined ? [] : [textPart(`[sticker ${emoji}]`)]
}

const contentReaders: Readonly<Record<string, (value: unknown) => string>> = {
  location(value) {
    const place = locationSchema.safeParse(value).data
    return place === undefined ? '' : `${coordinatesText(place)}${place.live_period === undefined ? '' : ' (live)'}`
  },
  venue(value) {
    const venue = venueSchema.safeParse(value).data
    return venue === undefined
      ? ''
      : `${cleanName(venue.title)}, ${cleanName(venue.address)} (${coordinatesText(venue.location)})`
  },
  contact(value) {
    const contact = contactSchema.safeParse(value).data
    if (contact === undefined) return ''
    return `${cleanName(`${contact.first_name} ${contact.last_name ?? ''}`)}, ${cleanName(contact.phone_number)}`
  },
  poll(value) {
    const poll = pollSchema.safeParse(value).data
    return poll === undefined
      ? ''
      : titledList(
          poll.question,
          poll.options.map(({ text }) => text),
        )
  },
  dice(value) {
    const dice = diceSchema.safeParse(value).data
    return dice === undefined ? '' : `${dice.emoji} ${dice.value}`
  },
  checklist(value) {
    const list = checklistSchema.safeParse(value).data
    if (list === undefined) return ''
    const tasks = list.tasks.map(({ text, completion_date: done }) => `[${done === undefined ? ' ' : 'x'}] ${text}`)
    return titledList(list.title, tasks)
  },
}

function coordinatesText({ latitude, longitude }: { readonly latitude: number; readonly longitude: number }): string {
  return `${latitude}, ${longitude}`
}

function titledList(title: string, lines: readonly string[]): string {
  return [title, ...lines.map((each) => `- ${each.replace(/\s+/g, ' ')}`)].join('\n')
}

// A rich message comes as a tree of blocks and becomes Markdown an agent can read. Pure; bounded in depth.

type RichBlock = ReturnType<typeof richBlockSchema.parse>

const maxDepth = 16

function richMessageText(value: unknown): string {
  const parsed = richSchema.safeParse(value)
  return parsed.success ? richBlocksText(parsed.data.blocks, 0) : ''
}

function richBlocksText(blocks: readonly unknown[], depth: number): string {
  if (depth > maxDepth) return '[…]'
  const written = blocks.map((block) => {
    const parsed = richBlockSchema.safeParse(block)
    return parsed.success ? richBlockText(parsed.data, depth) : ''
  })
  return written.filter((text) => text.trim() !== '').join('\n\n')
}

function richBlockText(block: RichBlock, depth: number): string {
  switch (block.type) {
    case 'heading':
      return `${'#'.repeat(block.size ?? 1)} ${richInlineText(block.text, depth)}`
    case 'pre':
      return `\`\`\`${block.language ?? ''}\n${richInlineText(block.text, depth)}\n\`\`\``
    case 'divider':
      return '---'
    case 'mathematical_expression':
      return `$${block.expression ?? ''}$`
    case 'list':
      return (block.items ?? []).map((item) => richItemText(item, depth)).join('\n')
    case 'blockquote':
    case 'expandable_blockquote':
    case 'pullquote':
      return richContentText(block, depth).replace(/^/gm, '> ')
    case 'table':
      return richTableText(block.cells ?? [], depth)
    case 'details':
      return [richInlineText(block.summary, depth), richBlocksText(block.blocks ?? [], depth + 1)].join('\n\n')
    default:
      return richContentText(block, depth) || richCaptionText(block, depth)
  }
}

function richContentText(block: RichBlock, depth: number): string {
  return block.blocks === undefined ? richInlineText(block.text, depth) : richBlocksText(block.blocks, depth + 1)
}

/** Media inside a rich message is named, with what is written below it. */
function richCaptionText({ type, caption }: RichBlock, depth: number): string {
  const parsed = richTextSchema.partial().safeParse(caption)
  const words = parsed.success ? richInlineText(parsed.data.text, depth) : ''
  return `[${type.replaceAll('_', ' ').slice(0, 40)}] ${words}`.trim()
}

function richItemText(item: NonNullable<RichBlock['items']>[number], depth: number): string {
  const marker = item.value === undefined ? '-' : `${item.value}.`
  const box = item.has_checkbox === true ? (item.is_checked === true ? '[x] ' : '[ ] ') : ''
  const body = richBlocksText(item.blocks, depth + 1).replaceAll('\n\n', '\n')
  return `${marker} ${box}${body.replaceAll('\n', `\n${' '.repeat(marker.length + 1)}`)}`
}

function richTableText(cells: NonNullable<RichBlock['cells']>, depth: number): string {
  const rows = cells.map(
    (row) => `| ${row.map(({ text }) => richInlineText(text, depth).replace(/[\n|]/g, ' ')).join(' | ')} |`,
  )
  const rule = `|${' --- |'.repeat(cells[0]?.length ?? 0)}`
  return rows.length === 0 ? '' : [rows[0], rule, ...rows.slice(1)].join('\n')
}

const marks: Readonly<Record<string, string>> = { bold: '**', italic: '_', strikethrough: '~~', code: '`' }

function richInlineText(text: unknown, depth: number): string {
  if (typeof text === 'string') return text
  if (depth > maxDepth) return '…'
  if (Array.isArray(text)) return text.map((each) => richInlineText(each, depth + 1)).join('')
  const parsed = richTextSchema.safeParse(text)
  if (!parsed.success) return ''
  const { type, url, expression, alternative_text } = parsed.data
  if (expression !== undefined) return `$${expression}$`
  const words = richInlineText(parsed.data.text, depth + 1) || (alternative_text ?? '')
  if (type === 'url' && url !== undefined && words !== '' && words !== url) return `[${words}](${url})`
  const mark = words.trim() === '' ? '' : (marks[type] ?? '')
  return `${mark}${words}${mark}`
}

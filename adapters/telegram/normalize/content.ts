// Content that is not plain text, as Markdown and words: entities of a text, places, people, polls, dice, lists, and rich messages. Pure.

import { type KnownPart, textPart } from '../../../src/contract/index.ts'
import { cleanName } from '../../../src/lib/index.ts'
import { type Block, type Inline, writeMarkdown } from '../../../src/markdown/index.ts'
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
  type TelegramEntity,
  venueSchema,
} from '../wire/update.ts'

/** A message, or what another one says about it. */
type Carrier = Readonly<Record<string, unknown>>

/** Undefined: there is nothing but words. What cannot be read is named all the same, so that no message is empty. */
export function nonTextContentPart(message: Carrier): KnownPart | undefined {
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
      : formatTitledList(
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
    return formatTitledList(list.title, tasks)
  },
}

function coordinatesText({ latitude, longitude }: { readonly latitude: number; readonly longitude: number }): string {
  return `${latitude}, ${longitude}`
}

function formatTitledList(title: string, lines: readonly string[]): string {
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

// Formatted text as Markdown: links below words, code, quotes, emphasis. Pure.

type Words = { readonly text: string; readonly entities: readonly TelegramEntity[] }
type Mark = 'link' | 'strong' | 'emphasis' | 'delete' | 'code' | 'pre' | 'quote'
/** A stretch of text, and what is on all of it. */
type Run = { readonly text: string; readonly entityMarks: ReadonlyMap<Mark, TelegramEntity> }

/** Formatting that says something. What is only decoration or found by Telegram itself stays as the words it is. */
const entityMarks: Readonly<Record<string, Mark>> = {
  text_link: 'link',
  bold: 'strong',
  italic: 'emphasis',
  strikethrough: 'delete',
  code: 'code',
  pre: 'pre',
  blockquote: 'quote',
  expandable_blockquote: 'quote',
}
const linkable: ReadonlySet<string> = new Set(['http:', 'https:', 'mailto:', 'tel:'])
const inlineMarks = ['link', 'strong', 'emphasis', 'delete'] as const

/** Plain words stay as they were written: only what is formatted becomes Markdown, with everything else escaped. */
export function formattedTextPart(words: Words): KnownPart {
  const isMarked = words.entities.some((entity) => entityMark(entity) !== undefined)
  if (!isMarked) return textPart(words.text)
  const written = writeMarkdown({ type: 'root', children: runsToBlocks(splitIntoRuns(words)) })
  return written.trim() === '' ? textPart(words.text) : textPart(written, 'text/markdown')
}

function entityMark({ type, url }: TelegramEntity): Mark | undefined {
  const mark = Object.hasOwn(entityMarks, type) ? entityMarks[type] : undefined
  return mark === 'link' && safeLinkUrl(url) === undefined ? undefined : mark
}

function safeLinkUrl(url: string | undefined): string | undefined {
  const parsed = url !== undefined && URL.canParse(url) ? new URL(url) : undefined
  return parsed !== undefined && linkable.has(parsed.protocol) ? parsed.href : undefined
}

/** Cut wherever a range begins or ends, and between blocks of lines. Addresses count as links, so that they stay whole. */
function splitIntoRuns({ text, entities }: Words): readonly Run[] {
  const ranges = entities.flatMap((entity) => {
    const shown = text.slice(entity.offset, entity.offset + entity.length)
    const bare =
      entity.type === 'url' && /^https?:/i.test(shown) ? { ...entity, type: 'text_link', url: shown } : entity
    const mark = entityMark(bare)
    return mark === undefined ? [] : [{ mark, entity: bare, start: entity.offset, end: entity.offset + entity.length }]
  })
  const cuts = [...new Set([0, text.length, ...ranges.flatMap(({ start, end }) => [start, end])])].sort((a, b) => a - b)
  return cuts.slice(0, -1).map((start, index) => {
    const end = cuts[index + 1] ?? text.length
    const on = ranges.filter((range) => range.start <= start && range.end >= end)
    return { text: text.slice(start, end), entityMarks: new Map(on.map(({ mark, entity }) => [mark, entity])) }
  })
}

function runsToBlocks(runs: readonly Run[]): readonly Block[] {
  return groupRunsByMark(runs, 'quote').flatMap(({ on: quote, members }): readonly Block[] => {
    const inner = groupRunsByMark(members, 'pre').flatMap(({ on: pre, members: lines }) =>
      pre === undefined ? runsToParagraphs(lines) : [entityCodeBlock(pre, lines)],
    )
    return quote === undefined || inner.length === 0 ? inner : [{ type: 'blockquote', children: inner }]
  })
}

function entityCodeBlock({ language }: TelegramEntity, lines: readonly Run[]): Block {
  const value = lines.map(({ text }) => text).join('')
  const lang = /^[A-Za-z0-9+#._-]{1,32}$/.exec(language ?? '')?.[0]
  return { type: 'code', ...(lang === undefined ? {} : { lang }), value: value.replace(/\n$/, '') }
}

/** An empty line begins a new one; the line ends around a block are part of neither. */
function runsToParagraphs(runs: readonly Run[]): readonly Block[] {
  const paragraphs: Run[][] = [[]]
  for (const { text, entityMarks: on } of runs) {
    const [first = '', ...more] = text.split(/\n{2,}/)
    paragraphs.at(-1)?.push({ text: first, entityMarks: on })
    for (const each of more) paragraphs.push([{ text: each, entityMarks: on }])
  }
  return paragraphs.flatMap((members): readonly Block[] => {
    const children = trimInlines(runsToInlines(members, 0))
    return children.length === 0 ? [] : [{ type: 'paragraph', children }]
  })
}

function trimInlines(nodes: readonly Inline[]): readonly Inline[] {
  const isBlankInline = (node: Inline | undefined): boolean =>
    node?.type === 'break' || (node?.type === 'text' && node.value.trim() === '')
  const start = nodes.findIndex((node) => !isBlankInline(node))
  return start < 0 ? [] : nodes.slice(start, nodes.findLastIndex((node) => !isBlankInline(node)) + 1)
}

function runsToInlines(runs: readonly Run[], level: number): readonly Inline[] {
  const mark = inlineMarks[level]
  if (mark === undefined) return runs.flatMap(runToLeaves)
  return groupRunsByMark(runs, mark).flatMap(({ on, members }): readonly Inline[] => {
    const children = runsToInlines(members, level + 1)
    if (on === undefined || children.length === 0) return children
    return [mark === 'link' ? { type: 'link', url: safeLinkUrl(on.url) ?? '', children } : { type: mark, children }]
  })
}

function runToLeaves({ text, entityMarks: on }: Run): readonly Inline[] {
  if (on.has('code')) return text === '' ? [] : [{ type: 'inlineCode', value: text.replaceAll('\n', ' ') }]
  return text
    .split('\n')
    .flatMap((line, index): readonly Inline[] => [
      ...(index === 0 ? [] : [{ type: 'break' } as const]),
      ...(line === '' ? [] : [{ type: 'text', value: line } as const]),
    ])
}

type Group = { readonly on: TelegramEntity | undefined; readonly members: Run[] }

/** Neighbours below the same range. */
function groupRunsByMark(runs: readonly Run[], mark: Mark): readonly Group[] {
  const groups: Group[] = []
  for (const run of runs) {
    const on = run.entityMarks.get(mark)
    const last = groups.at(-1)
    if (last !== undefined && last.on === on) last.members.push(run)
    else groups.push({ on, members: [run] })
  }
  return groups
}

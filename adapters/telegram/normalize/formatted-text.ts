// Formatted text as Markdown: links below words, code, quotes, emphasis. Pure.
import { type KnownPart, textPart } from '../../../src/contract/index.ts'
import { type Block, type Inline, writeMarkdown } from '../../../src/markdown/index.ts'
import type { TelegramEntity } from '../wire/update.ts'

type Words = { readonly text: string; readonly entities: readonly TelegramEntity[] }
type Mark = 'link' | 'strong' | 'emphasis' | 'delete' | 'code' | 'pre' | 'quote'
/** A stretch of text, and what is on all of it. */
type Run = { readonly text: string; readonly marks: ReadonlyMap<Mark, TelegramEntity> }

/** Formatting that says something. What is only decoration or found by Telegram itself stays as the words it is. */
const marks: Readonly<Record<string, Mark>> = {
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
  const mark = Object.hasOwn(marks, type) ? marks[type] : undefined
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
    return { text: text.slice(start, end), marks: new Map(on.map(({ mark, entity }) => [mark, entity])) }
  })
}

function runsToBlocks(runs: readonly Run[]): readonly Block[] {
  return groupByMark(runs, 'quote').flatMap(({ on: quote, members }): readonly Block[] => {
    const inner = groupByMark(members, 'pre').flatMap(({ on: pre, members: lines }) =>
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
  for (const { text, marks: on } of runs) {
    const [first = '', ...more] = text.split(/\n{2,}/)
    paragraphs.at(-1)?.push({ text: first, marks: on })
    for (const each of more) paragraphs.push([{ text: each, marks: on }])
  }
  return paragraphs.flatMap((members): readonly Block[] => {
    const children = trimInlines(runsToInlines(members, 0))
    return children.length === 0 ? [] : [{ type: 'paragraph', children }]
  })
}

function trimInlines(nodes: readonly Inline[]): readonly Inline[] {
  const isEdgeSpace = (node: Inline | undefined): boolean =>
    node?.type === 'break' || (node?.type === 'text' && node.value.trim() === '')
  const start = nodes.findIndex((node) => !isEdgeSpace(node))
  return start < 0 ? [] : nodes.slice(start, nodes.findLastIndex((node) => !isEdgeSpace(node)) + 1)
}

function runsToInlines(runs: readonly Run[], level: number): readonly Inline[] {
  const mark = inlineMarks[level]
  if (mark === undefined) return runs.flatMap(runToLeaves)
  return groupByMark(runs, mark).flatMap(({ on, members }): readonly Inline[] => {
    const children = runsToInlines(members, level + 1)
    if (on === undefined || children.length === 0) return children
    return [mark === 'link' ? { type: 'link', url: safeLinkUrl(on.url) ?? '', children } : { type: mark, children }]
  })
}

function runToLeaves({ text, marks: on }: Run): readonly Inline[] {
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
function groupByMark(runs: readonly Run[], mark: Mark): readonly Group[] {
  const groups: Group[] = []
  for (const run of runs) {
    const on = run.marks.get(mark)
    const last = groups.at(-1)
    if (last !== undefined && last.on === on) last.members.push(run)
    else groups.push({ on, members: [run] })
  }
  return groups
}

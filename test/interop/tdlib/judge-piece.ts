// One piece of text with ranges, judged by TDLib: is it taken, does it mean the same there, and does anything come alive in it?
import { type EntityPiece, entitiesHtml } from '../../../adapters/telegram/render/entities.ts'
import type { Tdlib, TextEntity } from './tdlib.ts'

/** What differs, in words; nothing when TDLib sees what we meant. */
export function differences(tdlib: Tdlib, piece: EntityPiece): readonly string[] {
  const html = entitiesHtml(piece)
  const read = tdlib.parseHtml(html)
  if ('rejected' in read) return [`rejected: ${read.rejected}`]
  const text = read.text === piece.text ? [] : [`text: ${JSON.stringify(read.text)} for ${JSON.stringify(piece.text)}`]
  const ours = piece.entities.map(told).sort()
  const theirs = read.entities.map(heard).sort()
  const missing = ours.filter((each) => !theirs.includes(each)).map((each) => `only ours: ${each}`)
  const added = theirs.filter((each) => !ours.includes(each)).map((each) => `only theirs: ${each}`)
  return [...text, ...missing, ...added]
}

const calls = new Set(['textEntityTypeMention', 'textEntityTypeBotCommand', 'textEntityTypeMentionName'])

/**
 * Mentions and commands that the platform would make of plain words. What it finds by itself gives way to code and links that
 * were stated, wherever the two meet.
 */
export function comesAlive(tdlib: Tdlib, piece: EntityPiece): readonly string[] {
  const shelters = piece.entities.filter(({ type }) => type === 'code' || type === 'pre' || type === 'text_link')
  return tdlib
    .detect(piece.text)
    .filter(({ type }) => calls.has(type._))
    .filter(
      ({ offset, length }) =>
        !shelters.some((each) => each.offset < offset + length && each.offset + each.length > offset),
    )
    .map(({ offset, length }) => piece.text.slice(offset, offset + length))
}

const types: Readonly<Record<string, string>> = {
  bold: 'Bold',
  italic: 'Italic',
  strikethrough: 'Strikethrough',
  code: 'Code',
  blockquote: 'BlockQuote',
  text_link: 'TextUrl',
  pre: 'Pre',
}

function told(entity: EntityPiece['entities'][number]): string {
  const language = 'language' in entity ? entity.language : undefined
  const type = language === undefined ? types[entity.type] : 'PreCode'
  const url = 'url' in entity ? entity.url : undefined
  return line(type ?? entity.type, entity.offset, entity.length, language ?? url)
}

function heard({ offset, length, type }: TextEntity): string {
  return line(type._.replace('textEntityType', ''), offset, length, type.language ?? type.url)
}

function line(type: string, offset: number, length: number, detail: string | undefined): string {
  return `${type} ${offset}+${length}${detail === undefined ? '' : ` ${detail}`}`
}

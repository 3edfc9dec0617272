// Blocks to words: what people write comes as rich text, which tells letters from mentions; tables and cards are read too. Pure.
import { type Decoded, decodeText, type NamedUser, shownChannel, shownLink, shownUser } from './decode-text.ts'

type Fields = Readonly<Record<string, unknown>>

/** The words of a person's own message. Undefined: it has other blocks than rich text, or none that say anything. */
export function readRichText(blocks: readonly unknown[]): Decoded | undefined {
  const all = blocks.map(fieldsOf)
  if (all.length === 0 || !all.every((block) => block['type'] === 'rich_text')) return undefined
  const named: NamedUser[] = []
  const text = all.map((block) => richText(block, named)).join('\n')
  return text.trim() === '' ? undefined : { text, named }
}

/** The words of any blocks, with what cannot be read named by its own fallback. Who is named in them is not called. */
export function readAnyBlocks(blocks: readonly unknown[]): string {
  return blocks
    .map((block) => anyBlock(fieldsOf(block)))
    .filter((text) => text.trim() !== '')
    .join('\n')
}

export function hasTable(blocks: readonly unknown[]): boolean {
  return blocks.some((block) => isTable(fieldsOf(block)))
}

function anyBlock(block: Fields): string {
  if (block['type'] === 'rich_text') return richText(block, [])
  if (isTable(block)) return table(block)
  const inner = listOf(fieldsOf(block['message'])['blocks'])
  if (inner.length > 0) return readAnyBlocks(inner)
  const said = [block['text'], ...listOf(block['fields']), ...listOf(block['elements'])].map(wordsOf)
  const words = said.filter((text) => text !== '').join('\n')
  return words === '' ? (textOf(block['fallback']) ?? textOf(block['alt_text']) ?? '') : words
}

/** A text, or an object of text. */
function wordsOf(value: unknown): string {
  const plain = textOf(value) ?? textOf(fieldsOf(value)['text']) ?? textOf(fieldsOf(fieldsOf(value)['text'])['text'])
  return plain === undefined ? '' : decodeText(plain).text
}

function isTable({ type }: Fields): boolean {
  return type === 'table' || type === 'data_table'
}

function table(block: Fields): string {
  const rows = listOf(block['rows']).map((row) => {
    const cells = Array.isArray(row) ? row : listOf(fieldsOf(row)['cells'])
    return `| ${cells.map((cell) => cellText(fieldsOf(cell)).replace(/\s+/g, ' ').trim()).join(' | ')} |`
  })
  return rows.join('\n')
}

function cellText(cell: Fields): string {
  return cell['type'] === 'rich_text' ? richText(cell, []) : (textOf(cell['text']) ?? '')
}

function richText(block: Fields, named: NamedUser[]): string {
  return listOf(block['elements'])
    .map((element) => richBlock(fieldsOf(element), named))
    .join('')
    .replace(/\n$/, '')
}

function richBlock(block: Fields, named: NamedUser[]): string {
  switch (block['type']) {
    case 'rich_text_list':
      return list(block, named)
    case 'rich_text_quote':
      return `${inline(block, named).replace(/^/gm, '> ')}\n`
    case 'rich_text_preformatted':
      return `\`\`\`\n${inline(block, named)}\n\`\`\`\n`
    default:
      return inline(block, named)
  }
}

function list(block: Fields, named: NamedUser[]): string {
  const indent = '  '.repeat(Math.min(Math.max(numberOf(block['indent']), 0), 8))
  const first = numberOf(block['offset']) + 1
  const lines = listOf(block['elements']).map((item, index) => {
    const mark = block['style'] === 'ordered' ? `${first + index}.` : '-'
    return `${indent}${mark} ${inline(fieldsOf(item), named)}\n`
  })
  return lines.join('')
}

function inline(block: Fields, named: NamedUser[]): string {
  return listOf(block['elements'])
    .map((element) => inlineText(fieldsOf(element), named))
    .join('')
}

function inlineText(element: Fields, named: NamedUser[]): string {
  const text = textOf(element['text']) ?? ''
  switch (element['type']) {
    case 'text':
      return fieldsOf(element['style'])['code'] === true ? `\`${text}\`` : text
    case 'link':
      return shownLink(textOf(element['url']) ?? '', text)
    case 'user':
      return userText(textOf(element['user_id']) ?? '', named)
    case 'usergroup':
      return shownUser(textOf(element['usergroup_id']) ?? '')
    case 'channel':
      return shownChannel(textOf(element['channel_id']) ?? '')
    case 'broadcast':
      return `@${textOf(element['range']) ?? ''}`
    case 'emoji':
      return emoji(element)
    case 'date':
      return textOf(element['fallback']) ?? ''
    default:
      return text || (textOf(element['fallback']) ?? '')
  }
}

function userText(userId: string, named: NamedUser[]): string {
  const text = shownUser(userId)
  if (/^[UW][A-Z0-9]+$/.test(userId)) named.push({ text, userId })
  return text
}

function emoji(element: Fields): string {
  const points = (textOf(element['unicode']) ?? '').split('-').map((hex) => Number.parseInt(hex, 16))
  const isKnown = points.every((point) => point > 0 && point <= 0x10ffff)
  return isKnown ? String.fromCodePoint(...points) : `:${textOf(element['name']) ?? ''}:`
}

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {}
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

function numberOf(value: unknown): number {
  return typeof value === 'number' && Number.isSafeInteger(value) ? value : 0
}

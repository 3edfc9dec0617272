// Block lists as Mastodon writes and reads them (CSV): one row for each server, a quoted cell may hold commas and lines. Pure.
import { GatewayError } from '../../../src/lib/index.ts'
import { peerSchema } from '../config.ts'

export type BlockRow = {
  readonly line: number
  readonly host: string
  readonly severity: string
  readonly comment: string
}
export type BadRow = { readonly line: number; readonly why: string }
export type BlockList = { readonly rows: readonly BlockRow[]; readonly refused: readonly BadRow[] }

export const maxListChars = 1024 * 1024
const maxListRows = 20_000
const maxComment = 500
const names = ['#domain', '#severity', '#reject_media', '#reject_reports', '#public_comment', '#obfuscate'] as const
export const listHeader = `${names.join(',')}\n`

/** A list without a first line of names is one of hosts that are to be blocked. */
export function readBlockList(text: string): BlockList {
  if (text.length > maxListChars)
    throw new GatewayError('bad_request', `the list is longer than ${maxListChars} characters; split it`)
  const lines = [...parseCsvRows(text.replace(/^\uFEFF/, ''))].filter(({ cells }) =>
    cells.some((cell) => cell.trim() !== ''),
  )
  if (lines.length > maxListRows)
    throw new GatewayError('bad_request', `the list has more than ${maxListRows} rows; split it`)
  const [first] = lines
  const header = first?.cells.map((cell) => cell.trim().replace(/^#/, '').toLowerCase()) ?? []
  const isNamed = header.includes('domain')
  const columnIndex = (name: string): number => (isNamed ? header.indexOf(name) : ['domain', 'severity'].indexOf(name))
  const places = {
    host: columnIndex('domain'),
    severity: columnIndex('severity'),
    comment: columnIndex('public_comment'),
  }
  const rows: BlockRow[] = []
  const refused: BadRow[] = []
  for (const { line, cells } of isNamed ? lines.slice(1) : lines) {
    const cellAt = (place: number): string => cells[place]?.trim() ?? ''
    const written = cellAt(places.host)
    const host = peerSchema.safeParse(written)
    if (written.includes('*')) refused.push({ line, why: 'its name is obfuscated; ask the author of the list' })
    else if (!host.success || host.data.includes('/')) refused.push({ line, why: 'that is no host' })
    else {
      const severity = cellAt(places.severity).toLowerCase() || 'suspend'
      rows.push({ line, host: host.data, severity, comment: cleanComment(unquoteFormula(cellAt(places.comment))) })
    }
  }
  return { rows, refused }
}

export function writeBlockList(rows: readonly Pick<BlockRow, 'host' | 'severity' | 'comment'>[]): string {
  return rows
    .map(
      ({ host, severity, comment }) =>
        `${[host, severity, 'false', 'false', comment, 'false'].map(quoteCsvCell).join(',')}\n`,
    )
    .join('')
}

export function cleanComment(text: string): string {
  return text
    .replace(/\p{Cc}+/gu, ' ')
    .slice(0, maxComment)
    .toWellFormed()
}

/** RFC 4180. What begins as a formula is text for every program that opens it (CWE-1236). */
function quoteCsvCell(text: string): string {
  const safe = /^[=+\-@]/.test(text) ? `'${text}` : text
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

/** The mark that `quoteCsvCell` puts before a formula is no part of what was said. */
function unquoteFormula(text: string): string {
  return text.replace(/^'(?=[=+\-@])/, '')
}

type Line = { readonly line: number; readonly cells: readonly string[] }

/** `line`: where a row begins, from one. */
function* parseCsvRows(text: string): Generator<Line> {
  let [cells, cell, line, start]: [string[], string, number, number] = [[], '', 1, 1]
  let isQuoted = false
  for (let at = 0; at < text.length; at += 1) {
    const mark = text[at] ?? ''
    if (mark === '\n') line += 1
    if (isQuoted) {
      if (mark !== '"') cell += mark
      else if (text[at + 1] === '"') {
        cell += mark
        at += 1
      } else isQuoted = false
    } else if (mark === '"' && cell === '') isQuoted = true
    else if (mark === ',') {
      cells.push(cell)
      cell = ''
    } else if (mark === '\n') {
      yield { line: start, cells: [...cells, cell] }
      ;[cells, cell, start] = [[], '', line]
    } else cell += mark
  }
  if (cell !== '' || cells.length > 0) yield { line: start, cells: [...cells, cell] }
}

// Splits the head of a mail into its fields, on the raw bytes. Where readers of mail are known to disagree (a name before a
// space, a fold or a blank) the field counts as one more of its kind, so that a sender cannot hide a second one from us or from
// others.
import type { HeaderField, HeadFault } from '../wire/mail.ts'

const maxHeadBytes = 256 * 1024
/** Folded lines are joined again and again by the library that checks signatures; that must stay cheap. */
const maxLines = 5000
const maxFields = 1000

/** May occur once (RFC 5322 3.6, RFC 2045). */
export const singletons: ReadonlySet<string> = new Set([
  'from',
  'sender',
  'reply-to',
  'to',
  'cc',
  'subject',
  'date',
  'message-id',
  'in-reply-to',
  'references',
  'mime-version',
  'content-type',
  'content-transfer-encoding',
])

/** Their values are lists of header names, so a folded line of theirs may look like a field. */
const listsOfNames = /dkim|domainkey|signature|^arc-|authentication-results|^received/
const fieldName = /^[\x21-\x39\x3b-\x7e]+$/

export type CutHead = {
  readonly fields: readonly HeaderField[]
  readonly bodyStart: number
  readonly faults: ReadonlySet<HeadFault>
  /** The subject in bytes, where they are no UTF-8. */
  readonly rawSubject?: Uint8Array
}

export function splitHeadIntoFields(raw: Uint8Array): CutHead {
  const found = splitHeadLines(raw)
  if (found === undefined) return { fields: [], bodyStart: raw.length, faults: new Set(['head_too_large']) }
  const fields: HeaderField[] = []
  const faults = new Set<HeadFault>()
  const seen = new Map<string, number>()
  const countSingleton = (name: string): void => {
    if (singletons.has(name)) seen.set(name, (seen.get(name) ?? 0) + 1)
  }
  let rawSubject: Uint8Array | undefined
  let line = 0
  for (const lines of groupFoldedLines(found.lines)) {
    const [first, next] = [line, line + lines.length]
    line = next
    const opened = parseHeaderField(lines)
    if (opened.isOdd) faults.add('malformed_line')
    if (opened.field === undefined) continue
    fields.push(opened.field)
    if (opened.field.name === 'subject' && opened.field.value.includes(notUtf8))
      rawSubject ??= unfoldedValueBytes(raw.subarray(found.starts[first], found.starts[next] ?? found.bodyStart))
    countSingleton(opened.field.name)
    if (lines.length > 1 && !listsOfNames.test(opened.field.name))
      for (const line of lines.slice(1)) countSingleton(fieldNameInFoldedLine(line))
  }
  for (const [name, times] of seen)
    if (times > 1) faults.add(name === 'from' ? 'multiple_from_fields' : 'duplicate_header')
  if (found.hasControls) faults.add('control_bytes')
  if (fields.length > maxFields) faults.add('head_too_large')
  return { fields, bodyStart: found.bodyStart, faults, ...(rawSubject === undefined ? {} : { rawSubject }) }
}

const notUtf8 = '\ufffd'

/** Unfolded. */
const unfoldedValueBytes = (row: Uint8Array): Uint8Array =>
  row.subarray(row.indexOf(0x3a) + 1).filter((byte) => byte !== 0x0d && byte !== 0x0a)

type Lines = {
  readonly lines: readonly string[]
  /** Where each of them begins. */
  readonly starts: readonly number[]
  readonly bodyStart: number
  readonly hasControls: boolean
}

function splitHeadLines(raw: Uint8Array): Lines | undefined {
  let start = 0
  const starts: number[] = []
  for (let count = 0; count <= maxLines; count += 1) {
    starts.push(start)
    const end = raw.indexOf(0x0a, start)
    if ((end === -1 ? raw.length : end) > maxHeadBytes) return undefined
    const isEmpty = end === start || (end === start + 1 && raw[start] === 0x0d)
    if (!isEmpty && end !== -1) {
      start = end + 1
      continue
    }
    // The mark at the beginning stays: a reader that does not know it sees another name there.
    const text = new TextDecoder('utf-8', { ignoreBOM: true, fatal: false }).decode(
      raw.subarray(0, isEmpty ? start : raw.length),
    )
    const lines = text.split(/\r?\n/)
    if (lines.at(-1) === '') lines.pop()
    return { lines, starts, bodyStart: isEmpty ? end + 1 : raw.length, hasControls: /\0|\r(?!\n)/.test(text) }
  }
  return undefined
}

/** Each field with the lines it is folded over. */
function groupFoldedLines(lines: readonly string[]): readonly string[][] {
  const rows: string[][] = []
  for (const line of lines) {
    const row = rows.at(-1)
    if (row !== undefined && isContinuationLine(line)) row.push(line)
    else rows.push([line])
  }
  return rows
}

const isContinuationLine = (line: string): boolean => line.startsWith(' ') || line.startsWith('\t')

type Opened = { readonly field: HeaderField | undefined; readonly isOdd: boolean }

function parseHeaderField(lines: readonly string[]): Opened {
  const first = lines[0] ?? ''
  const colon = first.indexOf(':')
  if (colon === -1) return parseFieldWithLateColon(lines)
  const written = first.slice(0, colon)
  const name = trimSpacesAndTabs(written)
  if (!fieldName.test(name)) return { field: undefined, isOdd: true }
  const value = trimSpacesAndTabs(first.slice(colon + 1) + lines.slice(1).join(''))
  // RFC 5322 4.5.8 lets a blank stand before the colon; no program that writes mail today does.
  return { field: { name: name.toLowerCase(), value }, isOdd: name !== written }
}

/** A name alone on its line, the colon on the next. */
function parseFieldWithLateColon([first = '', second = '', ...rest]: readonly string[]): Opened {
  const name = trimSpacesAndTabs(first)
  const after = trimSpacesAndTabs(second)
  if (!fieldName.test(name) || !after.startsWith(':')) return { field: undefined, isOdd: true }
  return { field: { name: name.toLowerCase(), value: trimSpacesAndTabs(after.slice(1) + rest.join('')) }, isOdd: true }
}

/** The name in a folded line that readers who trim lines would take for a field. */
function fieldNameInFoldedLine(line: string): string {
  const colon = line.indexOf(':')
  return colon === -1 || colon > 100 ? '' : trimSpacesAndTabs(line.slice(0, colon)).toLowerCase()
}

/** By hand: a pattern for blanks at the end looks at every run of them in between. */
export function trimSpacesAndTabs(text: string): string {
  let [start, end] = [0, text.length]
  while (start < end && isSpaceOrTab(text.charCodeAt(start))) start += 1
  while (end > start && isSpaceOrTab(text.charCodeAt(end - 1))) end -= 1
  return text.slice(start, end)
}

const isSpaceOrTab = (code: number): boolean => code === 0x20 || code === 0x09

// Scans the head of a mail, once. Whatever is said about its author later is said about this reading.

import { cleanName, cleanText } from '../../../src/lib/index.ts'
import { decodeCharset, decodeUtf7, utf7Names } from '../mime/charset.ts'
import { parseStructuredHeader } from '../mime/part-head.ts'
import { normalizeDomain } from '../wire/address.ts'
import type { HeaderField, HeadFault, Mailbox, MailHead } from '../wire/mail.ts'
import { singletons, splitHeadIntoFields, trimSpacesAndTabs } from './fields.ts'

const maxSubject = 400
const maxWrittenSubject = maxSubject * 10
/** Of the body, for the charset of its first part. */
const maxLooked = 4096
/** An author's field is short; a long one is made to be misread. */
const maxFrom = 4000
/** Verdicts that travel with a mail are its sender's; ours are made here. */
const foreignResultFields = new Set(['authentication-results', 'received-spf', 'x-original-authentication-results'])
const controls = /[\u0001-\u0008\u000b\u000c\u000e-\u001f\u007f]/

// Turns text around, is not seen, or is a language of its own that only machines read (tag characters).
const hidden = /[\p{Cc}\u200b\u2060\ufeff\u202a-\u202e\u2066-\u2069\u{e0000}-\u{e007f}]/gu

export function scanHead(raw: Uint8Array): MailHead {
  const cut = splitHeadIntoFields(raw)
  const faults = new Set<HeadFault>(cut.faults)
  const values = new Map<string, string>()
  for (const { name, value } of cut.fields) if (!values.has(name)) values.set(name, value)
  const headerFieldText = (name: string): string => values.get(name) ?? ''
  if (cut.fields.some(hasControlCharacters)) faults.add('control_bytes')
  const from = readSingleAuthor(values.get('from'), faults)
  return {
    fields: cut.fields.filter(({ name }) => !foreignResultFields.has(name)),
    bodyStart: cut.bodyStart,
    faults: [...faults],
    from,
    to: readMailboxes(headerFieldText('to')),
    cc: readMailboxes(headerFieldText('cc')),
    replyTo: readMailboxes(headerFieldText('reply-to')),
    subject: cleanDecodedSubject(
      cut.rawSubject === undefined
        ? decodeHeaderText(headerFieldText('subject').slice(0, maxWrittenSubject))
        : decodeRawHeaderBytes(
            cut.rawSubject.subarray(0, maxWrittenSubject),
            bodyCharset(raw, cut.bodyStart, headerFieldText('content-type')),
          ),
    ),
    messageId: readSingleMessageId(headerFieldText('message-id')),
    inReplyTo: readMessageIds(headerFieldText('in-reply-to')),
    references: readMessageIds(headerFieldText('references')),
    threadIndex: readThreadIndex(headerFieldText('thread-index')),
    date: readDate(headerFieldText('date')),
  }
}

// Some write their subject in a seven-bit encoding of its own, which needs the escape.
const hasControlCharacters = ({ name, value }: HeaderField): boolean =>
  singletons.has(name) && name !== 'subject' && controls.test(value)

function readSingleAuthor(value: string | undefined, faults: Set<HeadFault>): Mailbox | undefined {
  if (faults.has('multiple_from_fields') || faults.has('head_too_large')) return undefined
  if (value === undefined || value === '') {
    faults.add('no_from')
    return undefined
  }
  const author: Author = value.length > maxFrom ? { kind: 'unreadable' } : readAuthor(value)
  if (author.kind === 'one') return author.mailbox
  faults.add(author.kind === 'several' ? 'multiple_authors' : 'unreadable_from')
  return undefined
}

/** Of a body that is parts: the first that is named in them. */
function bodyCharset(raw: Uint8Array, bodyStart: number, contentType: string): string | undefined {
  const named = parseStructuredHeader(contentType).params.get('charset')
  if (named !== undefined || !/^multipart\//i.test(contentType)) return named
  const text = new TextDecoder().decode(raw.subarray(bodyStart, bodyStart + maxLooked))
  return /\bcharset="?([\w.:-]{1,40})/i.exec(text)?.[1]
}

function cleanDecodedSubject(decoded: string): string {
  const text = decoded.replace(/[\s\u0085\u2028\u2029]+/g, ' ').replace(hidden, '')
  return cleanText(text.trim()).slice(0, maxSubject).toWellFormed()
}

// The Date (RFC 5322 3.3, with the zones and years of 4.3) is not left to what a runtime takes for a date.

const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
const zones: Readonly<Record<string, number>> = {
  edt: -240,
  est: -300,
  cdt: -300,
  cst: -360,
  mdt: -360,
  mst: -420,
  pdt: -420,
  pst: -480,
}
const written =
  /^(?:[a-z]{3,9}, ?)?(\d{1,2}) ([a-z]{3})[a-z]{0,6} (\d{2,4}) (\d{1,2}):(\d{2})(?::(\d{2}))? ?([+-]\d{4}|[a-z]{1,5})?(?: ?\(.*)?$/i

/** ISO 8601 in UTC. */
function readDate(value: string): string | undefined {
  const match = written.exec(value.slice(0, 200).replace(/[ \t]+/g, ' '))
  if (match === null) return undefined
  const [, day, month, year, hour, minute, second, zone] = match
  const monthIndex = months.indexOf((month ?? '').toLowerCase())
  const offset = timeZoneOffsetMinutes(zone ?? '')
  if (monthIndex === -1 || offset === undefined) return undefined
  const time = new Date(0)
  time.setUTCFullYear(parseYear(year ?? ''), monthIndex, Number(day))
  time.setUTCHours(Number(hour), Number(minute), Number(second ?? 0))
  const isReal = time.getUTCDate() === Number(day) && time.getUTCHours() === Number(hour)
  return isReal ? new Date(time.getTime() - offset * 60_000).toISOString() : undefined
}

function parseYear(year: string): number {
  const number = Number(year)
  if (year.length === 4) return number
  return number + (year.length === 2 && number < 50 ? 2000 : 1900)
}

function timeZoneOffsetMinutes(zone: string): number | undefined {
  if (/^[a-z]*$/i.test(zone)) return zones[zone.toLowerCase()] ?? 0
  const minutes = Number(zone.slice(1, 3)) * 60 + Number(zone.slice(3))
  return minutes > 1440 ? undefined : minutes * (zone.startsWith('-') ? -1 : 1)
}

// Ids of mails, and of Exchange's threads, are chosen by the sender of the mail, so only their form is believed.

const maxIds = 100
const id = /<([^<>@\s\p{C}]{1,250}@[^<>@\s\p{C}]{1,250})>/gu
/** Of Thread-Index, the part that all mails of a thread share. */
const threadBytes = 22

/** `local@domain`, without brackets; the last hundred where there are more. */
function readMessageIds(value: string): readonly string[] {
  const ids = [...value.matchAll(id)].flatMap(([, found]) => found ?? [])
  return ids.slice(-maxIds)
}

function readSingleMessageId(value: string): string | undefined {
  const ids = readMessageIds(value)
  return ids.length === 1 && `<${ids[0]}>` === value ? ids[0] : undefined
}

/** The bytes that a thread shares, as base64url. */
function readThreadIndex(value: string): string | undefined {
  const letters = value.slice(0, 4000).replace(/\s+/g, '')
  if (letters.length < 30 || !/^[A-Za-z0-9+/]+={0,2}$/.test(letters)) return undefined
  const bytes = atob(letters.slice(0, 32).replace(/=+$/, '')).slice(0, threadBytes)
  if (bytes.length < threadBytes) return undefined
  return btoa(bytes).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')
}

// Parses mailboxes strictly (RFC 5322 3.4 without its obsolete forms): what two readers could read in two ways is not read at all.

/** Mails to more people than that are lists; the rest of them is not looked at. */
const maxMailboxes = 500
const maxEntryLength = 2000
const maxLocalLength = 64

type Author = { readonly kind: 'one'; readonly mailbox: Mailbox } | { readonly kind: 'several' | 'unreadable' }

/** The one author. A group, an open quote or anything left over makes it unreadable. */
export function readAuthor(value: string): Author {
  const entries = splitMailboxList(value)
  if (entries.length > 1) return { kind: 'several' }
  const [entry] = entries
  const mailbox = entry === undefined ? undefined : readMailbox(entry)
  return mailbox === undefined ? { kind: 'unreadable' } : { kind: 'one', mailbox }
}

/** Those of a list that can be read; groups are left out. */
export function readMailboxes(value: string): readonly Mailbox[] {
  return splitMailboxList(value).flatMap((entry) => readMailbox(entry) ?? [])
}

type Entry = {
  /** Before `<`, or all of it. Comments are blanks here. */
  readonly before: string
  /** Between `<` and `>`. */
  readonly within: string | undefined
  readonly comment: string
  readonly isWhole: boolean
}

/** Cut at commas outside of quotes, comments and angle brackets, in one pass. */
function splitMailboxList(value: string): readonly Entry[] {
  const entries: Entry[] = []
  let at = 0
  while (at <= value.length && entries.length < maxMailboxes) {
    const { entry, end } = cutMailboxEntry(value, at)
    entries.push(entry)
    at = end + 1
  }
  return entries
}

function cutMailboxEntry(value: string, start: number): { readonly entry: Entry; readonly end: number } {
  let [before, comment, isWhole] = ['', '', true]
  let within: string | undefined
  let at = start
  for (; at < value.length && value[at] !== ','; at += 1) {
    const letter = value[at] ?? ''
    if (letter === '(') {
      const end = findCommentEnd(value, at)
      comment ||= value.slice(at + 1, end)
      // Right behind a letter it may be read as a part of the address.
      isWhole &&= within !== undefined || before === '' || /[ \t"]$/.test(before)
      before += within === undefined ? ' ' : ''
      at = end
    } else if (letter === '<') {
      const end = findAngleEnd(value, at)
      isWhole &&= within === undefined && end < value.length
      within = value.slice(at + 1, end)
      at = end
    } else if (within !== undefined) {
      isWhole &&= letter === ' ' || letter === '\t'
    } else if (letter === '"') {
      const end = findQuotedEnd(value, at)
      isWhole &&= end < value.length
      before += value.slice(at, end + 1)
      at = end
    } else before += letter
    if (at >= value.length) isWhole = false
  }
  isWhole &&= at - start <= maxEntryLength
  return { entry: { before: trimSpacesAndTabs(before), within, comment, isWhole }, end: at }
}

/** Where they end; the length of the text where they do not. */
function findQuotedEnd(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at += 1) {
    if (text[at] === '\\') at += 1
    else if (text[at] === '"') return at
  }
  return text.length
}

function findCommentEnd(text: string, start: number): number {
  let depth = 0
  for (let at = start; at < text.length; at += 1) {
    if (text[at] === '\\') at += 1
    else if (text[at] === '(') depth += 1
    else if (text[at] === ')') {
      depth -= 1
      if (depth === 0) return at
    }
  }
  return text.length
}

function findAngleEnd(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at += 1) {
    if (text[at] === '"') at = findQuotedEnd(text, at)
    else if (text[at] === '>') return at
  }
  return text.length
}

// In a name without quotes: routes, groups, literals and second addresses begin with one of these.
const specials = /[@:;<>()[\]\\,]/
const quoted = /"(?:[^"\\]|\\.)*"/gs

function readMailbox({ before, within, comment, isWhole }: Entry): Mailbox | undefined {
  if (!isWhole) return undefined
  if (within === undefined) return readAddress(before, displayNameUnlessMisleading(comment))
  if (specials.test(before.replace(quoted, ''))) return undefined
  const name = before.replace(quoted, (text) => text.slice(1, -1).replace(/\\(.)/gs, '$1'))
  return readAddress(within, displayNameUnlessMisleading(name === '' ? comment : name))
}

const dotAtom = /^[\w!#$%&'*+\-/=?^`{|}~\u0080-\u{10ffff}]+(?:\.[\w!#$%&'*+\-/=?^`{|}~\u0080-\u{10ffff}]+)*$/u
/** What is plain in quotes; a second `@` or a bracket in them is there to be misread. */
const quotedLocal = /^"[\w!#$%&'*+\-/=?^`{|}~. ]+"$/
// A reader cannot see these, and the last one stands for bytes that are no text.
const unseen = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Z}\ufffd]/u

function readAddress(address: string, name: string): Mailbox | undefined {
  const at = address.lastIndexOf('@')
  const local = address.slice(0, Math.max(at, 0))
  const isPlain = dotAtom.test(local) && !unseen.test(local)
  // Encoded words are for names (RFC 2047 5); in an address one reader decodes them and another does not.
  if (local.length > maxLocalLength || local.includes('=?') || !(isPlain || quotedLocal.test(local))) return undefined
  const domain = normalizeDomain(address.slice(at + 1))
  return domain === undefined ? undefined : { address: `${local}@${domain}`, domain, name }
}

// The display name is shown, never decided by.

const maxWritten = 1000
const misleading = /@|:\/\/|\bwww\.|\p{Cf}/iu

/**
 * Empty where it could pass for something else: an address, a link, text that turns around or hides, one of `ownNames`
 * (the agents' own, in any case).
 */
export function displayNameUnlessMisleading(written: string, ownNames: readonly string[] = []): string {
  const decoded = decodeHeaderText(written.slice(0, maxWritten))
  const name = cleanName(decoded)
  // Width variants of `@` look like it.
  const plain = name.normalize('NFKC')
  if (misleading.test(decoded) || misleading.test(plain)) return ''
  const isOwn = ownNames.some((own) => own !== '' && plain.toLowerCase().includes(own.normalize('NFKC').toLowerCase()))
  return isOwn ? '' : name
}

// Decodes encoded words (RFC 2047). What cannot be decoded stays as it is written.

const encoded = /=\?([^?\s]{1,60})\?([bq])\?([^? \t\r\n]*)\?=/gi

/** Callers bound what they hand in. */
export function decodeHeaderText(text: string): string {
  return decodeEncodedWords(
    text,
    (plain) => plain,
    (letter) => new TextEncoder().encode(letter),
  )
}

/** The same of bytes that are no UTF-8; `charset`: of what is not encoded, where it is known. */
function decodeRawHeaderBytes(bytes: Uint8Array, charset: string | undefined): string {
  const text = Array.from(bytes, (byte) => String.fromCharCode(byte)).join('')
  const latin1Bytes = (each: string): Uint8Array => Uint8Array.from(each, (letter) => letter.charCodeAt(0))
  return decodeEncodedWords(text, (plain) => decodeCharset(latin1Bytes(plain), charset), latin1Bytes)
}

function decodeEncodedWords(
  text: string,
  plain: (text: string) => string,
  bytesIn: (letter: string) => Iterable<number>,
): string {
  if (!text.includes('=?')) return plain(text)
  let [out, end] = ['', 0]
  let open: { readonly charset: string; bytes: number[]; written: string } | undefined
  const flushDecodedWord = (): void => {
    if (open !== undefined) out += decodeBytes(open.bytes, open.charset) ?? plain(open.written)
    open = undefined
  }
  for (const match of text.matchAll(encoded)) {
    const [written, label = '', kind = '', data = ''] = match
    const between = text.slice(end, match.index)
    const charset = (label.split('*')[0] ?? '').toLowerCase()
    const bytes = kind.toLowerCase() === 'b' ? decodeWordBase64(data) : decodeWordQuoted(data, bytesIn)
    // A character may be cut in two between neighbours, so their bytes are decoded together. The blanks between them are none.
    const isNeighbour = open !== undefined && /^[ \t]*$/.test(between)
    if (open !== undefined && isNeighbour && open.charset === charset) {
      open.bytes.push(...bytes)
      open.written += between + written
    } else {
      flushDecodedWord()
      out += isNeighbour ? '' : plain(between)
      open = { charset, bytes, written }
    }
    end = match.index + written.length
  }
  flushDecodedWord()
  return out + plain(text.slice(end))
}

function decodeBytes(bytes: readonly number[], charset: string): string | undefined {
  if (utf7Names.has(charset)) return decodeUtf7(Uint8Array.from(bytes))
  try {
    return new TextDecoder(charset).decode(Uint8Array.from(bytes))
  } catch {
    return undefined
  }
}

function decodeWordBase64(data: string): number[] {
  const whole = data.replace(/[^A-Za-z0-9+/]/g, '')
  const text = atob(whole.length % 4 === 1 ? whole.slice(0, -1) : whole)
  return Array.from(text, (letter) => letter.charCodeAt(0))
}

function decodeWordQuoted(data: string, bytesIn: (letter: string) => Iterable<number>): number[] {
  const bytes: number[] = []
  for (const [letter] of data.matchAll(/=[0-9a-f]{2}|./gisu)) {
    if (letter === '_') bytes.push(0x20)
    else if (letter.length === 3 && letter.startsWith('=')) bytes.push(Number.parseInt(letter.slice(1), 16))
    else bytes.push(...bytesIn(letter))
  }
  return bytes
}

// Scans the head of a mail, once. Whatever is said about its author later is said about this reading.
import { cleanText } from '../../../src/contract/index.ts'
import { parseStructured } from '../mime/part-head.ts'
import type { HeaderField, HeadFault, Mailbox, MailHead } from '../wire/mail.ts'
import { decodeRawWords, decodeWords } from './encoded-words.ts'
import { singletons, splitHead } from './fields.ts'
import { type Author, readAuthor, readMailboxes } from './mailbox.ts'

const maxSubject = 400
const maxWrittenSubject = maxSubject * 10
/** Of the body, for the charset of its first part. */
const maxLooked = 4096
/** An author's field is short; a long one is made to be misread. */
const maxFrom = 4000
/** Verdicts that travel with a mail are its sender's; ours are made here. */
const othersVerdicts = new Set(['authentication-results', 'received-spf', 'x-original-authentication-results'])
const controls = /[\u0001-\u0008\u000b\u000c\u000e-\u001f\u007f]/

// Turns text around, is not seen, or is a language of its own that only machines read (tag characters).
const hidden = /[\p{Cc}\u200b\u2060\ufeff\u202a-\u202e\u2066-\u2069\u{e0000}-\u{e007f}]/gu

export function scanHead(raw: Uint8Array): MailHead {
  const cut = splitHead(raw)
  const faults = new Set<HeadFault>(cut.faults)
  const values = new Map<string, string>()
  for (const { name, value } of cut.fields) if (!values.has(name)) values.set(name, value)
  const value = (name: string): string => values.get(name) ?? ''
  if (cut.fields.some(hasControls)) faults.add('control_bytes')
  const from = singleAuthor(values.get('from'), faults)
  return {
    fields: cut.fields.filter(({ name }) => !othersVerdicts.has(name)),
    bodyStart: cut.bodyStart,
    faults: [...faults],
    from,
    to: readMailboxes(value('to')),
    cc: readMailboxes(value('cc')),
    replyTo: readMailboxes(value('reply-to')),
    subject: readSubject(
      cut.rawSubject === undefined
        ? decodeWords(value('subject').slice(0, maxWrittenSubject))
        : decodeRawWords(
            cut.rawSubject.subarray(0, maxWrittenSubject),
            bodyCharset(raw, cut.bodyStart, value('content-type')),
          ),
    ),
    messageId: readId(value('message-id')),
    inReplyTo: readIds(value('in-reply-to')),
    references: readIds(value('references')),
    threadIndex: readThreadIndex(value('thread-index')),
    date: readDate(value('date')),
  }
}

// Some write their subject in a seven-bit encoding of its own, which needs the escape.
const hasControls = ({ name, value }: HeaderField): boolean =>
  singletons.has(name) && name !== 'subject' && controls.test(value)

function singleAuthor(value: string | undefined, faults: Set<HeadFault>): Mailbox | undefined {
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
  const named = parseStructured(contentType).params.get('charset')
  if (named !== undefined || !/^multipart\//i.test(contentType)) return named
  const text = new TextDecoder().decode(raw.subarray(bodyStart, bodyStart + maxLooked))
  return /\bcharset="?([\w.:-]{1,40})/i.exec(text)?.[1]
}

function readSubject(decoded: string): string {
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
  const offset = zoneMinutes(zone ?? '')
  if (monthIndex === -1 || offset === undefined) return undefined
  const time = new Date(0)
  time.setUTCFullYear(fullYear(year ?? ''), monthIndex, Number(day))
  time.setUTCHours(Number(hour), Number(minute), Number(second ?? 0))
  const isReal = time.getUTCDate() === Number(day) && time.getUTCHours() === Number(hour)
  return isReal ? new Date(time.getTime() - offset * 60_000).toISOString() : undefined
}

function fullYear(year: string): number {
  const number = Number(year)
  if (year.length === 4) return number
  return number + (year.length === 2 && number < 50 ? 2000 : 1900)
}

function zoneMinutes(zone: string): number | undefined {
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
function readIds(value: string): readonly string[] {
  const ids = [...value.matchAll(id)].flatMap(([, found]) => found ?? [])
  return ids.slice(-maxIds)
}

function readId(value: string): string | undefined {
  const ids = readIds(value)
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

// Hop 2, first look: the head of a mail, read once. Whatever is said about its author later is said about this reading.
import { cleanText } from '../../../src/contract/index.ts'
import { parseStructured } from '../parse/structured-value.ts'
import type { HeaderField, HeadFault, Mailbox, MailHead } from '../wire/judged.ts'
import { readDate } from './date.ts'
import { singletons, splitHead } from './fields.ts'
import { readId, readIds, readThreadIndex } from './ids.ts'
import { type Author, readAuthor, readMailboxes } from './mailbox.ts'
import { decodeRawWords, decodeWords } from './words.ts'

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

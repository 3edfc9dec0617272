// Parses mailboxes strictly (RFC 5322 3.4 without its obsolete forms): what two readers could read in two ways is not read at all.

import { cleanName } from '../../../src/contract/index.ts'
import { normalizeDomain } from '../wire/address.ts'
import type { Mailbox } from '../wire/mail.ts'
import { decodeWords } from './encoded-words.ts'
import { trimBlanks } from './fields.ts'

/** Mails to more people than that are lists; the rest of them is not looked at. */
const maxMailboxes = 500
const maxEntryLength = 2000
const maxLocalLength = 64

export type Author = { readonly kind: 'one'; readonly mailbox: Mailbox } | { readonly kind: 'several' | 'unreadable' }

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
      const end = endOfComment(value, at)
      comment ||= value.slice(at + 1, end)
      // Right behind a letter it may be read as a part of the address.
      isWhole &&= within !== undefined || before === '' || /[ \t"]$/.test(before)
      before += within === undefined ? ' ' : ''
      at = end
    } else if (letter === '<') {
      const end = endOfAngle(value, at)
      isWhole &&= within === undefined && end < value.length
      within = value.slice(at + 1, end)
      at = end
    } else if (within !== undefined) {
      isWhole &&= letter === ' ' || letter === '\t'
    } else if (letter === '"') {
      const end = endOfQuoted(value, at)
      isWhole &&= end < value.length
      before += value.slice(at, end + 1)
      at = end
    } else before += letter
    if (at >= value.length) isWhole = false
  }
  isWhole &&= at - start <= maxEntryLength
  return { entry: { before: trimBlanks(before), within, comment, isWhole }, end: at }
}

/** Where they end; the length of the text where they do not. */
function endOfQuoted(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at += 1) {
    if (text[at] === '\\') at += 1
    else if (text[at] === '"') return at
  }
  return text.length
}

function endOfComment(text: string, start: number): number {
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

function endOfAngle(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at += 1) {
    if (text[at] === '"') at = endOfQuoted(text, at)
    else if (text[at] === '>') return at
  }
  return text.length
}

// In a name without quotes: routes, groups, literals and second addresses begin with one of these.
const specials = /[@:;<>()[\]\\,]/
const quoted = /"(?:[^"\\]|\\.)*"/gs

function readMailbox({ before, within, comment, isWhole }: Entry): Mailbox | undefined {
  if (!isWhole) return undefined
  if (within === undefined) return readAddress(before, readDisplayName(comment))
  if (specials.test(before.replace(quoted, ''))) return undefined
  const name = before.replace(quoted, (text) => text.slice(1, -1).replace(/\\(.)/gs, '$1'))
  return readAddress(within, readDisplayName(name === '' ? comment : name))
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
export function readDisplayName(written: string, ownNames: readonly string[] = []): string {
  const decoded = decodeWords(written.slice(0, maxWritten))
  const name = cleanName(decoded)
  // Width variants of `@` look like it.
  const plain = name.normalize('NFKC')
  if (misleading.test(decoded) || misleading.test(plain)) return ''
  const isOwn = ownNames.some((own) => own !== '' && plain.toLowerCase().includes(own.normalize('NFKC').toLowerCase()))
  return isOwn ? '' : name
}

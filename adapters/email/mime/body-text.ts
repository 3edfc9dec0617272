// The text of a mail. Plain text is preferred; HTML is read where there is no other, as its reader sees it.
import { htmlToText, withoutInvisible } from '../../../src/markdown/index.ts'
import { dropHtmlQuoteMarkerLines, quoteMarkOfHtmlElement, trimReply } from '../quotes/trim-reply.ts'
import type { BodyFlag } from '../wire/mail.ts'
import { decodeCharset } from './charset.ts'
import type { Encoding } from './part-head.ts'
import type { Leaf, MailPart, Multipart } from './parts.ts'
import { decodePart, decodeQuotedPrintable } from './transfer-encoding.ts'
export type Spoken = {
  readonly text: string
  /** Untrimmed. */
  readonly whole: string
  readonly flags: ReadonlySet<BodyFlag>
  /** Parts of which not everything was read. */
  readonly cut: readonly Leaf[]
}

type Reading = { readonly read: (leaf: Leaf) => Promise<PartText>; readonly flags: Set<BodyFlag>; readonly cut: Leaf[] }
type Piece = {
  /** Trimmed when it is asked for: of two versions only one is. */
  readonly text: () => string
  readonly whole: string
  /** Words that no reader sees were left out of it. */
  readonly hasHidden: boolean
}

export async function readBodyText(words: readonly Words[], read: (leaf: Leaf) => Promise<PartText>): Promise<Spoken> {
  const reading: Reading = { read, flags: new Set(), cut: [] }
  const { text, whole, hasHidden } = await joinTextPieces(reading, words)
  if (hasHidden) reading.flags.add('hidden_text_removed')
  return { text: text(), whole, flags: reading.flags, cut: reading.cut }
}

/** Parts that follow each other are one text, and a quote may begin in one and go on in the next. */
async function joinTextPieces(reading: Reading, words: readonly Words[]): Promise<Piece> {
  const pieces: Piece[] = []
  for (const each of words) pieces.push(await readTextPartPiece(reading, each))
  const said = pieces.filter(({ whole }) => whole !== '')
  const [only] = said
  const hasHidden = pieces.some((piece) => piece.hasHidden)
  if (said.length <= 1) return { text: only?.text ?? returnEmptyText, whole: only?.whole ?? '', hasHidden }
  const whole = said.map((piece) => piece.whole).join('\n\n')
  return { whole, text: createLazyReplyTrim(whole), hasHidden }
}

async function readTextPartPiece(reading: Reading, words: Words): Promise<Piece> {
  switch (words.kind) {
    case 'plain':
      return readPlainPiece(reading, words.leaf)
    case 'html':
      return readHtmlPiece(reading, words.leaf)
    case 'either':
      return readPlainOrHtmlPiece(reading, words)
    default:
      return words satisfies never
  }
}

async function readPlainPiece(reading: Reading, leaf: Leaf): Promise<Piece> {
  const whole = withoutInvisible(await readLeafRecordingTruncation(reading, leaf)).trim()
  return { whole, text: createLazyReplyTrim(whole), hasHidden: false }
}

async function readHtmlPiece(reading: Reading, leaf: Leaf): Promise<Piece> {
  let hasHidden = false
  const flagHiddenText = (): void => {
    hasHidden = true
  }
  const marked = htmlToText(await readLeafRecordingTruncation(reading, leaf), {
    onHidden: flagHiddenText,
    mark: quoteMarkOfHtmlElement,
  })
  return { whole: dropHtmlQuoteMarkerLines(marked), text: createLazyReplyTrim(marked), hasHidden }
}

/** Plain text, where it says anything. Where it says something else than the page, the agent is told. */
async function readPlainOrHtmlPiece(reading: Reading, { plain, html }: Words & { kind: 'either' }): Promise<Piece> {
  const said = await joinTextPieces(reading, plain)
  const shown = await joinTextPieces(reading, html)
  if (!/[\p{L}\p{N}\p{S}]/u.test(said.text()) && shown.whole !== '') return shown
  if (shown.whole !== '' && !haveMostlySameWords(said.whole, shown.whole)) reading.flags.add('alternative_mismatch')
  return said
}

const returnEmptyText = (): string => ''

function createLazyReplyTrim(whole: string): () => string {
  let text: string | undefined
  return () => (text ??= trimReply(whole).text)
}

async function readLeafRecordingTruncation({ read, cut }: Reading, leaf: Leaf): Promise<string> {
  const { text, isCut } = await read(leaf)
  if (isCut) cut.push(leaf)
  return text
}

// Which parts of a mail are its text, and which are files beside it (RFC 2046 5.1).

/** Words in reading order; `either`: the same said twice, as text and as a page. */
type Words =
  | { readonly kind: 'plain' | 'html'; readonly leaf: Leaf }
  | { readonly kind: 'either'; readonly plain: readonly Words[]; readonly html: readonly Words[] }

export function chooseBodyTextParts(part: MailPart): readonly Words[] {
  if (part.kind === 'leaf') return isInlineTextPart(part) ? [{ kind: plainOrHtmlKind(part), leaf: part }] : []
  if (part.subtype === 'alternative' || isTextAndHtmlMultipart(part)) return chooseAlternatives(part)
  // Of what belongs together the root speaks, the rest are its pictures.
  if (part.subtype === 'related') return chooseBodyTextParts(part.children[0] ?? emptyMultipart)
  // What is said about a report is its first part; the second is for machines, the third is the mail it is about.
  if (part.subtype === 'report' || part.subtype === 'encrypted')
    return part.children.slice(0, 1).flatMap(chooseBodyTextParts)
  return part.children.flatMap(chooseBodyTextParts)
}

/** Parts whose kind of multipart is not signed: the same as text and as a page, and nothing that is a file. */
function isTextAndHtmlMultipart({ subtype, children }: Multipart): boolean {
  const [first, ...others] = children
  if (subtype !== 'unnamed' || first?.kind !== 'leaf' || first.head.type.value !== 'text/plain') return false
  const isAlternativeVersion = (part: MailPart): boolean =>
    part.kind === 'multipart' || ['text/html', 'text/x-amp-html', 'text/calendar'].includes(part.head.type.value)
  return (
    isInlineTextPart(first) &&
    others.length > 0 &&
    others.every((part) => isAlternativeVersion(part) && !isAttachedPart(part))
  )
}

const isAttachedPart = ({ head }: MailPart): boolean => head.disposition.value === 'attachment'

const emptyMultipart: Multipart = {
  kind: 'multipart',
  subtype: 'mixed',
  head: {
    type: { value: 'multipart/mixed', params: new Map() },
    encoding: 'identity',
    disposition: { value: '', params: new Map() },
    contentId: undefined,
  },
  children: [],
}

function chooseAlternatives({ children }: Multipart): readonly Words[] {
  const ways = children.map(chooseBodyTextParts).filter((words) => words.length > 0)
  const plain = ways.find((words) => words.every(({ kind }) => kind === 'plain'))
  const html = ways.findLast((words) => words !== plain && words.some(({ kind }) => kind !== 'plain'))
  if (plain === undefined || html === undefined) return plain ?? html ?? []
  return [{ kind: 'either', plain, html }]
}

/** A part with a name of its own, or one that says it is attached, is a file even when it is text. */
function isInlineTextPart({ head }: Leaf): boolean {
  const { type, disposition } = head
  if (type.value !== 'text/plain' && type.value !== 'text/html') return false
  return disposition.value !== 'attachment' && !disposition.params.has('filename') && !type.params.has('name')
}

function plainOrHtmlKind({ head }: Leaf): 'plain' | 'html' {
  return head.type.value === 'text/html' ? 'html' : 'plain'
}

/** Leaves that say something, by their place. The rest are files. */
export function listBodyTextLeafIndexes(words: readonly Words[]): ReadonlySet<number> {
  const spoken = new Set<number>()
  for (const each of words)
    if (each.kind === 'either')
      for (const index of listBodyTextLeafIndexes([...each.plain, ...each.html])) spoken.add(index)
    else spoken.add(each.leaf.index)
  return spoken
}

// The text of one part: decoded, normalized, without what no reader sees in it.

export type PartText = {
  readonly text: string
  /** More of it was sent than was read. */
  readonly isCut: boolean
}

export async function readPartText(raw: Uint8Array, { head, start, end }: Leaf, maxBytes: number): Promise<PartText> {
  const read = Math.min(end, start + maxBytes)
  const bytes = await decodePartBytes(raw.subarray(start, read), head.encoding)
  const { params, value } = head.type
  const text = decodeCharset(bytes, params.get('charset'), read < end).replace(/\r\n?/g, '\n')
  const isFlowed = value === 'text/plain' && params.get('format')?.toLowerCase() === 'flowed'
  return {
    text: isFlowed ? unflowText(text, params.get('delsp')?.toLowerCase() === 'yes') : text,
    isCut: read < end,
  }
}

/** Words are short: to hand them through a stream costs more than to decode them. */
async function decodePartBytes(body: Uint8Array, encoding: Encoding): Promise<Uint8Array> {
  if (encoding === 'identity') return body
  if (encoding !== 'quoted-printable') return collectStream(decodePart(body, encoding))
  const out = new Uint8Array(body.length)
  return out.subarray(0, decodeQuotedPrintable(body, 0, out).written)
}

async function collectStream(stream: ReadableStream<Uint8Array>): Promise<Uint8Array> {
  return new Uint8Array(await new Response(stream as BodyInit).arrayBuffer())
}

// Paragraphs that were broken into lines for sending (RFC 3676, format=flowed) are joined again. One pass.

function unflowText(text: string, deletesSpace: boolean): string {
  const lines: string[] = []
  let paragraph: string[] = []
  let depth = 0
  const finishParagraph = (): void => {
    if (paragraph.length > 0) lines.push(`${depth > 0 ? `${'>'.repeat(depth)} ` : ''}${paragraph.join('')}`)
    paragraph = []
  }
  // Not split at once: a text of short lines would be there many times over.
  for (let at = 0; at <= text.length; ) {
    const end = text.indexOf('\n', at)
    const line = text.slice(at, end === -1 ? text.length : end)
    at = end === -1 ? text.length + 1 : end + 1
    const marks = quoteDepth(line)
    // A space before a line that begins with one, or with From, was stuffed in.
    const unmarked = line.slice(marks)
    const words = unmarked.startsWith(' ') ? unmarked.slice(1) : unmarked
    const isSignature = words === '-- '
    if (marks !== depth || isSignature) finishParagraph()
    depth = marks
    const continuesTurn = words.endsWith(' ') && !isSignature
    paragraph.push(continuesTurn && deletesSpace ? words.slice(0, -1) : words)
    if (!continuesTurn) finishParagraph()
  }
  finishParagraph()
  return lines.join('\n')
}

function quoteDepth(line: string): number {
  let depth = 0
  while (line.charAt(depth) === '>') depth += 1
  return depth
}

// Whether two versions of a mail say the same to a reader: one of them is what a person sees, the other what we read.

const word = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]|[\p{L}\p{N}]+/gu
const address = /(?:https?:\/\/|www\.|mailto:|cid:)\S*/gi
const maxLength = 64 * 1024

/** False where more than half of all their words stand in only one of them. */
function haveMostlySameWords(one: string, other: string): boolean {
  // Nearly always they are one text with other line ends.
  if (collapseSpaces(one) === collapseSpaces(other)) return true
  const [first, second] = [collectWordSet(one), collectWordSet(other)]
  const shared = [...first].filter((each) => second.has(each)).length
  const all = first.size + second.size - shared
  return all === 0 || shared * 2 >= all
}

const collapseSpaces = (text: string): string => text.replace(/\s+/g, ' ')

/** Where links lead to is written in one version and hidden in the other. */
function collectWordSet(text: string): ReadonlySet<string> {
  const words = text.slice(0, maxLength).replace(address, ' ').toLowerCase().match(word) ?? []
  return new Set(words)
}

// Splits a mail into its MIME parts as ranges of the raw bytes, in one pass and within limits. Only this says where a part
// begins and ends; a library sees one part at a time and no structure, so that no two readers disagree about a mail.
import type { MailRefusal } from '../wire/mail.ts'
import { findHeadEnd, type PartHead, readPartHead } from './part-head.ts'
import { readRootHead } from './root-head.ts'

export type Leaf = {
  readonly kind: 'leaf'
  /** Its place among all leaves. */
  readonly index: number
  readonly head: PartHead
  /** Range of its body in the raw bytes. */
  readonly start: number
  readonly end: number
}
export type Multipart = {
  readonly kind: 'multipart'
  /** `alternative`, `mixed`, … */
  readonly subtype: string
  readonly head: PartHead
  readonly children: readonly MailPart[]
}
export type MailPart = Leaf | Multipart

export type Scanned = { readonly kind: 'scanned'; readonly root: MailPart; readonly leaves: readonly Leaf[] }

type Open = {
  readonly boundary: string
  readonly head: PartHead
  readonly start: number
  readonly children: MailPart[]
}
type Scan = {
  readonly raw: Uint8Array
  readonly limits: BodyLimits
  readonly leaves: Leaf[]
  readonly open: Open[]
  parts: number
  boundaryLines: number
}

/** `bodyStart`: where the head of the mail itself ends. `uncounted`: fields of that head that say nothing about the body. */
export function scanParts(
  raw: Uint8Array,
  bodyStart: number,
  limits: BodyLimits,
  uncounted: readonly string[] = [],
): Scanned | MailRefusal {
  if (raw.length > limits.maxBytes) return bodyRefusal('mail_too_large', `at most ${limits.maxBytes} bytes are taken`)
  const scan: Scan = { raw, limits, leaves: [], open: [], parts: 0, boundaryLines: 0 }
  const roots: MailPart[] = []
  const head = readRootHead(raw, bodyStart, uncounted)
  const refusal = countAndOpenPart(scan, head, bodyStart, roots) ?? readPartsBetweenBoundaries(scan, bodyStart, roots)
  if (refusal !== undefined) return refusal
  const [root] = roots
  return root === undefined
    ? bodyRefusal('unreadable_body', 'send it as plain text')
    : { kind: 'scanned', root, leaves: scan.leaves }
}

/** From boundary to boundary, until the last multipart is closed or the bytes end. */
function readPartsBetweenBoundaries(scan: Scan, from: number, roots: MailPart[]): MailRefusal | undefined {
  let partStart = from
  // The part whose body is being passed over; undefined in what stands before the first and after the last part.
  let pending: PartHead | undefined
  for (let at = from; scan.open.length > 0; ) {
    const line = findNextBoundaryLine(scan.raw, at, createBoundarySet(scan.open.map(({ boundary }) => boundary)))
    if (pending !== undefined)
      addLeaf(scan, pending, { start: partStart, end: findPartBodyEnd(scan.raw, partStart, line) })
    pending = undefined
    closeMultipartsUpTo(scan, line, roots)
    if (line === undefined || scan.open.length === 0) return undefined
    scan.boundaryLines += 1
    if (scan.boundaryLines > scan.limits.maxBoundaryLines) return tooManyPartsRefusal()
    at = line.next
    if (line.isLast) continue
    const found = beginPartAfterBoundary(scan, line.next)
    if ('kind' in found) return found
    partStart = found.bodyStart
    at = found.bodyStart
    if (!isMultipart(found.head)) pending = found.head
  }
  return undefined
}

/** A part after its boundary line: its head is read, and a multipart is opened. */
function beginPartAfterBoundary(
  scan: Scan,
  start: number,
): { readonly head: PartHead; readonly bodyStart: number } | MailRefusal {
  const { raw, limits } = scan
  const { headEnd, bodyStart, isOver } = findHeadEnd(raw, start, start + limits.maxPartHeadBytes)
  // A boundary where the head should go on ends the part before it has begun.
  const cut = findNextBoundaryLine(
    raw.subarray(0, headEnd),
    start,
    createBoundarySet(scan.open.map(({ boundary }) => boundary)),
  )
  if (cut === undefined && isOver) return bodyRefusal('part_head_too_large', 'send it with shorter headers')
  const end = cut?.start ?? headEnd
  const parent = scan.open.at(-1)
  const isDigest = parent?.head.type.value === 'multipart/digest'
  const head = readPartHead(raw.subarray(start, end), isDigest ? 'message/rfc822' : 'text/plain')
  const body = cut?.start ?? bodyStart
  return countAndOpenPart(scan, head, body, parent?.children ?? []) ?? { head, bodyStart: body }
}

/** Counts the part; a multipart is opened, the only leaf of a mail without parts is added at once. */
function countAndOpenPart(scan: Scan, head: PartHead, start: number, siblings: MailPart[]): MailRefusal | undefined {
  const { raw, limits, open } = scan
  scan.parts += 1
  if (scan.parts > limits.maxParts) return tooManyPartsRefusal()
  if (!isMultipart(head)) {
    if (open.length === 0) siblings.push(createLeaf(scan, head, { start, end: raw.length }))
    return undefined
  }
  if (open.length >= limits.maxDepth) return bodyRefusal('too_deep', 'send it with fewer parts inside each other')
  open.push({ boundary: partBoundary(raw, head, start), head, start, children: [] })
  return undefined
}

/** Ends every multipart inside the one the line belongs to, and that one too where the line says so. */
function closeMultipartsUpTo(scan: Scan, line: BoundaryLine | undefined, roots: MailPart[]): void {
  const { open } = scan
  const level = line === undefined ? -1 : open.findLastIndex(({ boundary }) => boundary === line.boundary)
  const keep = line === undefined ? 0 : line.isLast ? level : level + 1
  while (open.length > keep) {
    const done = open.pop()
    if (done === undefined) return
    const siblings = open.at(-1)?.children ?? roots
    siblings.push(closeMultipart(scan, done, line))
  }
}

/** A multipart in which no part was found says what stands in it. */
function closeMultipart(scan: Scan, { head, start, children }: Open, line: BoundaryLine | undefined): MailPart {
  if (children.length > 0) return { kind: 'multipart', subtype: head.type.value.slice(10), head, children }
  const end = findPartBodyEnd(scan.raw, start, line)
  const plain: PartHead = { ...head, type: { value: 'text/plain', params: head.type.params } }
  return createLeaf(scan, plain, { start: Math.min(start, end), end })
}

type BodyRange = { readonly start: number; readonly end: number }

function addLeaf(scan: Scan, head: PartHead, range: BodyRange): void {
  scan.open.at(-1)?.children.push(createLeaf(scan, head, range))
}

function createLeaf(scan: Scan, head: PartHead, range: BodyRange): Leaf {
  const leaf: Leaf = { kind: 'leaf', index: scan.leaves.length, head, ...range }
  scan.leaves.push(leaf)
  return leaf
}

/** The line end before a boundary belongs to the boundary. */
function findPartBodyEnd(raw: Uint8Array, start: number, line: BoundaryLine | undefined): number {
  if (line === undefined) return raw.length
  const end = raw[line.start - 1] === 10 ? line.start - 1 : line.start
  return Math.max(start, raw[end - 1] === 13 ? end - 1 : end)
}

function isMultipart(head: PartHead): boolean {
  return head.type.value.startsWith('multipart/')
}

/** Where none is named, the first line that looks like one. */
function partBoundary(raw: Uint8Array, head: PartHead, start: number): string {
  const named = head.type.params.get('boundary')?.trimEnd()
  if (named !== undefined && named !== '' && named.length <= 200) return named
  const beginning = new TextDecoder().decode(raw.subarray(start, start + 1024))
  return /(?:^|\n)--([^\r\n]{1,70})/.exec(beginning)?.[1]?.trimEnd() ?? ' '
}

function tooManyPartsRefusal(): MailRefusal {
  return bodyRefusal('too_many_parts', 'send it with fewer parts')
}

function bodyRefusal(reason: string, remedy: string): MailRefusal {
  return { kind: 'refused', reason, remedy }
}

// Boundary lines: every byte is looked at a bounded number of times, however many boundaries are open and however alike they are.

type BoundaryLine = {
  readonly boundary: string
  /** Where the line begins, and where the line after it does. */
  readonly start: number
  readonly next: number
  /** It ends the multipart itself. */
  readonly isLast: boolean
}

const [lf, cr, dash, space, tab] = [10, 13, 45, 32, 9]
const longest = 202

/** The next line from `from`, which is the beginning of a line, that is one of these boundaries. */
function findNextBoundaryLine(raw: Uint8Array, from: number, open: BoundarySet): BoundaryLine | undefined {
  for (let line = from; line !== -1 && line < raw.length; line = findDashLine(raw, line)) {
    if (raw[line] !== dash || raw[line + 1] !== dash) continue
    const found = readBoundaryAt(raw, line, open)
    if (found !== undefined) return found
  }
  return undefined
}

/** Boundaries by a number made of their bytes, so that a line costs the same for one of them and for twenty. */
export type BoundarySet = { readonly byHash: ReadonlyMap<number, readonly string[]> }

function createBoundarySet(boundaries: readonly string[]): BoundarySet {
  return {
    byHash: Map.groupBy(boundaries, (boundary) => {
      const bytes = new TextEncoder().encode(boundary)
      return hashRange(bytes, { from: 0, end: bytes.length })
    }),
  }
}

/** The beginning of the next line that begins with two dashes. */
function findDashLine(raw: Uint8Array, from: number): number {
  for (let at = from; at < raw.length; at += 1)
    if (raw[at] === lf && raw[at + 1] === dash && raw[at + 2] === dash) return at + 1
  return -1
}

function readBoundaryAt(raw: Uint8Array, line: number, { byHash }: BoundarySet): BoundaryLine | undefined {
  let end = line + 2
  const limit = Math.min(raw.length, end + longest)
  while (end < limit && raw[end] !== lf) end += 1
  if (end === limit && limit < raw.length) return undefined
  const next = Math.min(end + 1, raw.length)
  while (end > line + 2 && isBlankByte(raw[end - 1])) end -= 1
  const from = line + 2
  const whole = matchBoundaryInRange(raw, { from, end }, byHash)
  if (whole !== undefined) return { boundary: whole, start: line, next, isLast: false }
  if (end - from < 3 || raw[end - 1] !== dash || raw[end - 2] !== dash) return undefined
  const closing = matchBoundaryInRange(raw, { from, end: end - 2 }, byHash)
  return closing === undefined ? undefined : { boundary: closing, start: line, next, isLast: true }
}

type ByteRange = { readonly from: number; readonly end: number }

function matchBoundaryInRange(raw: Uint8Array, range: ByteRange, byHash: BoundarySet['byHash']): string | undefined {
  const alike = byHash.get(hashRange(raw, range))
  if (alike === undefined) return undefined
  const text = new TextDecoder().decode(raw.subarray(range.from, range.end))
  return alike.find((boundary) => boundary === text)
}

function hashRange(raw: Uint8Array, { from, end }: ByteRange): number {
  let hash = end - from
  for (let at = from; at < end; at += 1) hash = (Math.imul(hash, 31) + (raw[at] ?? 0)) | 0
  return hash
}

function isBlankByte(byte: number | undefined): boolean {
  return byte === cr || byte === space || byte === tab
}

// What is over a limit is refused or left out by name, never read to its end.

export type BodyLimits = {
  /** Of the raw mail. */
  readonly maxBytes: number
  /** Leaves and multiparts together. */
  readonly maxParts: number
  readonly maxDepth: number
  readonly maxBoundaryLines: number
  /** Of the head of one part. */
  readonly maxPartHeadBytes: number
  readonly maxFiles: number
  /** UTF-16 units of the text that is handed on. */
  readonly maxTextLength: number
  /** Bytes of one part, as they are sent, that are read as text. */
  readonly maxTextBytes: number
}

export const bodyLimits: BodyLimits = {
  maxBytes: 25 * 1024 * 1024,
  maxParts: 100,
  maxDepth: 20,
  maxBoundaryLines: 500,
  maxPartHeadBytes: 64 * 1024,
  maxFiles: 20,
  maxTextLength: 200 * 1024,
  maxTextBytes: 2 * 1024 * 1024,
}

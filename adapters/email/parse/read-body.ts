// What a mail says: the words its author wrote now, its files by their place, and the report it is, where it is one.
import type { BodyFlag, MailBody, MailFile, MailHead, MailRefusal } from '../wire/judged.ts'
import { chooseWords, spokenLeaves } from './choose-words.ts'
import { type DecodePart, decodePart } from './decode-part.ts'
import { decodedSize } from './decoded-size.ts'
import { partFileName } from './file-name.ts'
import { type BodyLimits, bodyLimits } from './limits.ts'
import { readReport } from './read-report.ts'
import { readPartText } from './read-text.ts'
import { readWords } from './read-words.ts'
import { type Leaf, type MailPart, type Scanned, scanParts } from './scan-parts.ts'

export async function parseMailBody(
  raw: Uint8Array,
  head: Pick<MailHead, 'bodyStart'>,
  uncounted: readonly string[] = [],
  limits: BodyLimits = bodyLimits,
  decode: DecodePart = decodePart,
): Promise<MailBody | MailRefusal> {
  const scanned = scanParts(raw, head.bodyStart, limits, uncounted)
  if (scanned.kind !== 'scanned') return scanned
  const readLeafText = (leaf: Leaf) => readPartText(raw, leaf, { maxBytes: limits.maxTextBytes, decode })
  const words = chooseWords(scanned.root)
  const spoken = await readWords(words, readLeafText)
  const [text, whole] = [shortenText(spoken.text, limits), shortenText(spoken.whole, limits)]
  const isCut = text.length < spoken.text.length || spoken.cut.length > 0
  const unspoken = unspokenLeaves(scanned, spokenLeaves(words))
  // What was too long to be handed on as text can still be opened as a file.
  const leaves = isCut ? [...firstWords(spoken.cut, words), ...unspoken] : unspoken
  const related = relatedLeaves(scanned.root)
  const files = await Promise.all(leaves.slice(0, limits.maxFiles).map((leaf) => describeMailFile(raw, leaf, related)))
  const report = await readReport(scanned.root, readLeafText)
  const flags: BodyFlag[] = [
    ...spoken.flags,
    ...(isCut ? ['text_cut' as const] : []),
    ...(leaves.length > limits.maxFiles ? ['files_left_out' as const] : []),
    ...(isSignedOrEncrypted(scanned.root) ? ['signed_or_encrypted' as const] : []),
  ]
  return {
    text,
    mime: 'text/plain',
    ...(whole === text ? {} : { whole }),
    files,
    flags,
    ...(uncounted.length === 0 ? {} : { uncounted }),
    ...(report === undefined ? {} : { report }),
  }
}

/** A mail's versions for special readers are neither its words nor its files. */
function unspokenLeaves({ leaves }: Scanned, spoken: ReadonlySet<number>): readonly Leaf[] {
  return leaves.filter(({ index, head, start, end }) => {
    const isEmpty = start === end && head.type.value.startsWith('text/')
    return !spoken.has(index) && !isEmpty && head.type.value !== 'text/x-amp-html'
  })
}

function firstWords(cut: readonly Leaf[], words: ReturnType<typeof chooseWords>): readonly Leaf[] {
  if (cut.length > 0) return cut
  const [first] = words
  if (first === undefined) return []
  return first.kind === 'either' ? firstWords([], first.plain) : [first.leaf]
}

/** Pictures of a page: whatever they say of themselves, they belong into it. */
function relatedLeaves(part: MailPart, isRelated = false): ReadonlySet<number> {
  if (part.kind === 'leaf') return new Set(isRelated && part.head.contentId !== undefined ? [part.index] : [])
  return new Set(part.children.flatMap((child) => [...relatedLeaves(child, isRelated || part.subtype === 'related')]))
}

async function describeMailFile(raw: Uint8Array, leaf: Leaf, related: ReadonlySet<number>): Promise<MailFile> {
  const { disposition, type, contentId } = leaf.head
  const isInline = disposition.value === 'inline' || related.has(leaf.index)
  return {
    index: leaf.index,
    ...(await partFileName(leaf.head)),
    mime: type.value,
    size: decodedSize(raw, leaf),
    disposition: isInline ? 'inline' : 'attachment',
    ...(contentId === undefined ? {} : { contentId }),
  }
}

/** Cut at a line where one ends nearby, and never inside of a character. */
function shortenText(text: string, { maxTextLength }: BodyLimits): string {
  if (text.length <= maxTextLength) return text
  const line = text.lastIndexOf('\n', maxTextLength)
  const cut = text.slice(0, line > maxTextLength - 2_000 ? line : maxTextLength)
  return cut.isWellFormed() ? cut : cut.slice(0, -1)
}

const sealed = new Set([
  'multipart/signed',
  'multipart/encrypted',
  'application/pkcs7-mime',
  'application/x-pkcs7-mime',
])

function isSignedOrEncrypted(part: MailPart): boolean {
  return sealed.has(part.head.type.value) || (part.kind === 'multipart' && part.children.some(isSignedOrEncrypted))
}

// Parses the body of a mail: the words its author wrote now, its files by their place, and the report it is, where it is one.
import type { BodyFlag, MailBody, MailFile, MailHead, MailRefusal, MailReport } from '../wire/mail.ts'
import { chooseBodyTextParts, listBodyTextLeafIndexes, type PartText, readBodyText, readPartText } from './body-text.ts'
import { decodedSize, partFileName } from './files.ts'
import { type BodyLimits, bodyLimits, type Leaf, type MailPart, type Scanned, scanParts } from './parts.ts'

export async function parseMailBody(
  raw: Uint8Array,
  head: Pick<MailHead, 'bodyStart'>,
  uncounted: readonly string[] = [],
  limits: BodyLimits = bodyLimits,
): Promise<MailBody | MailRefusal> {
  const scanned = scanParts(raw, head.bodyStart, limits, uncounted)
  if (scanned.kind !== 'scanned') return scanned
  const readLeafText = (leaf: Leaf) => readPartText(raw, leaf, limits.maxTextBytes)
  const words = chooseBodyTextParts(scanned.root)
  const spoken = await readBodyText(words, readLeafText)
  const [text, whole] = [shortenText(spoken.text, limits), shortenText(spoken.whole, limits)]
  const isCut = text.length < spoken.text.length || spoken.cut.length > 0
  const unspoken = listFileLeaves(scanned, listBodyTextLeafIndexes(words))
  // What was too long to be handed on as text can still be opened as a file.
  const leaves = isCut ? [...chooseTruncatedTextLeaves(spoken.cut, words), ...unspoken] : unspoken
  const related = listRelatedLeafIndexes(scanned.root)
  const files = await Promise.all(leaves.slice(0, limits.maxFiles).map((leaf) => describeMailFile(raw, leaf, related)))
  const report = await readMultipartReport(scanned.root, readLeafText)
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
function listFileLeaves({ leaves }: Scanned, spoken: ReadonlySet<number>): readonly Leaf[] {
  return leaves.filter(({ index, head, start, end }) => {
    const isEmpty = start === end && head.type.value.startsWith('text/')
    return !spoken.has(index) && !isEmpty && head.type.value !== 'text/x-amp-html'
  })
}

function chooseTruncatedTextLeaves(
  cut: readonly Leaf[],
  words: ReturnType<typeof chooseBodyTextParts>,
): readonly Leaf[] {
  if (cut.length > 0) return cut
  const [first] = words
  if (first === undefined) return []
  return first.kind === 'either' ? chooseTruncatedTextLeaves([], first.plain) : [first.leaf]
}

/** Pictures of a page: whatever they say of themselves, they belong into it. */
function listRelatedLeafIndexes(part: MailPart, isRelated = false): ReadonlySet<number> {
  if (part.kind === 'leaf') return new Set(isRelated && part.head.contentId !== undefined ? [part.index] : [])
  return new Set(
    part.children.flatMap((child) => [...listRelatedLeafIndexes(child, isRelated || part.subtype === 'related')]),
  )
}

async function describeMailFile(raw: Uint8Array, leaf: Leaf, related: ReadonlySet<number>): Promise<MailFile> {
  const { disposition, type, contentId } = leaf.head
  const isInline = disposition.value === 'inline' || related.has(leaf.index)
  return {
    index: leaf.index,
    ...partFileName(leaf.head),
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

// Reports about a mail of ours: what became of it (RFC 3464), that its recipient complained (RFC 5965), that it was shown (RFC 8098).

type ReportedRecipient = MailReport['recipients'][number]
type Fields = ReadonlyMap<string, string>

const kinds: Readonly<Record<string, MailReport['kind']>> = {
  'message/delivery-status': 'delivery',
  'message/global-delivery-status': 'delivery',
  'message/feedback-report': 'complaint',
  'message/disposition-notification': 'receipt',
  'message/global-disposition-notification': 'receipt',
}
const enclosed = new Set(['message/rfc822', 'message/global', 'text/rfc822-headers', 'message/global-headers'])
const actions = new Set(['failed', 'delayed', 'delivered', 'relayed', 'expanded'])
const maxRecipients = 50
const maxFieldLength = 1_000
const maxReportLength = 128 * 1024

/** Only a mail that is a report as a whole is one: a bounce that a person forwards is what they say. */
async function readMultipartReport(
  root: MailPart,
  read: (leaf: Leaf) => Promise<PartText>,
): Promise<MailReport | undefined> {
  if (root.kind !== 'multipart' || root.subtype !== 'report') return undefined
  const leaves = root.children.filter((child) => child.kind === 'leaf')
  const status = leaves.find(({ head }) => kinds[head.type.value] !== undefined)
  const kind = kinds[status?.head.type.value ?? '']
  if (status === undefined || kind === undefined) return undefined
  const groups = parseFieldGroups((await read(status)).text)
  const original = leaves.find(({ head }) => enclosed.has(head.type.value))
  const head = original === undefined ? undefined : parseFieldGroups((await read(original)).text)[0]
  const all: Fields = new Map(groups.flatMap((group) => [...group]))
  return {
    kind,
    recipients: reportedRecipients(kind, groups, all),
    about: reportedMessageId(head?.get('message-id')) ?? reportedMessageId(all.get('original-message-id')),
  }
}

function reportedRecipients(
  kind: MailReport['kind'],
  groups: readonly Fields[],
  all: Fields,
): readonly ReportedRecipient[] {
  if (kind === 'delivery')
    return groups
      .filter((group) => group.has('final-recipient') || group.has('original-recipient'))
      .slice(0, maxRecipients)
      .map(reportedRecipient)
  const address = reportedAddress(
    all.get('original-rcpt-to') ?? all.get('final-recipient') ?? all.get('original-recipient'),
  )
  return address === undefined ? [] : [{ address, action: undefined, status: undefined, diagnostic: undefined }]
}

function reportedRecipient(fields: Fields): ReportedRecipient {
  const action =
    fields
      .get('action')
      ?.toLowerCase()
      .split(/[\s;(]/, 1)[0] ?? ''
  return {
    // What we wrote to is the original one; the final one may be where it was forwarded to.
    address: reportedAddress(fields.get('original-recipient')) ?? reportedAddress(fields.get('final-recipient')) ?? '',
    action: actions.has(action) ? (action as ReportedRecipient['action']) : undefined,
    status: /\b[245]\.\d{1,3}\.\d{1,3}\b/.exec(fields.get('status') ?? '')?.[0],
    diagnostic: fields
      .get('diagnostic-code')
      ?.replace(/^[\w-]{1,20}\s*;\s*/, '')
      .slice(0, 500),
  }
}

/** Groups of header fields with empty lines between them, the first of a name counting. */
function parseFieldGroups(text: string): readonly Fields[] {
  const groups: Map<string, string>[] = [new Map()]
  let name = ''
  for (const line of text.slice(0, maxReportLength).split('\n')) {
    const group = groups.at(-1)
    if (group === undefined) break
    if (line.trim() === '') {
      if (group.size > 0) groups.push(new Map())
      name = ''
    } else if (/^[ \t]/.test(line)) {
      const value = group.get(name)
      if (value !== undefined && value.length < maxFieldLength) group.set(name, `${value} ${line.trim()}`)
    } else {
      const colon = line.indexOf(':')
      name = colon === -1 ? '' : line.slice(0, colon).trim().toLowerCase()
      if (name !== '' && !group.has(name)) group.set(name, line.slice(colon + 1, colon + maxFieldLength).trim())
      else name = ''
    }
  }
  return groups.filter((group) => group.size > 0)
}

/** `rfc822; <a@b.example>` */
function reportedAddress(value: string | undefined): string | undefined {
  const address = value
    ?.slice(value.indexOf(';') + 1)
    .trim()
    .replace(/^</, '')
    .replace(/>$/, '')
  return address !== undefined && /^[^\s<>]{1,250}@[^\s<>@]{1,250}$/.test(address) ? address : undefined
}

function reportedMessageId(value: string | undefined): string | undefined {
  return /<([^<>\s]{1,995}@[^<>\s@]{1,255})>/.exec((value ?? '').slice(0, maxFieldLength))?.[1]
}

// Files of a mail: their names, their sizes, and their bytes, taken out of the mail as it was stored.
import type { Adapter, ChannelDeps } from '../../../src/contract/index.ts'
import { cleanFileName, readStream } from '../../../src/lib/index.ts'
import { decodeHeaderText } from '../headers/scan-head.ts'
import { type Encoding, findHeadEnd, type PartHead } from './part-head.ts'
import { bodyLimits, type Leaf, scanParts } from './parts.ts'
import { decodePart, decodeQuotedPrintable, isBase64Letter } from './transfer-encoding.ts'

export function createMailFileOpener(
  originals: ChannelDeps['rawBlobs'],
  find: FindPart | undefined = undefined,
): NonNullable<Adapter['openFile']> {
  return async ({ original, index, uncounted }) => {
    if (typeof original !== 'string' || typeof index !== 'number') return { kind: 'refused', reason: 'gone' }
    try {
      const mail = await originals?.open(original)
      const part = mail === undefined ? undefined : await openMimePart(mail, index, keepArrayStrings(uncounted), find)
      return part === undefined ? { kind: 'refused', reason: 'gone' } : { kind: 'opened', ...part }
    } catch {
      return { kind: 'retry', reason: 'original_not_readable' }
    }
  }
}

function keepArrayStrings(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === 'string') : []
}

// A file is found by its place among the parts.

export type OpenedPart = {
  readonly body: ReadableStream<Uint8Array>
  readonly mime: string
  readonly name: string
  /** Where it can be told without decoding. */
  readonly size?: number
}

/** Where a part stands in its mail, and what its head says of it. */
export type FoundPart = {
  readonly start: number
  readonly end: number
  readonly encoding: Encoding
  readonly mime: string
  readonly name: string
  readonly size?: number
}

/** `uncounted`: fields of the mail's head that it was read without. */
export type FindPart = (
  bytes: Uint8Array,
  index: number,
  uncounted: readonly string[],
) => Promise<FoundPart | undefined>

/** Undefined: there is no such part, or these bytes are no mail that was ever taken. */
export async function openMimePart(
  raw: ReadableStream<Uint8Array> | Uint8Array,
  index: number,
  uncounted: readonly string[] = [],
  find: FindPart = findMimePart,
): Promise<OpenedPart | undefined> {
  const bytes = raw instanceof Uint8Array ? raw : await readStream(raw, bodyLimits.maxBytes)
  const found = bytes === undefined ? undefined : await find(bytes, index, uncounted)
  if (bytes === undefined || found === undefined) return undefined
  const { start, end, encoding, ...told } = found
  return { body: decodePart(bytes.subarray(start, end), encoding), ...told }
}

/** Passes over the whole mail. */
export const findMimePart: FindPart = async (bytes, index, uncounted) => {
  const scanned = scanParts(bytes, findHeadEnd(bytes, 0, bytes.length).bodyStart, bodyLimits, uncounted)
  const leaf = scanned.kind === 'scanned' ? scanned.leaves[index] : undefined
  if (leaf === undefined) return undefined
  const { start, end, head } = leaf
  const { name } = partFileName(head)
  const size = head.encoding === 'quoted-printable' ? {} : { size: decodedSize(bytes, leaf) }
  return { start, end, encoding: head.encoding, mime: head.type.value, name, ...size }
}

// The size of a part without its transfer encoding is counted where it stands: nothing is decoded for it.

const equals = 61

export function decodedSize(raw: Uint8Array, { head, start, end }: Leaf): number {
  if (head.encoding === 'identity') return end - start
  return head.encoding === 'base64' ? base64DecodedSize(raw, start, end) : quotedPrintableSize(raw.subarray(start, end))
}

/** Four signs are three bytes; a group that was cut off, or filled up, gives what it can. */
function base64DecodedSize(raw: Uint8Array, start: number, end: number): number {
  let [signs, size] = [0, 0]
  for (let at = start; at < end; at += 1) {
    const byte = raw[at] ?? 0
    if (byte === equals) {
      size += Math.floor((signs * 3) / 4)
      signs = 0
    } else if (isBase64Letter(byte)) signs += 1
  }
  return size + Math.floor((signs * 3) / 4)
}

function quotedPrintableSize(body: Uint8Array): number {
  const scratch = new Uint8Array(Math.min(body.length, 64 * 1024))
  let size = 0
  for (let at = 0; at < body.length; ) {
    const { next, written } = decodeQuotedPrintable(body, at, scratch)
    size += written
    at = next
  }
  return size
}

// The name is what its sender called it, made safe to show and to store under.

export type FileName = {
  readonly name: string
  /** As it was declared, where that differs. */
  readonly declaredName?: string
}

const maxDeclared = 500
const usualFileNames: Readonly<Record<string, string>> = {
  'text/calendar': 'invitation.ics',
  'text/vcard': 'contact.vcf',
  'text/x-vcard': 'contact.vcf',
  'message/rfc822': 'message.eml',
  'message/global': 'message.eml',
  'text/plain': 'text.txt',
  'text/html': 'page.html',
  'application/pgp-signature': 'signature.asc',
  'application/pgp-encrypted': 'version.asc',
  'application/pkcs7-signature': 'smime.p7s',
  'application/pkcs7-mime': 'smime.p7m',
  'image/jpeg': 'image.jpg',
  'application/ms-tnef': 'winmail.dat',
  'text/rfc822-headers': 'headers.txt',
  'image/svg+xml': 'image.svg',
  'message/delivery-status': 'delivery-status.txt',
  'message/feedback-report': 'feedback-report.txt',
  'message/disposition-notification': 'receipt.txt',
  'application/pdf': 'document.pdf',
}

export function partFileName({ disposition, type }: PartHead): FileName {
  const given = disposition.params.get('filename') ?? type.params.get('name')
  const declared = given === undefined ? undefined : decodeNameWords(given).slice(0, maxDeclared).toWellFormed()
  const name = cleanFileName(declared) ?? usualFileNames[type.value] ?? genericFileName(type.value)
  return declared === undefined || declared === name ? { name } : { name, declaredName: declared }
}

function genericFileName(mime: string): string {
  const [kind, ending = ''] = mime.split('/')
  return /^(?:image|audio|video)$/.test(kind ?? '') && /^[a-z0-9]{1,5}$/.test(ending) ? `${kind}.${ending}` : 'file.bin'
}

/** Encoded words have no business in a parameter, and most mailers put them there. */
function decodeNameWords(text: string): string {
  return text.includes('=?') ? decodeHeaderText(text.slice(0, 4 * maxDeclared)) : text
}

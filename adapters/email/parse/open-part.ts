// A file taken out of its mail again, by its place among the parts.
import { readStream } from '../../../src/lib/index.ts'
import { decodePart } from './decode-part.ts'
import { decodedSize } from './decoded-size.ts'
import { partFileName } from './file-name.ts'
import { bodyLimits } from './limits.ts'
import { type Encoding, findHeadEnd } from './part-head.ts'
import { scanParts } from './scan-parts.ts'

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
export async function openPart(
  raw: ReadableStream<Uint8Array> | Uint8Array,
  index: number,
  uncounted: readonly string[] = [],
  find: FindPart = findPart,
): Promise<OpenedPart | undefined> {
  const bytes = raw instanceof Uint8Array ? raw : await readStream(raw, bodyLimits.maxBytes)
  const found = bytes === undefined ? undefined : await find(bytes, index, uncounted)
  if (bytes === undefined || found === undefined) return undefined
  const { start, end, encoding, ...told } = found
  return { body: await decodePart(bytes.subarray(start, end), encoding), ...told }
}

/** Passes over the whole mail. */
export const findPart: FindPart = async (bytes, index, uncounted) => {
  const scanned = scanParts(bytes, findHeadEnd(bytes, 0, bytes.length).bodyStart, bodyLimits, uncounted)
  const leaf = scanned.kind === 'scanned' ? scanned.leaves[index] : undefined
  if (leaf === undefined) return undefined
  const { start, end, head } = leaf
  const { name } = await partFileName(head)
  const size = head.encoding === 'quoted-printable' ? {} : { size: decodedSize(bytes, leaf) }
  return { start, end, encoding: head.encoding, mime: head.type.value, name, ...size }
}

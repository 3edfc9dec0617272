// A file taken out of its mail again, by its place among the parts.
import { readStream } from '../../../src/verification/index.ts'
import { decodePart } from './decode-part.ts'
import { decodedSize } from './decoded-size.ts'
import { fileNameOf } from './file-name.ts'
import { bodyLimits } from './limits.ts'
import { findHeadEnd } from './part-head.ts'
import { scanParts } from './scan-parts.ts'

export type OpenedPart = {
  readonly body: ReadableStream<Uint8Array>
  readonly mime: string
  readonly name: string
  /** Where it can be told without decoding. */
  readonly size?: number
}

/** Undefined: there is no such part, or these bytes are no mail that was ever taken. */
export async function openPart(
  raw: ReadableStream<Uint8Array> | Uint8Array,
  index: number,
): Promise<OpenedPart | undefined> {
  const bytes = raw instanceof Uint8Array ? raw : await readStream(raw, bodyLimits.maxBytes)
  if (bytes === undefined) return undefined
  const scanned = scanParts(bytes, findHeadEnd(bytes, 0, bytes.length).bodyStart, bodyLimits)
  const leaf = scanned.kind === 'scanned' ? scanned.leaves[index] : undefined
  if (leaf === undefined) return undefined
  const body = await decodePart(bytes.subarray(leaf.start, leaf.end), leaf.head.encoding)
  const { name } = await fileNameOf(leaf.head)
  const size = leaf.head.encoding === 'quoted-printable' ? {} : { size: decodedSize(bytes, leaf) }
  return { body, mime: leaf.head.type.value, name, ...size }
}

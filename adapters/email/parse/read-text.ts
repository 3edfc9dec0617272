// The text of one part: decoded, in one form, without what no reader sees in it.
import { decodeCharset } from './charset.ts'
import type { DecodePart } from './decode-part.ts'
import { unflowText } from './flowed-text.ts'
import type { Encoding } from './part-head.ts'
import { decodeQuoted } from './quoted-printable.ts'
import type { Leaf } from './scan-parts.ts'

export type PartText = {
  readonly text: string
  /** More of it was sent than was read. */
  readonly isCut: boolean
}

export async function readPartText(
  raw: Uint8Array,
  { head, start, end }: Leaf,
  { maxBytes, decode }: { readonly maxBytes: number; readonly decode: DecodePart },
): Promise<PartText> {
  const read = Math.min(end, start + maxBytes)
  const bytes = await decodeAtOnce(raw.subarray(start, read), head.encoding, decode)
  const { params, value } = head.type
  const text = decodeCharset(bytes, params.get('charset'), read < end).replace(/\r\n?/g, '\n')
  const isFlowed = value === 'text/plain' && params.get('format')?.toLowerCase() === 'flowed'
  return {
    text: isFlowed ? unflowText(text, params.get('delsp')?.toLowerCase() === 'yes') : text,
    isCut: read < end,
  }
}

/** Words are short: to hand them through a stream costs more than to decode them. */
async function decodeAtOnce(body: Uint8Array, encoding: Encoding, decode: DecodePart): Promise<Uint8Array> {
  if (encoding === 'identity') return body
  if (encoding !== 'quoted-printable') return collectStream(await decode(body, encoding))
  const out = new Uint8Array(body.length)
  return out.subarray(0, decodeQuoted(body, 0, out).written)
}

async function collectStream(stream: ReadableStream<Uint8Array>): Promise<Uint8Array> {
  return new Uint8Array(await new Response(stream as BodyInit).arrayBuffer())
}

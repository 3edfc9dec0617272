// How many bytes a part has without its transfer encoding, counted where it stands: nothing is decoded for it.
import { isBase64Sign } from './base64-signs.ts'
import { decodeQuoted } from './quoted-printable.ts'
import type { Leaf } from './scan-parts.ts'

const equals = 61

export function decodedSize(raw: Uint8Array, { head, start, end }: Leaf): number {
  if (head.encoding === 'identity') return end - start
  return head.encoding === 'base64' ? base64Size(raw, start, end) : quotedSize(raw.subarray(start, end))
}

/** Four signs are three bytes; a group that was cut off, or filled up, gives what it can. */
function base64Size(raw: Uint8Array, start: number, end: number): number {
  let [signs, size] = [0, 0]
  for (let at = start; at < end; at += 1) {
    const byte = raw[at] ?? 0
    if (byte === equals) {
      size += Math.floor((signs * 3) / 4)
      signs = 0
    } else if (isBase64Sign(byte)) signs += 1
  }
  return size + Math.floor((signs * 3) / 4)
}

function quotedSize(body: Uint8Array): number {
  const scratch = new Uint8Array(Math.min(body.length, 64 * 1024))
  let size = 0
  for (let at = 0; at < body.length; ) {
    const { next, written } = decodeQuoted(body, at, scratch)
    size += written
    at = next
  }
  return size
}

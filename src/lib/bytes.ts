// Bytes as text and text as bytes: hex, base64, Latin-1, and texts cut to a number of bytes.

const hexPairs = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'))
// A multiple of three, so that each slice is whole by itself, and few enough for the arguments of one call.
const base64Slice = 24_576
const encoder = new TextEncoder()

export function toHex(bytes: Uint8Array): string {
  let hex = ''
  for (const byte of bytes) hex += hexPairs[byte]
  return hex
}

/** Undefined where the text is no hex. */
export function fromHex(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (text.length % 2 !== 0 || !/^[0-9a-f]*$/i.test(text)) return undefined
  return Uint8Array.from(text.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16))
}

/** So many random bytes, in hex. */
export function randomHex(byteCount: number): string {
  return toHex(crypto.getRandomValues(new Uint8Array(byteCount)))
}

export function encodeBase64(bytes: ArrayBuffer | Uint8Array): string {
  const all = bytes instanceof Uint8Array ? bytes : new Uint8Array(bytes)
  let text = ''
  for (let at = 0; at < all.length; at += base64Slice)
    text += btoa(String.fromCharCode(...all.subarray(at, at + base64Slice)))
  return text
}

/** Throws where the text is no base64. */
export function decodeBase64(text: string): Uint8Array<ArrayBuffer> {
  const units = atob(text)
  const bytes = new Uint8Array(units.length)
  for (let at = 0; at < units.length; at += 1) bytes[at] = units.charCodeAt(at)
  return bytes
}

export function decodeLatin1(bytes: Uint8Array): string {
  return new TextDecoder('latin1').decode(bytes)
}

/** The first bytes of a text in UTF-8, never half a character. */
export function truncateToBytes(text: string, maxBytes: number): string {
  const { read } = encoder.encodeInto(text, new Uint8Array(Math.max(0, Math.min(maxBytes, text.length * 3))))
  return text.slice(0, read)
}

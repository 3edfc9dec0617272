// Decodes encoded words (RFC 2047). What cannot be decoded stays as it is written.
import { decodeCharset, decodeUtf7, utf7Names } from '../mime/charset.ts'

const encoded = /=\?([^?\s]{1,60})\?([bq])\?([^? \t\r\n]*)\?=/gi

/** Callers bound what they hand in. */
export function decodeWords(text: string): string {
  return decodeEncodedWords(
    text,
    (plain) => plain,
    (letter) => new TextEncoder().encode(letter),
  )
}

/** The same of bytes that are no UTF-8; `charset`: of what is not encoded, where it is known. */
export function decodeRawWords(bytes: Uint8Array, charset: string | undefined): string {
  const text = Array.from(bytes, (byte) => String.fromCharCode(byte)).join('')
  const latin1Bytes = (each: string): Uint8Array => Uint8Array.from(each, (letter) => letter.charCodeAt(0))
  return decodeEncodedWords(text, (plain) => decodeCharset(latin1Bytes(plain), charset), latin1Bytes)
}

function decodeEncodedWords(
  text: string,
  plain: (text: string) => string,
  bytesIn: (letter: string) => Iterable<number>,
): string {
  if (!text.includes('=?')) return plain(text)
  let [out, end] = ['', 0]
  let open: { readonly charset: string; bytes: number[]; written: string } | undefined
  const flushWord = (): void => {
    if (open !== undefined) out += decodeBytes(open.bytes, open.charset) ?? plain(open.written)
    open = undefined
  }
  for (const match of text.matchAll(encoded)) {
    const [written, label = '', kind = '', data = ''] = match
    const between = text.slice(end, match.index)
    const charset = (label.split('*')[0] ?? '').toLowerCase()
    const bytes = kind.toLowerCase() === 'b' ? fromBase64(data) : fromQuoted(data, bytesIn)
    // A character may be cut in two between neighbours, so their bytes are decoded together. The blanks between them are none.
    const isNeighbour = open !== undefined && /^[ \t]*$/.test(between)
    if (open !== undefined && isNeighbour && open.charset === charset) {
      open.bytes.push(...bytes)
      open.written += between + written
    } else {
      flushWord()
      out += isNeighbour ? '' : plain(between)
      open = { charset, bytes, written }
    }
    end = match.index + written.length
  }
  flushWord()
  return out + plain(text.slice(end))
}

function decodeBytes(bytes: readonly number[], charset: string): string | undefined {
  if (utf7Names.has(charset)) return decodeUtf7(Uint8Array.from(bytes))
  try {
    return new TextDecoder(charset).decode(Uint8Array.from(bytes))
  } catch {
    return undefined
  }
}

function fromBase64(data: string): number[] {
  const whole = data.replace(/[^A-Za-z0-9+/]/g, '')
  const text = atob(whole.length % 4 === 1 ? whole.slice(0, -1) : whole)
  return Array.from(text, (letter) => letter.charCodeAt(0))
}

function fromQuoted(data: string, bytesIn: (letter: string) => Iterable<number>): number[] {
  const bytes: number[] = []
  for (const [letter] of data.matchAll(/=[0-9a-f]{2}|./gisu)) {
    if (letter === '_') bytes.push(0x20)
    else if (letter.length === 3 && letter.startsWith('=')) bytes.push(Number.parseInt(letter.slice(1), 16))
    else bytes.push(...bytesIn(letter))
  }
  return bytes
}

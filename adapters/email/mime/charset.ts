// Decodes bytes of a mail by the charset it names where that is true, and by what the bytes look like where it is not.
import { cleanText } from '../../../src/lib/index.ts'

/** Names in mails that mean an encoding the platform knows under another one. */
const otherNames: Readonly<Record<string, string>> = {
  cp932: 'shift_jis',
  'ansi_x3.4-1968': 'us-ascii',
  'cp-850': 'ibm866',
  latin1: 'windows-1252',
  utf: 'utf-8',
  cp949: 'euc-kr',
  uhc: 'euc-kr',
  cp936: 'gbk',
  cp950: 'big5',
  'iso-8859-8-e': 'iso-8859-8',
}
const asciiNames = new Set(['', 'us-ascii', 'ascii', 'ansi_x3.4-1968', 'unknown-8bit', 'x-unknown', 'default'])
/** Not by the sender's word: UTF-16 in a mail is a mistake or a trick, and "replacement" would give nothing at all. */
const refusedCharsets = new Set(['utf-16le', 'utf-16be', 'replacement', 'x-user-defined'])

/**
 * NFC, without NUL. Nothing in it is ever undecodable: the last resort has a character for every byte. `isCut`: the bytes may
 * end inside of a letter, which is no reason to call the rest wrong.
 */
export function decodeCharset(bytes: Uint8Array, label: string | undefined, isCut = false): string {
  const name = (label ?? '').trim().toLowerCase()
  const seven = utf7Names.has(name) ? decodeUtf7(bytes) : undefined
  if (seven !== undefined) return cleanText(seven)
  const named = asciiNames.has(name) ? undefined : textDecoderFor(otherNames[name] ?? name)
  const isUtf8 = named === undefined || named.encoding === 'utf-8'
  if (!isUtf8) return cleanText(named.decode(bytes))
  return cleanText(decodeUtf8Strictly(bytes, isCut) ?? new TextDecoder('windows-1252').decode(bytes))
}

export const utf7Names: ReadonlySet<string> = new Set(['utf-7', 'utf7', 'unicode-1-1-utf-7', 'x-unicode-2-0-utf-7'])

/**
 * RFC 2152, which no platform decodes. What it comes to is text like any other: it is decoded before anything is read in it, a page
 * as well as plain words. Undefined where the bytes are beyond ASCII; a shift that encodes nothing whole stays as it is written.
 */
export function decodeUtf7(bytes: Uint8Array): string | undefined {
  if (bytes.some((byte) => byte > 0x7f)) return undefined
  const text = new TextDecoder().decode(bytes)
  return text
    .replace(/\+([A-Za-z0-9+/]*)(-?)/g, (written, signs: string, end: string) => {
      if (signs === '') return end === '-' ? '+' : written
      return decodeUtf7Base64(signs) ?? written
    })
    .toWellFormed()
}

const base64Signs = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'

function decodeUtf7Base64(signs: string): string | undefined {
  let [out, held, bits] = ['', 0, 0]
  for (const sign of signs) {
    held = (held << 6) | base64Signs.indexOf(sign)
    bits += 6
    if (bits < 16) continue
    bits -= 16
    out += String.fromCharCode(held >> bits)
    held &= (1 << bits) - 1
  }
  return bits >= 6 || held !== 0 || out === '' ? undefined : out
}

function textDecoderFor(name: string): TextDecoder | undefined {
  try {
    const decoder = new TextDecoder(name)
    return refusedCharsets.has(decoder.encoding) ? undefined : decoder
  } catch {
    return undefined
  }
}

function decodeUtf8Strictly(bytes: Uint8Array, isCut: boolean): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: false }).decode(bytes, { stream: isCut })
  } catch {
    return undefined
  }
}

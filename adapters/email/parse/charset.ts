// Bytes of a mail as text, by the charset it names where that is true and by what the bytes look like where it is not.
import { cleanText } from '../../../src/contract/index.ts'

/** Names in mails that mean an encoding the platform knows under another one. */
const otherNames: Readonly<Record<string, string>> = {
  ...{ cp932: 'shift_jis', 'ansi_x3.4-1968': 'us-ascii', 'cp-850': 'ibm866', latin1: 'windows-1252', utf: 'utf-8' },
  ...{ cp949: 'euc-kr', uhc: 'euc-kr', cp936: 'gbk', cp950: 'big5', 'iso-8859-8-e': 'iso-8859-8' },
}
const asciiNames = new Set(['', 'us-ascii', 'ascii', 'ansi_x3.4-1968', 'unknown-8bit', 'x-unknown', 'default'])
/** Not by the sender's word: UTF-16 in a mail is a mistake or a trick, and "replacement" would give nothing at all. */
const refused = new Set(['utf-16le', 'utf-16be', 'replacement', 'x-user-defined'])

/**
 * NFC, without NUL. Nothing in it is ever undecodable: the last resort has a character for every byte. `isCut`: the bytes may
 * end inside of a letter, which is no reason to call the rest wrong.
 */
export function decodeCharset(bytes: Uint8Array, label: string | undefined, isCut = false): string {
  const name = (label ?? '').trim().toLowerCase()
  const named = asciiNames.has(name) ? undefined : decoderOf(otherNames[name] ?? name)
  const isUtf8 = named === undefined || named.encoding === 'utf-8'
  if (!isUtf8) return cleanText(named.decode(bytes))
  return cleanText(asUtf8(bytes, isCut) ?? new TextDecoder('windows-1252').decode(bytes))
}

function decoderOf(name: string): TextDecoder | undefined {
  try {
    const decoder = new TextDecoder(name)
    return refused.has(decoder.encoding) ? undefined : decoder
  } catch {
    return undefined
  }
}

function asUtf8(bytes: Uint8Array, isCut: boolean): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: false }).decode(bytes, { stream: isCut })
  } catch {
    return undefined
  }
}

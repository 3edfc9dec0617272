// Thread keys: a short hash of the id of a mail in the thread, so that ids of any length and shape make names of one kind.
import { sha256Hex } from '../../../src/lib/index.ts'

const alphabet = 'abcdefghijklmnopqrstuvwxyz234567'

/** How many characters a key has, and how many the part has that proves it: 80 bits each. */
export const keyLength = 16

export async function threadKey(messageId: string): Promise<string> {
  return base32(bytesOfHex(await sha256Hex(messageId))).slice(0, keyLength)
}

/** The name under which accept finds the conversation that holds a mail. */
export function threadName(key: string): string {
  return `t:${key}`
}

/** The same for the conversation that Outlook says it belongs to. */
export function outlookName(threadIndex: string): string {
  return `x:${threadIndex}`
}

/** RFC 4648 section 6, in small letters and without padding: mail servers may change the case of a local part. */
export function base32(bytes: Uint8Array): string {
  let text = ''
  let held = 0
  let bits = 0
  for (const byte of bytes) {
    held = (held << 8) | byte
    bits += 8
    while (bits >= 5) {
      bits -= 5
      text += alphabet[(held >> bits) & 31]
    }
    held &= (1 << bits) - 1
  }
  return bits === 0 ? text : text + alphabet[(held << (5 - bits)) & 31]
}

function bytesOfHex(hex: string): Uint8Array {
  return Uint8Array.from({ length: hex.length / 2 }, (_, at) => Number.parseInt(hex.slice(at * 2, at * 2 + 2), 16))
}

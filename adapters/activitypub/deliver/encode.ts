// Encodes bytes as the texts that signatures and proofs are written in.

const base58Alphabet = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'

export function encodeBase64(bytes: ArrayBuffer | Uint8Array): string {
  let text = ''
  for (const byte of new Uint8Array(bytes)) text += String.fromCharCode(byte)
  return btoa(text)
}

/** Multibase: base58btc, with the letter that says so. For keys and signatures: its time grows with the square of their length. */
export function encodeMultibase(bytes: Uint8Array): string {
  const digits: number[] = []
  for (const byte of bytes) {
    let carry = byte
    for (const [at, digit] of digits.entries()) {
      carry += digit * 256
      digits[at] = carry % 58
      carry = Math.floor(carry / 58)
    }
    for (; carry > 0; carry = Math.floor(carry / 58)) digits.push(carry % 58)
  }
  const zeros = bytes.findIndex((byte) => byte !== 0)
  const leading = '1'.repeat(zeros === -1 ? bytes.length : zeros)
  return `z${leading}${digits
    .reverse()
    .map((digit) => base58Alphabet[digit])
    .join('')}`
}

export async function hashSha256(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))
}

/** A copy of our own: some runtimes do not say whose memory an encoder's bytes are in. */
export function encodeUtf8(text: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(new TextEncoder().encode(text))
}

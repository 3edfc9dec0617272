// The short code a stranger reads out to an operator. Nearly forty random bits: enough that another person's code cannot be guessed.

/** No vowels, so no words; nothing that looks like something else. */
const pairingCodeLetters = '23456789BCDFGHJKMNPQRSTVWXYZ'
const pairingCodeLength = 8

export function newPairingCode(fillRandom: (bytes: Uint8Array<ArrayBuffer>) => void): string {
  let code = ''
  while (code.length < pairingCodeLength) {
    const bytes = new Uint8Array(16)
    fillRandom(bytes)
    // Bytes beyond the last whole round are thrown away: every letter is as likely as any other.
    for (const byte of bytes) {
      if (byte < 256 - (256 % pairingCodeLetters.length) && code.length < pairingCodeLength)
        code += pairingCodeLetters[byte % pairingCodeLetters.length]
    }
  }
  return code
}

/** As people read it: two groups of four. */
export function formatPairingCode(code: string): string {
  return `${code.slice(0, 4)}-${code.slice(4)}`
}

/** What a person typed, as the code is stored; undefined when it cannot be one. */
export function readPairingCode(text: string): string | undefined {
  const code = text.replace(/[\s-]/g, '').toUpperCase()
  return code.length === pairingCodeLength && [...code].every((letter) => pairingCodeLetters.includes(letter))
    ? code
    : undefined
}

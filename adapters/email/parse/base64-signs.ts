// The signs of base64. What is none of them is passed over (RFC 2045 6.8), here and not in a library: they disagree about it.

const [lf, equals] = [10, 61]

export function isBase64Sign(byte: number): boolean {
  const letter = byte | 0x20
  return (letter >= 97 && letter <= 122) || (byte >= 48 && byte <= 57) || byte === 43 || byte === 47
}

/** The same bytes, where there is nothing else among them; otherwise a copy with line ends in its place. */
export function onlyBase64Signs(bytes: Uint8Array): Uint8Array {
  let clean = bytes
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] ?? 0
    if (isBase64Sign(byte) || byte === equals || byte === lf || byte === 13) continue
    if (clean === bytes) clean = bytes.slice()
    clean[at] = lf
  }
  return clean
}

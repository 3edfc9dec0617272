// Ids that sort by time (RFC 9562, version 7). Clock and randomness are parameters, as everywhere.

export type IdSource = () => string

const hexPairs = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'))
const randomBytesPerId = 10
/** Randomness is fetched for so many ids at once: a call costs as much for two thousand bytes as for ten. */
const idsPerFill = 200

export function createIdSource(now: () => number, fillRandom: (bytes: Uint8Array<ArrayBuffer>) => void): IdSource {
  const random = new Uint8Array(randomBytesPerId * idsPerFill)
  let used = random.length
  const nextRandomByte = (): number => {
    used += 1
    return random[used - 1] ?? 0
  }
  const pairs = (count: number): string => {
    let hex = ''
    for (let left = count; left > 0; left -= 1) hex += hexPairs[nextRandomByte()]
    return hex
  }
  return () => {
    if (used === random.length) {
      fillRandom(random)
      used = 0
    }
    const time = now().toString(16).padStart(12, '0')
    const version = hexPairs[(nextRandomByte() & 0x0f) | 0x70] ?? ''
    const variant = hexPairs[(nextRandomByte() & 0x3f) | 0x80] ?? ''
    return `${time.slice(0, 8)}-${time.slice(8)}-${version}${pairs(1)}-${variant}${pairs(1)}-${pairs(6)}`
  }
}

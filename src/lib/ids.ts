// Ids that sort by time (RFC 9562, version 7). Clock and randomness are parameters, as everywhere.

import { toHex } from './bytes.ts'

export type IdSource = () => string

const randomBytesPerId = 10
/** Randomness is fetched for so many ids at once: a call costs as much for two thousand bytes as for ten. */
const idsPerFill = 200

export function createIdSource(now: () => number, fillRandom: (bytes: Uint8Array<ArrayBuffer>) => void): IdSource {
  const random = new Uint8Array(randomBytesPerId * idsPerFill)
  let used = random.length
  return () => {
    if (used === random.length) {
      fillRandom(random)
      used = 0
    }
    const own = random.subarray(used, used + randomBytesPerId)
    used += randomBytesPerId
    // The version and the variant stand where the standard wants them.
    own[0] = ((own[0] ?? 0) & 0x0f) | 0x70
    own[2] = ((own[2] ?? 0) & 0x3f) | 0x80
    const hex = toHex(own)
    const time = now().toString(16).padStart(12, '0')
    return `${time.slice(0, 8)}-${time.slice(8)}-${hex.slice(0, 4)}-${hex.slice(4, 8)}-${hex.slice(8)}`
  }
}

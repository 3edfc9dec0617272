// Ids: those of rows, which sort by time (RFC 9562, version 7), and those of traces. Clock and randomness are parameters, as everywhere.

import { toHex } from './bytes.ts'

export type IdSource = () => string

const randomBytesPerId = 10
/** Randomness is fetched for so many ids at once: a call costs as much for two thousand bytes as for ten. */
const idsPerFill = 200

export function createUuidV7Source(now: () => number, fillRandom: (bytes: Uint8Array<ArrayBuffer>) => void): IdSource {
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

// The trace of a message is the sender's, where it sends a W3C Trace Context, else one of our own.

const version00 = /^00-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}$/
/** Later versions may append fields; ff is forbidden (Trace Context §2.2.4, §3.2.2). */
const laterVersion = /^(?!00|ff)[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(?:-.*)?$/

/** Undefined for a header that is missing or not valid. */
export function readTraceIdFromTraceparent(traceparent: string | undefined): string | undefined {
  if (traceparent === undefined || traceparent.length > 256) return undefined
  const [, trace = '', parent = ''] = version00.exec(traceparent) ?? laterVersion.exec(traceparent) ?? []
  return /[1-9a-f]/.test(trace) && /[1-9a-f]/.test(parent) ? trace : undefined
}

export function newTraceId({ newId }: { readonly newId: IdSource }): string {
  return newId().replaceAll('-', '')
}

// Evidence that came with a message: bounded before anything is read in it, and dropped one by one, never with the message.
import { countJsonBytes, type EvidenceCode, maxEvidenceBytes } from './check-evidence.ts'

/** An entry that was left out: its place in the list and why. Safe to log and to show. */
export type DroppedEvidence<Code extends string = EvidenceCode> = { readonly index: number; readonly code: Code }

export type BoundedEvidence = {
  readonly kept: readonly { readonly index: number; readonly input: unknown }[]
  readonly dropped: readonly DroppedEvidence[]
}

const maxEvidences = 4
const maxBytesTogether = 64 * 1024

/** At most four, 32 KiB each, 64 KiB together; what is beyond a limit is dropped as EV_LIMIT. */
export function limitForwardedEvidence(carried: unknown): BoundedEvidence {
  if (carried === undefined || carried === null) return { kept: [], dropped: [] }
  if (!Array.isArray(carried)) return { kept: [], dropped: [{ index: 0, code: 'EV_MALFORMED' }] }
  const kept: { readonly index: number; readonly input: unknown }[] = []
  const dropped: DroppedEvidence[] = []
  let total = 0
  // A thousandth entry is not worth a line of its own: what is told stays bounded as well.
  for (const [index, input] of carried.slice(0, maxEvidences * 2).entries()) {
    const bytes = kept.length < maxEvidences ? countJsonBytes(input) : undefined
    const fits = bytes !== undefined && bytes <= maxEvidenceBytes && total + bytes <= maxBytesTogether
    if (fits) {
      kept.push({ index, input })
      total += bytes
    } else dropped.push({ index, code: 'EV_LIMIT' })
  }
  return { kept, dropped }
}

// Whether an answer that arrived was sent back afterwards.
import type { DeliveryFacts, Facts } from '../db/explain.ts'

/** Why, as a code; undefined where no bounce was reported, or where it was resent without one. */
export function bounceReason({ deliveries }: Pick<Facts, 'deliveries'>): string | undefined {
  // What accompanies an answer may be lost without it.
  const returned = deliveries.filter(({ isPrimary }) => isPrimary).flatMap((each) => lastBounce(each) ?? [])
  return returned.at(-1)
}

function lastBounce({ history }: DeliveryFacts): string | undefined {
  const last = history.findLast(({ what, kind }) => what === 'delivered' || (what === 'bounced' && kind === 'failed'))
  return last?.what === 'bounced' ? (last.reason ?? 'unspecified') : undefined
}

// May a reply notify this person? Waking agents is decided by the relay policy; this is about people.
import { formatAddress, type MentionHumans, parseAddress } from '../../contract/index.ts'

/** `participants`: addresses of the people who have taken part in the conversation. */
export function mayMentionHuman(
  policy: MentionHumans | undefined,
  participants: Iterable<string>,
  address: string,
): boolean {
  const asked = canonicalAddress(address)
  if (asked === undefined || policy === 'nobody') return false
  return policy === 'anyone' || [...participants].some((participant) => canonicalAddress(participant) === asked)
}

function canonicalAddress(address: string): string | undefined {
  const parsed = parseAddress(address)
  return parsed === undefined ? undefined : formatAddress(parsed)
}

// An activity that was verified when it came and is read again from what was kept: itself, and whose it was. The author must
// still be known; they are never guessed, and no signature is looked for in what has none any more.
import type { RawRequest, StoredEventFacts } from '../../../src/contract/index.ts'
import { parseBoundedJson } from '../../../src/lib/index.ts'
import { isUnreadableActivity, readActivity } from '../read/read-activity.ts'
import type { RemoteLookup } from '../remote/remote.ts'
import type { VerifiedActivity } from '../wire/activity.ts'
import { hasProof } from './proof.ts'

export type ReverifyDeps = {
  readonly remote: Pick<RemoteLookup, 'known'>
  readonly acceptsProofs: boolean
}

/** Undefined: what is kept does not say enough. */
export async function reverifyStored(
  { remote, acceptsProofs }: ReverifyDeps,
  { bytes }: RawRequest,
  { subject }: StoredEventFacts,
): Promise<VerifiedActivity | undefined> {
  const json = parseBoundedJson(bytes)
  const activity = json.ok ? readActivity(json.value) : undefined
  if (activity === undefined || isUnreadableActivity(activity)) return undefined
  // What a community passed on and its author's server bore out is the author's, in words that were not kept.
  if (subject === null || activity.actor !== subject) return undefined
  // Which of two proofs counted then is not known.
  if (acceptsProofs && hasProof(activity.raw)) return undefined
  const signer = await remote.known(subject)
  if (signer?.id !== subject) return undefined
  return { activity, signer, method: 'ap-http-signature', keyId: undefined, inboxOf: undefined }
}

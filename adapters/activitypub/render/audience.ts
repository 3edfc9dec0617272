// Who may read a reply: as many as could read what it answers, or fewer, never more. Pure.
import type { ActivityPubReplyTo, ReplyVisibility } from '../wire/call.ts'
import { followersIri, publicAudience } from '../wire/names.ts'

export type Audience = { readonly to: readonly string[]; readonly cc: readonly string[] }

/** `widest`: what the operator wants of answers to public notes. We cannot reach the followers of others: direct. */
export function replyVisibility(
  { visibility }: Pick<ActivityPubReplyTo, 'visibility'>,
  widest: 'unlisted' | 'public',
): ReplyVisibility {
  switch (visibility) {
    case 'public':
      return widest
    case 'unlisted':
      return 'unlisted'
    case 'followers':
    case 'direct':
      return 'direct'
    default:
      return visibility satisfies never
  }
}

export function replyAudience(
  visibility: ReplyVisibility,
  actors: readonly string[],
  { origin, agent }: { readonly origin: string; readonly agent: string },
): Audience {
  const followers = followersIri(origin, agent)
  switch (visibility) {
    case 'public':
      return { to: [publicAudience], cc: [...actors, followers] }
    case 'unlisted':
      return { to: [...actors, followers], cc: [publicAudience] }
    case 'direct':
      return { to: actors, cc: [] }
    default:
      return visibility satisfies never
  }
}

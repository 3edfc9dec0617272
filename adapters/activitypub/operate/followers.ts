// The followers of an agent: listed, and removed.
import type { Effect, Operated, Operations } from '../../../src/contract/index.ts'
import { type Asker, answerFollow, roundOf } from '../wire/asker.ts'
import { families, followerKey } from '../wire/own-records.ts'
import { peerFamilies } from '../wire/peer-records.ts'
import { findAsker, listAskers } from './askers.ts'
import type { OperateDeps } from './deps.ts'

const none = 'there is no follower of this name; list them with parley activitypub followers'

export function followerOperations(deps: OperateDeps): Operations {
  return {
    'followers.list': async (input) => ({ value: await listAskers(deps, families.follower, 'followers', input) }),
    'followers.remove': async (input) => removed(deps, await findAsker(deps, families.follower, input, none)),
  }
}

/** A Reject of a Follow that was accepted takes it back: that is how their server learns of it. */
function removed({ places }: OperateDeps, asker: Asker): Operated {
  const { agent, actor, follow, askedAt } = asker
  const effects: readonly Effect[] = [
    { kind: 'remove', family: families.follower, key: followerKey(agent, actor) },
    { kind: 'remove', family: peerFamilies.follow, key: follow },
  ]
  return {
    value: { agent, actor },
    change: {
      reason: 'follower_removed',
      deliveryId: `followers.remove ${agent} ${actor} ${follow} ${roundOf(askedAt)}`,
      subject: actor,
      effects,
      sends: [answerFollow(places.actor(agent), asker, 'Reject')],
    },
  }
}

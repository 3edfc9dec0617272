// The followers of an agent: listed, and removed.
import type { OperationResult, Operations, RecordWrite } from '../../../src/contract/index.ts'
import { answerFollow, type FollowRecord, followRound } from '../wire/asker.ts'
import { followerKey, ownFamilies } from '../wire/own-records.ts'
import { peerFamilies } from '../wire/peer-records.ts'
import { findFollowRecord, listFollowRecords } from './askers.ts'
import type { OperateDeps } from './deps.ts'

const noFollower = 'there is no follower of this name; list them with parley activitypub followers'

export function followerOperations(deps: OperateDeps): Operations {
  return {
    'followers.list': async (input) => ({
      value: await listFollowRecords(deps, ownFamilies.follower, 'followers', input),
    }),
    'followers.remove': async (input) =>
      removeFollower(deps, await findFollowRecord(deps, ownFamilies.follower, input, noFollower)),
  }
}

/** A Reject of a Follow that was accepted takes it back: that is how their server learns of it. */
function removeFollower({ places }: OperateDeps, asker: FollowRecord): OperationResult {
  const { agent, actor, follow, askedAt } = asker
  const effects: readonly RecordWrite[] = [
    { kind: 'remove', family: ownFamilies.follower, key: followerKey(agent, actor) },
    { kind: 'remove', family: peerFamilies.follow, key: follow },
  ]
  return {
    value: { agent, actor },
    change: {
      reason: 'follower_removed',
      deliveryId: `followers.remove ${agent} ${actor} ${follow} ${followRound(askedAt)}`,
      subject: actor,
      effects,
      sends: [answerFollow(places.actor(agent), asker, 'Reject')],
    },
  }
}

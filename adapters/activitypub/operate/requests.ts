// Requests to follow, where the operator decides (`follow: 'manual'`): listed, accepted, rejected.
import type { OperationResult, Operations, RecordWrite } from '../../../src/contract/index.ts'
import { answerFollow, type FollowRecord, followerEffects, followRound } from '../wire/asker.ts'
import { peerFamilies, peerKey } from '../wire/peer-records.ts'
import { findFollowRecord, listFollowRecords } from './askers.ts'
import type { OperateDeps } from './deps.ts'

const noFollowRequest = 'there is no follow request of this name; list them with parley activitypub requests'

export function requestOperations(deps: OperateDeps): Operations {
  const findRequest = (input: Parameters<Operations[string]>[0]) =>
    findFollowRecord(deps, peerFamilies.request, input, noFollowRequest)
  return {
    'requests.list': async (input) => ({
      value: await listFollowRecords(deps, peerFamilies.request, 'requests', input),
    }),
    'requests.accept': async (input) => decideFollowRequest(deps, await findRequest(input), 'Accept'),
    'requests.reject': async (input) => decideFollowRequest(deps, await findRequest(input), 'Reject'),
  }
}

/** They are answered as they would have been at once, and wait no longer. */
function decideFollowRequest({ places }: OperateDeps, asker: FollowRecord, type: 'Accept' | 'Reject'): OperationResult {
  const { agent, actor, follow, askedAt } = asker
  const isAccepted = type === 'Accept'
  const settled: RecordWrite = { kind: 'remove', family: peerFamilies.request, key: peerKey(agent, actor) }
  return {
    value: { agent, actor, decision: isAccepted ? 'accepted' : 'rejected' },
    change: {
      reason: isAccepted ? 'follow_accepted' : 'follow_rejected',
      deliveryId: `requests.decide ${agent} ${actor} ${follow} ${followRound(askedAt)}`,
      subject: actor,
      effects: [...(isAccepted ? followerEffects(asker) : []), settled],
      sends: [answerFollow(places.actor(agent), asker, type)],
    },
  }
}

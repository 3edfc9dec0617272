// Requests to follow, where the operator decides (`follow: 'manual'`): listed, accepted, rejected.
import type { Effect, Operated, Operations } from '../../../src/contract/index.ts'
import { type Asker, answerFollow, followerEffects, roundOf } from '../wire/asker.ts'
import { peerFamilies, peerKey } from '../wire/peer-records.ts'
import { findAsker, listAskers } from './askers.ts'
import type { OperateDeps } from './deps.ts'

const none = 'there is no follow request of this name; list them with parley activitypub requests'

export function requestOperations(deps: OperateDeps): Operations {
  const found = (input: Parameters<Operations[string]>[0]) => findAsker(deps, peerFamilies.request, input, none)
  return {
    'requests.list': async (input) => ({ value: await listAskers(deps, peerFamilies.request, 'requests', input) }),
    'requests.accept': async (input) => decided(deps, await found(input), 'Accept'),
    'requests.reject': async (input) => decided(deps, await found(input), 'Reject'),
  }
}

/** They are answered as they would have been at once, and wait no longer. */
function decided({ places }: OperateDeps, asker: Asker, type: 'Accept' | 'Reject'): Operated {
  const { agent, actor, follow, askedAt } = asker
  const isAccepted = type === 'Accept'
  const settled: Effect = { kind: 'remove', family: peerFamilies.request, key: peerKey(agent, actor) }
  return {
    value: { agent, actor, decision: isAccepted ? 'accepted' : 'rejected' },
    change: {
      reason: isAccepted ? 'follow_accepted' : 'follow_rejected',
      deliveryId: `requests.decide ${agent} ${actor} ${follow} ${roundOf(askedAt)}`,
      subject: actor,
      effects: [...(isAccepted ? followerEffects(asker) : []), settled],
      sends: [answerFollow(places.actor(agent), asker, type)],
    },
  }
}

// The followers of an agent and requests to follow: listed, found by address, accepted, rejected, removed.

import * as z from 'zod'
import type { OperationResult, Operations, RecordWrite } from '../../../src/contract/index.ts'
import { GatewayError, type JsonObject } from '../../../src/lib/index.ts'
import {
  buildFollowAnswerCall,
  type FollowRecord,
  followerKey,
  followerWrites,
  followRequestHourIndex,
  ownFamilies,
  parseStoredFollowRecord,
  peerFamilies,
  peerKey,
} from '../wire/records.ts'
import { type OperateDeps, pageShape, parseOperationInput, requireKnownAgent, shortText } from './operation-input.ts'

const noFollower = 'there is no follower of this name; list them with parley activitypub followers'

export function followerOperations(deps: OperateDeps): Operations {
  return {
    'followers.list': async (input) => ({
      value: await listFollowRecords(deps, ownFamilies.follower, 'followers', input),
    }),
    'followers.remove': async (input) =>
      planFollowerRemoval(deps, await findFollowRecord(deps, ownFamilies.follower, input, noFollower)),
  }
}

/** A Reject of a Follow that was accepted takes it back: that is how their server learns of it. */
function planFollowerRemoval({ places }: OperateDeps, asker: FollowRecord): OperationResult {
  const { agent, actor, follow, askedAt } = asker
  const effects: readonly RecordWrite[] = [
    { kind: 'remove', family: ownFamilies.follower, key: followerKey(agent, actor) },
    { kind: 'remove', family: peerFamilies.follow, key: follow },
  ]
  return {
    value: { agent, actor },
    change: {
      reason: 'follower_removed',
      deliveryId: `followers.remove ${agent} ${actor} ${follow} ${followRequestHourIndex(askedAt)}`,
      subject: actor,
      recordWrites: effects,
      protocolReplies: [buildFollowAnswerCall(places.actor(agent), asker, 'Reject')],
    },
  }
}

const whoShape = z.object({ actor: shortText, agent: shortText.exactOptional() })

/** `name`: of the list in the answer. */
async function listFollowRecords(
  { records }: OperateDeps,
  family: string,
  name: string,
  input: JsonObject,
): Promise<JsonObject> {
  const { limit, ...page } = parseOperationInput(
    pageShape,
    input,
    'give limit from 1 to 100, after as a list ended, agent by its name',
  )
  const found = await records.list(family, { ...page, limit })
  const lines = found.map(({ key, value, at }) => ({
    agent: key.slice(0, key.indexOf(' ')),
    actor: String(value['actor']),
    follow: typeof value['follow'] === 'string' ? value['follow'] : null,
    since: at,
  }))
  return { [name]: lines, next: found.length < limit ? null : (found.at(-1)?.key ?? null) }
}

/** `none`: the error where there is no such actor. */
async function findFollowRecord(
  deps: OperateDeps,
  family: string,
  input: JsonObject,
  none: string,
): Promise<FollowRecord> {
  const { actor, agent } = parseOperationInput(whoShape, input, 'give actor as the list shows it')
  const agents = agent === undefined ? deps.agents().map(({ slug }) => slug) : [requireKnownAgent(deps, agent)]
  const found = await Promise.all(
    agents.map(async (each) => {
      const value = await deps.records.get(family, peerKey(each, actor))
      return value === undefined ? undefined : parseStoredFollowRecord(each, value)
    }),
  )
  const [first, ...more] = found.filter((each) => each !== undefined)
  if (first === undefined) throw new GatewayError('not_found', none)
  if (more.length === 0) return first
  const names = [first, ...more].map((each) => each.agent).join(', ')
  throw new GatewayError('bad_request', `that is about several agents (${names}); say which one`)
}

// Requests wait where the operator decides (`follow: 'manual'`).

const noFollowRequest = 'there is no follow request of this name; list them with parley activitypub requests'

export function requestOperations(deps: OperateDeps): Operations {
  const findFollowRequest = (input: Parameters<Operations[string]>[0]) =>
    findFollowRecord(deps, peerFamilies.request, input, noFollowRequest)
  return {
    'requests.list': async (input) => ({
      value: await listFollowRecords(deps, peerFamilies.request, 'requests', input),
    }),
    'requests.accept': async (input) => planFollowDecision(deps, await findFollowRequest(input), 'Accept'),
    'requests.reject': async (input) => planFollowDecision(deps, await findFollowRequest(input), 'Reject'),
  }
}

/** They are answered as they would have been at once, and wait no longer. */
function planFollowDecision({ places }: OperateDeps, asker: FollowRecord, type: 'Accept' | 'Reject'): OperationResult {
  const { agent, actor, follow, askedAt } = asker
  const isAccepted = type === 'Accept'
  const settled: RecordWrite = { kind: 'remove', family: peerFamilies.request, key: peerKey(agent, actor) }
  return {
    value: { agent, actor, decision: isAccepted ? 'accepted' : 'rejected' },
    change: {
      reason: isAccepted ? 'follow_accepted' : 'follow_rejected',
      deliveryId: `requests.decide ${agent} ${actor} ${follow} ${followRequestHourIndex(askedAt)}`,
      subject: actor,
      recordWrites: [...(isAccepted ? followerWrites(asker) : []), settled],
      protocolReplies: [buildFollowAnswerCall(places.actor(agent), asker, type)],
    },
  }
}

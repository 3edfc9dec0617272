// Rotates the keys of an actor. Followers' servers are told, so that they need not find out by a signature that does not fit.
import * as z from 'zod'
import { isOrderKey, type Operations } from '../../../src/contract/index.ts'
import { GatewayError, type JsonObject } from '../../../src/lib/index.ts'
import { listFollowerInboxes } from '../deliver/expand-recipients.ts'
import { agentDocument, agentKeyOwner, instanceKeyOwner } from '../documents/actor-document.ts'
import { agentStatus } from '../documents/document-deps.ts'
import type { KeyRing } from '../signatures/own-keys.ts'
import { publicAudience } from '../wire/activity.ts'
import type { InboxCall } from '../wire/delivery.ts'
import type { ProtocolReply } from '../wire/records.ts'
import { type OperateDeps, parseOperationInput, requireKnownAgent, shortText } from './operation-input.ts'

const ownerShape = z.object({ owner: shortText, again: z.boolean().default(false) })
/** An operator who got no answer asks again, and means the same keys. */
const sameMs = 10 * 60 * 1000
/** The others ask by themselves when they meet a key that they do not know. */
const maxTold = 1000

export function keyOperations(deps: OperateDeps): Operations {
  const { keys, places, now } = deps
  return {
    async 'keys.rotate'(input) {
      const { owner: name, again } = parseOperationInput(ownerShape, input, 'give owner: an agent, or instance')
      const agent = name === 'instance' ? undefined : requireKnownAgent(deps, name)
      const owner = agent === undefined ? instanceKeyOwner(places) : agentKeyOwner(places, agent)
      const { generation, sinceMs, effect, ring } = await keys.rotation(owner)
      if (!again && now() - sinceMs < sameMs)
        throw new GatewayError(
          'conflict',
          'new keys were made a moment ago; to make them once more add --again (again: true)',
        )
      const sends = agent === undefined ? [] : await renderKeyChangeUpdates(deps, agent, ring, generation)
      return {
        value: { owner: name, actor: owner.actor, key: ring.rsa.id, generation, told: sends.length },
        change: {
          reason: 'keys_rotated',
          deliveryId: `keys.rotate ${owner.name} ${generation}`,
          recordWrites: [effect],
          protocolReplies: sends,
        },
      }
    },
  }
}

/** The actor as it is from now on, once to each server that follows. */
async function renderKeyChangeUpdates(
  deps: OperateDeps,
  agent: string,
  ring: KeyRing,
  generation: number,
): Promise<readonly ProtocolReply[]> {
  const standing = agentStatus(deps, agent)
  if (standing.kind !== 'here') return []
  const { '@context': context, ...object } = agentDocument(deps, standing.profile, ring)
  const actor = deps.places.actor(agent)
  const activity: JsonObject = {
    ...(context === undefined ? {} : { '@context': context }),
    id: `${actor}#keys-${generation}`,
    type: 'Update',
    actor,
    to: [publicAudience],
    cc: [deps.places.collection(agent, 'followers')],
    object,
  }
  const inboxes = new Map<string, boolean>()
  for (const { inbox, shared_inbox: shared } of await listFollowerInboxes(deps.records, agent))
    if (inboxes.size < maxTold) inboxes.set(shared ?? inbox, shared !== null)
  return [...inboxes]
    .map(([inbox, isShared], at): ProtocolReply => {
      const call: InboxCall = { op: 'deliver', agent, inbox, is_shared: isShared, activity }
      return { call, orderKey: `${agent} ${inbox}`, clientId: `${agent}:keys-${generation}:${at}` }
    })
    .filter(({ orderKey }) => isOrderKey(orderKey))
}

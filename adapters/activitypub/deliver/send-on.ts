// Looks up the recipients of a reply when it is queued, and checks blocks right before each delivery.
import type { Attempt, ClosedRooms, DeliveryOutcome, JsonObject, RenderedCall } from '../../../src/contract/index.ts'
import type { Blocks } from '../manners/blocks.ts'
import type { RemoteLookup } from '../remote/remote.ts'
import type { ActivityPubCall, InboxCall, KeptFacts, Recipient } from '../wire/call.ts'
import { peerKey, personOrderKey } from '../wire/peer-records.ts'

type Expand = (calls: readonly RenderedCall[]) => Promise<readonly RenderedCall[]>

/** Inboxes that are not known yet are asked for; recipients that cannot be found are left out. Then each goes out in order by itself. */
export function expandResolved(remote: Pick<RemoteLookup, 'actor'>, expand: Expand): Expand {
  return async (calls) => {
    const found = await Promise.all(
      calls.map(async (rendered) => {
        // Only this adapter's own render made it.
        const call = rendered.call as ActivityPubCall
        if (call.op !== 'draft') return rendered
        return { ...rendered, call: { ...call, recipients: await resolveInboxes(remote, call.recipients) } }
      }),
    )
    return (await expand(found)).map((each) => ({ ...each, orderKey: deliveryOrderKey(each) }))
  }
}

async function resolveInboxes(
  remote: Pick<RemoteLookup, 'actor'>,
  recipients: readonly Recipient[],
): Promise<readonly Recipient[]> {
  const all = await Promise.all(
    recipients.map(async (each): Promise<readonly Recipient[]> => {
      if (each.inbox !== each.actor) return [each]
      const outcome = await remote.actor(each.actor)
      if (outcome.kind !== 'found') return []
      const { id, inbox, sharedInbox, type } = outcome.actor
      if (each.is_community !== true) return [{ actor: id, inbox, shared_inbox: sharedInbox ?? null }]
      // The author can call any actor a community. A community's own inbox is the one that passes on what it gets.
      return type === 'Group' ? [{ actor: id, inbox, shared_inbox: null, is_community: true }] : []
    }),
  )
  return all.flat()
}

/** By the person it is for, where there is one; else by where it goes. */
export function deliveryOrderKey({ call, orderKey }: RenderedCall): string {
  const { agent, inbox } = call as InboxCall
  const person = addressedPerson(call as InboxCall)
  return person === undefined ? `${agent} ${orderKey ?? inbox}` : personOrderKey(agent, person)
}

/** Whom it answers or names, if it goes to them. */
function addressedPerson({ inbox, ...call }: InboxCall): string | undefined {
  const keeps = (call as JsonObject)['keeps'] as KeptFacts | undefined
  return keeps?.recipients.find((each) => each.inbox === inbox || each.shared_inbox === inbox)?.actor
}

type Deliver = (call: ActivityPubCall, attempt: Attempt) => Promise<DeliveryOutcome>

export type BlockCheckDeps = { readonly places: ClosedRooms | undefined; readonly blocks: Blocks }

/** Asked right before it leaves: a block, theirs or the operator's, may have come since it was queued. */
export function deliverUnlessBlocked({ places, blocks }: BlockCheckDeps, deliver: Deliver): Deliver {
  return async (call, attempt) => {
    const person = call.op === 'deliver' ? addressedPerson(call) : call.recipients[0]?.actor
    const inbox = call.op === 'deliver' ? call.inbox : call.recipients[0]?.inbox
    for (const peer of [person, inbox])
      if (peer !== undefined && (await blocks.turnsAway(peer))) return { kind: 'refused', reason: 'blocked' }
    if (person === undefined || places === undefined) return deliver(call, attempt)
    const closed = await places.closed(peerKey(call.agent, person), attempt.runId)
    return closed === undefined ? deliver(call, attempt) : { kind: 'refused', reason: closed }
  }
}

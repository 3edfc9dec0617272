// Expands a reply, before the commit, into deliveries: notes get their ids and go to every inbox that must have them, each inbox
// in its own order.
import type { Attempt, ChannelDeps, DeliveryResult, Records, RenderedCall } from '../../../src/contract/index.ts'
import { type JsonObject, sha256Hex } from '../../../src/lib/index.ts'
import type { RemoteLookup } from '../actors/remote-lookup.ts'
import type { Blocks } from '../moderation.ts'
import { createNoteActivity, type Naming } from '../render/note-activity.ts'
import { contextIri, mediaIri, noteIri } from '../wire/activity.ts'
import {
  type ActivityPubCall,
  type DraftCall,
  followerFamily,
  type InboxCall,
  type KeptFacts,
  type NoteCall,
  type NoteFile,
  noteFamily,
  type Recipient,
  storedScheme,
} from '../wire/delivery.ts'
import { peerKey, perPersonDeliveryOrderKey } from '../wire/records.ts'

export type ExpandDeps = {
  readonly origin: string
  readonly records: Records
  readonly newId: () => string
  readonly now: () => number
}

export function createRecipientExpander(
  deps: ExpandDeps,
): (calls: readonly RenderedCall[]) => Promise<readonly RenderedCall[]> {
  return async (calls) => {
    const expanded: RenderedCall[] = []
    const followers = new Map<string, readonly Recipient[]>()
    let before: Naming['after']
    for (const rendered of calls) {
      // Only this adapter's own render made it.
      const call = rendered.call as ActivityPubCall
      if (call.op !== 'draft') {
        expanded.push({ ...rendered, orderKey: call.inbox })
        continue
      }
      const { agent, visibility } = call
      if (visibility !== 'direct' && !followers.has(agent))
        followers.set(agent, await listFollowerInboxes(deps.records, agent))
      const seed = deps.newId()
      const naming = await assignNoteIri(deps, call, seed, before)
      const draftToNoteCalls = async (draft: DraftCall, others: readonly Recipient[]) => {
        const named = await assignFileUrls(draft, { ...naming, seed })
        return toInboxCalls(named, createNoteActivity(named, naming), others, rendered.primary)
      }
      before = { id: naming.id, context: naming.after?.context ?? contextIri(naming.id) }
      const others = followers.get(agent) ?? []
      const { question } = rendered
      const asked = await draftToNoteCalls(call, others)
      // Without its question it is the same note, for the same people.
      const draft = question?.otherwise as DraftCall | null | undefined
      const unasked = draft ? await draftToNoteCalls({ ...draft, recipients: call.recipients }, others) : []
      for (const [at, each] of asked.entries())
        expanded.push(question ? { ...each, question: { ...question, otherwise: unasked[at]?.call ?? null } } : each)
    }
    return expanded
  }
}

async function assignNoteIri(
  { origin, now }: ExpandDeps,
  draft: DraftCall,
  seed: string,
  before: Naming['after'],
): Promise<Naming> {
  const id = await newNoteIri(origin, draft.agent, seed)
  return { origin, id, published: new Date(now()).toISOString(), after: draft.follows ? before : undefined }
}

const pageSize = 1000
/** Followers beyond these are not sent anything; they find it at its address. */
const maxFollowers = 50_000

export async function listFollowerInboxes(records: Records, agent: string): Promise<readonly Recipient[]> {
  const found: Recipient[] = []
  let after: string | undefined
  while (found.length < maxFollowers) {
    const page = await records.list(followerFamily, {
      limit: pageSize,
      agent,
      ...(after === undefined ? {} : { after }),
    })
    for (const { value } of page) {
      const { actor, inbox, shared_inbox: shared } = value
      if (typeof actor !== 'string' || typeof inbox !== 'string') continue
      found.push({ actor, inbox, shared_inbox: typeof shared === 'string' ? shared : null })
    }
    after = page.at(-1)?.key
    if (page.length < pageSize) break
  }
  return found
}

// Drafts get their ids all at once when a reply is queued, or alone where one is delivered as it is. The same on every try.

export type NamingDeps = {
  readonly origin: string
  readonly records: Records
  readonly now: () => number
}

const digestLength = 32

/** Whatever it is made of, a public id tells nothing of it. */
async function newNoteIri(origin: string, agent: string, seed: string): Promise<string> {
  return noteIri(origin, agent, (await sha256Hex(`activitypub note ${seed}`)).slice(0, digestLength))
}

/** One that was not queued with others, to the author it answers. Undefined: it could not be kept, so its time is not certain. */
export async function draftToInboxCall(
  deps: NamingDeps,
  draft: DraftCall,
  clientId: string,
): Promise<NoteCall | undefined> {
  const [author] = draft.recipients
  if (author === undefined) return undefined
  const id = await newNoteIri(deps.origin, draft.agent, clientId)
  try {
    const known = (await deps.records.get(noteFamily, id))?.['note']
    const said = typeof known === 'object' && known !== null && 'published' in known ? known['published'] : undefined
    const published = typeof said === 'string' ? said : new Date(deps.now()).toISOString()
    const named = await assignFileUrls(draft, { id, seed: clientId, origin: deps.origin })
    return noteCall(named, createNoteActivity(named, { origin: deps.origin, id, published }), author.inbox, false)
  } catch {
    return undefined
  }
}

// Stored files of a note get their addresses with its id: others fetch them hours later, and again. A reader needs only the address.

const nameLength = 32

/** `seed`: secret, and the same on every try. */
async function assignFileUrls(
  draft: DraftCall,
  { id, seed, origin }: { readonly id: string; readonly seed: string; readonly origin: string },
): Promise<DraftCall & { readonly files?: readonly NoteFile[] }> {
  const files: NoteFile[] = []
  const attachment: JsonObject[] = []
  for (const each of noteAttachments(draft.note)) {
    const stored = storedFileId(each)
    if (stored === undefined) {
      attachment.push(each)
      continue
    }
    const name = (await sha256Hex(`activitypub media ${seed} ${stored}`)).slice(0, nameLength)
    files.push({ name, attachment: stored })
    attachment.push({ ...each, url: mediaIri(origin, draft.agent, `${id.split('/').at(-1)}-${name}`) })
  }
  return files.length === 0 ? draft : { ...draft, note: { ...draft.note, attachment }, files }
}

function noteAttachments({ attachment }: JsonObject): readonly JsonObject[] {
  // Only this adapter's own render made it.
  return Array.isArray(attachment) ? (attachment as readonly JsonObject[]) : []
}

function storedFileId({ url }: JsonObject): string | undefined {
  return typeof url === 'string' && url.startsWith(storedScheme) ? url.slice(storedScheme.length) : undefined
}

// One activity about a note of ours goes to every inbox that must have it. Pure.

export type Told = KeptFacts & { readonly agent: string }

/** Inboxes beyond these are not sent anything; their readers find the note at its address. */
const maxInboxes = 4900

function noteCall(told: Told, activity: JsonObject, inbox: string, isShared: boolean): NoteCall {
  const { agent, visibility, recipients, files } = told
  const keeps = { visibility, recipients, ...(files === undefined ? {} : { files }) }
  return { op: 'deliver', agent, inbox, is_shared: isShared, activity, keeps }
}

/** Public and unlisted notes go once to each server; a direct one only to its recipients. The first is the person who is answered. */
export function toInboxCalls(
  told: Told,
  activity: JsonObject,
  followers: readonly Recipient[],
  primary: boolean,
): readonly RenderedCall[] {
  const isOpen = told.visibility !== 'direct'
  const calls = new Map<string, NoteCall>()
  for (const { inbox, shared_inbox } of [...told.recipients, ...(isOpen ? followers : [])]) {
    const at = isOpen ? (shared_inbox ?? inbox) : inbox
    if (calls.size >= maxInboxes) break
    if (!calls.has(at)) calls.set(at, noteCall(told, activity, at, at !== inbox))
  }
  return [...calls].map(([orderKey, call], place) => ({ call, primary: primary && place === 0, orderKey }))
}

// Recipients are looked up when a reply is queued, and blocks are checked right before each delivery.

type Expand = (calls: readonly RenderedCall[]) => Promise<readonly RenderedCall[]>

/** Inboxes that are not known yet are asked for; recipients that cannot be found are left out. Then each goes out in order by itself. */
export function expandAfterResolvingInboxes(remote: Pick<RemoteLookup, 'actor'>, expand: Expand): Expand {
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
  const person = findAddressedPerson(call as InboxCall)
  return person === undefined ? `${agent} ${orderKey ?? inbox}` : perPersonDeliveryOrderKey(agent, person)
}

/** Whom it answers or names, if it goes to them. */
function findAddressedPerson({ inbox, ...call }: InboxCall): string | undefined {
  const keeps = (call as JsonObject)['keeps'] as KeptFacts | undefined
  return keeps?.recipients.find((each) => each.inbox === inbox || each.shared_inbox === inbox)?.actor
}

type Deliver = (call: ActivityPubCall, attempt: Attempt) => Promise<DeliveryResult>

export type BlockCheckDeps = { readonly closedRooms: ChannelDeps['closedRooms']; readonly blocks: Blocks }

/** Asked right before it leaves: a block, theirs or the operator's, may have come since it was queued. */
export function deliverUnlessBlocked({ closedRooms, blocks }: BlockCheckDeps, deliver: Deliver): Deliver {
  return async (call, attempt) => {
    const person = call.op === 'deliver' ? findAddressedPerson(call) : call.recipients[0]?.actor
    const inbox = call.op === 'deliver' ? call.inbox : call.recipients[0]?.inbox
    for (const peer of [person, inbox])
      if (peer !== undefined && (await blocks.turnsAway(peer))) return { kind: 'refused', reason: 'blocked' }
    if (person === undefined || closedRooms === undefined) return deliver(call, attempt)
    const closed = await closedRooms.closed(peerKey(call.agent, person), attempt.runId)
    return closed === undefined ? deliver(call, attempt) : { kind: 'refused', reason: closed }
  }
}

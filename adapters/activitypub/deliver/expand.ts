// Hop 8, before the commit: notes get their ids and go to every inbox that must have them, each inbox in its own order.
import type { Records, RenderedCall } from '../../../src/contract/index.ts'
import { createNoteActivity, type Naming } from '../render/activity.ts'
import type { ActivityPubCall, DraftCall, Recipient } from '../wire/call.ts'
import { contextIri } from '../wire/names.ts'
import { listFollowerInboxes } from './followers.ts'
import { newNoteIri } from './name-draft.ts'
import { nameFiles } from './name-files.ts'
import { toInboxes } from './to-inboxes.ts'

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
      const naming = await nameNote(deps, call, seed, before)
      const writtenAs = async (draft: DraftCall, others: readonly Recipient[]) => {
        const named = await nameFiles(draft, { ...naming, seed })
        return toInboxes(named, createNoteActivity(named, naming), others, rendered.primary)
      }
      before = { id: naming.id, context: naming.after?.context ?? contextIri(naming.id) }
      const others = followers.get(agent) ?? []
      const { question } = rendered
      const asked = await writtenAs(call, others)
      // Without its question it is the same note, for the same people.
      const draft = question?.otherwise as DraftCall | null | undefined
      const unasked = draft ? await writtenAs({ ...draft, recipients: call.recipients }, others) : []
      for (const [at, each] of asked.entries())
        expanded.push(question ? { ...each, question: { ...question, otherwise: unasked[at]?.call ?? null } } : each)
    }
    return expanded
  }
}

async function nameNote(
  { origin, now }: ExpandDeps,
  draft: DraftCall,
  seed: string,
  before: Naming['after'],
): Promise<Naming> {
  const id = await newNoteIri(origin, draft.agent, seed)
  return { origin, id, published: new Date(now()).toISOString(), after: draft.follows ? before : undefined }
}

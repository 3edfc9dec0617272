// Gives drafts their ids: all at once when a reply is queued, or alone where one is delivered as it is. The same on every try.
import type { Records } from '../../../src/contract/index.ts'
import { sha256Hex } from '../../../src/lib/index.ts'
import { createNoteActivity } from '../render/activity.ts'
import { type DraftCall, type NoteCall, noteFamily } from '../wire/call.ts'
import { noteIri } from '../wire/names.ts'
import { nameFiles } from './name-files.ts'
import { noteCall } from './to-inboxes.ts'

export type NamingDeps = {
  readonly origin: string
  readonly records: Records
  readonly now: () => number
}

const digestLength = 32

/** Whatever it is made of, a public id tells nothing of it. */
export async function newNoteIri(origin: string, agent: string, seed: string): Promise<string> {
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
    const named = await nameFiles(draft, { id, seed: clientId, origin: deps.origin })
    return noteCall(named, createNoteActivity(named, { origin: deps.origin, id, published }), author.inbox, false)
  } catch {
    return undefined
  }
}

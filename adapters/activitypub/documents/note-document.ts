// One post, for its readers. Other clients get the same answer as for a post that never was.
import type { JsonObject } from '../../../src/contract/index.ts'
import { followerKey, ownFamilies } from '../wire/own-records.ts'
import { isPublicNote, type OwnNote } from './own-notes.ts'
import type { DocumentDeps } from './settings.ts'

export type NoteReading =
  | { readonly kind: 'shown'; readonly note: JsonObject; readonly isPrivate: boolean }
  /** It was taken back. */
  | { readonly kind: 'gone'; readonly at: string }
  | { readonly kind: 'nothing' }

export async function readNote(
  deps: Pick<DocumentDeps, 'notes' | 'records' | 'places' | 'signerOf'>,
  { agent, id }: { readonly agent: string; readonly id: string },
  request: Request,
): Promise<NoteReading> {
  const found = await deps.notes.find(agent, id)
  if (found === undefined) return { kind: 'nothing' }
  // That there was a direct note is not told to others, also when it is gone.
  if (found.deletedAt !== undefined)
    return isPublicNote(found.visibility) ? { kind: 'gone', at: found.deletedAt } : { kind: 'nothing' }
  const { note } = found
  if (note === undefined) return { kind: 'nothing' }
  if (isPublicNote(found.visibility)) return { kind: 'shown', note, isPrivate: false }
  const mayRead = await isReader(deps, agent, { ...found, note }, request)
  return mayRead ? { kind: 'shown', note, isPrivate: true } : { kind: 'nothing' }
}

async function isReader(
  { signerOf, records, places }: Pick<DocumentDeps, 'records' | 'places' | 'signerOf'>,
  agent: string,
  { note }: OwnNote & { readonly note: JsonObject },
  request: Request,
): Promise<boolean> {
  const signer = await signerOf(request)
  if (signer === undefined) return false
  const readers = ['to', 'cc'].flatMap((name) => note[name] ?? []).filter((each) => typeof each === 'string')
  if (readers.includes(signer)) return true
  if (!readers.includes(places.collection(agent, 'followers'))) return false
  return (await records.get(ownFamilies.follower, followerKey(agent, signer))) !== undefined
}

// One activity about a note of ours, to every inbox that must have it. Pure.
import type { JsonObject, RenderedCall } from '../../../src/contract/index.ts'
import type { KeptFacts, NoteCall, Recipient } from '../wire/call.ts'

export type Told = KeptFacts & { readonly agent: string }

/** Inboxes beyond these are not sent anything; their readers find the note at its address. */
const maxInboxes = 4900

export function noteCall(told: Told, activity: JsonObject, inbox: string, isShared: boolean): NoteCall {
  const { agent, visibility, recipients, files } = told
  const keeps = { visibility, recipients, ...(files === undefined ? {} : { files }) }
  return { op: 'deliver', agent, inbox, is_shared: isShared, activity, keeps }
}

/** Public and unlisted notes go once to each server; a direct one only to its recipients. The first is the person who is answered. */
export function toInboxes(
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

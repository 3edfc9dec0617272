// Edits or deletes a note that was sent: every server that got it is told.
import type { JsonObject, Records, RenderedCall } from '../../../src/contract/index.ts'
import { parseMarkdown, writeMarkdown } from '../../../src/markdown/index.ts'
import { type Note, renderNote } from '../render/note.ts'
import { deleteNoteActivity, updateNoteActivity } from '../render/note-activity.ts'
import { prependMentions } from '../render/reply-text.ts'
import type { KeptFacts, NoteRecord } from '../wire/delivery.ts'
import { listFollowerInboxes, toInboxes } from './expand-recipients.ts'

/** `record`: the note from now on. `calls`: who is to be told, and of what. */
export type ChangedNote = { readonly record: NoteRecord; readonly calls: readonly RenderedCall[] }

type Change = { readonly agent: string; readonly at: number }

/** The note as one that says this. Undefined: it does not fit into one note. */
export function renderNoteEdit({ note, recipients }: NoteRecord, markdown: string, limit: number): Note | undefined {
  const names = mentionHrefs(note)
  // Whom it calls stays as it was: they stand before the new words, where they are written down already or not.
  const tree = prependMentions(parseMarkdown(dropLeadingNames([...names.keys()], markdown)), [...names.keys()])
  const recipientPage = (actor: string | undefined) => recipients.find((each) => each.actor === actor)?.url ?? actor
  const [said, ...more] = renderNote(tree, { limit, hrefOf: (name) => recipientPage(names.get(name)) })
  return more.length > 0 ? undefined : said
}

export async function editNote(
  records: Records,
  record: NoteRecord,
  said: Note,
  { agent, at }: Change,
): Promise<ChangedNote> {
  const version = (record.version ?? 0) + 1
  const source = writeMarkdown({ type: 'root', children: said.blocks })
  const activity = updateNoteActivity(record, { content: said.html, source, version, updated: updatedTime(record, at) })
  // Made above: the object of an Update is the note itself.
  const changed = { ...record, note: activity['object'] as JsonObject, version }
  return { record: changed, calls: await callsToReaders(records, changed, agent, activity) }
}

export async function deleteNote(records: Records, record: NoteRecord, { agent, at }: Change): Promise<ChangedNote> {
  const { visibility, recipients, audience } = record
  const activity = deleteNoteActivity(record, new Date(at).toISOString())
  const gone = { visibility, recipients, audience, note: activity['object'] as JsonObject }
  return { record: gone, calls: await callsToReaders(records, gone, agent, activity) }
}

async function callsToReaders(
  records: Records,
  { visibility, recipients, files }: KeptFacts,
  agent: string,
  activity: JsonObject,
): Promise<readonly RenderedCall[]> {
  const followers = visibility === 'direct' ? [] : await listFollowerInboxes(records, agent)
  const kept = { visibility, recipients, ...(files === undefined ? {} : { files }) }
  return toInboxes({ agent, ...kept }, activity, followers, false)
}

function updatedTime({ note }: NoteRecord, now: number): string {
  const before = Math.max(...[note['published'], note['updated'] ?? ''].map((at) => Date.parse(String(at)) || 0))
  return new Date(Math.max(now, before + 1)).toISOString()
}

function dropLeadingNames(names: readonly string[], markdown: string): string {
  let rest = markdown.trimStart()
  for (let isFound = true; isFound; ) {
    const name = names.find((each) => rest.toLowerCase().startsWith(`${each.toLowerCase()} `))
    isFound = name !== undefined
    if (name !== undefined) rest = rest.slice(name.length).trimStart()
  }
  return rest
}

function mentionHrefs({ tag }: JsonObject): ReadonlyMap<string, string> {
  const named = new Map<string, string>()
  for (const each of Array.isArray(tag) ? tag : []) {
    if (typeof each !== 'object' || each === null || !('name' in each) || !('href' in each)) continue
    named.set(String(each['name']), String(each['href']))
  }
  return named
}

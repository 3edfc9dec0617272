// A note that was said is said in other words, or taken back: everybody who was told of it is told of that (mail 3.7).
import type { JsonObject, Records, RenderedCall } from '../../../src/contract/index.ts'
import { parseMarkdown, renderNote, writeMarkdown } from '../../../src/rendering/index.ts'
import { deleteOf, updateOf } from '../render/activity.ts'
import { calling } from '../render/words.ts'
import { type ChangeCall, type NoteRecord, noteFamily } from '../wire/call.ts'
import { followersOf } from './followers.ts'
import { toInboxes } from './to-inboxes.ts'

export type ChangeDeps = { readonly records: Records; readonly now: () => number }

/** None: there is no such note, or it was taken back before. */
export async function changeNote(deps: ChangeDeps, call: ChangeCall): Promise<readonly RenderedCall[]> {
  const record = await noteOf(deps, call.id)
  if (record === undefined) return []
  const { markdown } = call
  const activity =
    markdown === null
      ? deleteOf(record, new Date(deps.now()).toISOString())
      : updateOf(record, {
          ...wordsFor(record, markdown),
          version: call.version,
          updated: laterThan(record, deps.now()),
        })
  const { visibility, recipients } = record
  const followers = visibility === 'direct' ? [] : await followersOf(deps.records, call.agent)
  return toInboxes({ agent: call.agent, visibility, recipients }, activity, followers, true)
}

/** Whom it calls stays as it was: they stand before the new words. */
function wordsFor({ note }: NoteRecord, markdown: string): { readonly content: string; readonly source: string } {
  const names = calledIn(note)
  const tree = calling(parseMarkdown(markdown), [...names.keys()])
  const [said] = renderNote(tree, { limit: Number.MAX_SAFE_INTEGER, hrefOf: (name) => names.get(name) })
  return {
    content: said?.html ?? '',
    source: said === undefined ? '' : writeMarkdown({ type: 'root', children: said.blocks }),
  }
}

function laterThan({ note }: NoteRecord, now: number): string {
  const published = Date.parse(String(note['published']))
  return new Date(Math.max(now, published + 1)).toISOString()
}

async function noteOf({ records }: ChangeDeps, id: string): Promise<NoteRecord | undefined> {
  // Only this adapter writes this family.
  const record = (await records.get(noteFamily, id)) as NoteRecord | undefined
  return record?.note['type'] === 'Note' ? record : undefined
}

function calledIn({ tag }: JsonObject): ReadonlyMap<string, string> {
  const named = new Map<string, string>()
  for (const each of Array.isArray(tag) ? tag : []) {
    if (typeof each !== 'object' || each === null || !('name' in each) || !('href' in each)) continue
    named.set(String(each['name']), String(each['href']))
  }
  return named
}

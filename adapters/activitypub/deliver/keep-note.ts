// Notes of ours are kept before anybody is told of them: whoever was told asks for them.
import type { JsonObject, Records } from '../../../src/contract/index.ts'
import { type InboxCall, type KeptFacts, type NoteRecord, noteFamily, outboxFamily, outboxKey } from '../wire/call.ts'

const remembered = 500

/** `withdrawn`: it was taken back meanwhile, and nobody is told of it any more. `failed`: nobody may be told yet. */
export type Kept = 'kept' | 'withdrawn' | 'failed'
export type KeepNote = (call: InboxCall) => Promise<Kept>

export function createKeepNote(records: Records): KeepNote {
  // One note goes to many inboxes; what it was changed into is written once by each process.
  const written = new Set<string>()
  return async (call) => {
    const { activity, agent } = call
    const keeps = call['keeps'] as KeptFacts | undefined
    const id = String(activity['id'])
    if (keeps === undefined || (activity['type'] !== 'Create' && written.has(id))) return 'kept'
    try {
      const kept = await keep(records, activity, recordOf(activity, keeps), agent)
      if (written.size >= remembered) written.clear()
      written.add(id)
      return kept
    } catch {
      return 'failed'
    }
  }
}

async function keep(records: Records, { type }: JsonObject, record: NoteRecord, agent: string): Promise<Kept> {
  const id = String(record.note['id'])
  // What was said to one person alone is forgotten with them.
  const [author] = record.recipients
  const subject = record.visibility === 'direct' ? author?.actor : undefined
  const facts = { agent, ...(subject === undefined ? {} : { subject }) }
  if (type !== 'Create') {
    if (type === 'Delete') await unlist(records, id)
    await records.put(noteFamily, id, record, facts)
    return 'kept'
  }
  // What was said first must not come back over what it was changed into.
  const isNew = await records.put(noteFamily, id, record, { ...facts, isOnce: true })
  if (!isNew && typeOf((await records.get(noteFamily, id))?.['note']) === 'Tombstone') return 'withdrawn'
  const { published } = record.note
  if (record.visibility !== 'direct' && typeof published === 'string')
    await records.put(outboxFamily, outboxKey(id, published), { id, published }, { agent, isOnce: true })
  return 'kept'
}

/** What is taken back is found in the outbox no more. */
async function unlist(records: Records, id: string): Promise<void> {
  const note = (await records.get(noteFamily, id))?.['note']
  const published = typeof note === 'object' && note !== null && 'published' in note ? note['published'] : undefined
  if (typeof published === 'string') await records.remove(outboxFamily, outboxKey(id, published))
}

function typeOf(note: unknown): unknown {
  return typeof note === 'object' && note !== null && 'type' in note ? note.type : undefined
}

function recordOf(activity: JsonObject, { visibility, recipients, files }: KeptFacts): NoteRecord {
  // Made by this adapter: the object of such an activity is the note itself.
  const note = activity['object'] as JsonObject
  const audience = [activity['to'], activity['cc']].flatMap((each) => (Array.isArray(each) ? each : []))
  return {
    ...{ note, visibility, recipients, audience: audience.filter((each) => typeof each === 'string') },
    ...(files === undefined ? {} : { files }),
  }
}

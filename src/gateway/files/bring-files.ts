// Hop 7, before the agent runs: the files of the turn's messages are opened at their platform once and kept. Only here, where
// every member is admitted: a stranger's message never causes a download.
import type { Json, KnownPart, Part } from '../../contract/index.ts'
import type { Absorbed } from '../../sessions/absorb-edits.ts'
import { deriveAttachmentId } from './attachment-id.ts'
import { bringFile, type FetchContext } from './bring-file.ts'
import { type FilePart, isFilePart, listAttachmentIds } from './file-part.ts'

const atOnce = 3

/** The same entries with files that are kept, or with words about why not. */
export async function bringFiles(scene: FetchContext, entries: readonly Absorbed[]): Promise<readonly Absorbed[]> {
  const tasks = entries.flatMap(({ message }, entry) =>
    message.parts.flatMap((part, index) => (needsBringing(part) ? [{ entry, index, part }] : [])),
  )
  const brought = new Map<string, KnownPart>()
  await inParallel(atOnce, tasks, async ({ entry, index, part }) => {
    const of = entries[entry]
    if (of !== undefined) brought.set(`${entry}:${index}`, await fetchFileOnce(scene, of, index, part))
  })
  const whole = entries.map((each, entry) => {
    const parts = each.message.parts.map((part, index) => brought.get(`${entry}:${index}`) ?? part)
    return tasks.length === 0 ? each : { ...each, message: { ...each.message, parts } }
  })
  await inUse(scene, whole)
  return whole
}

function needsBringing(part: Part): part is FilePart {
  return isFilePart(part) && part.attachment === undefined
}

/**
 * A step without effect: finished, it is not done again by a later try or in a replay; broken off, it is, and finds by its id
 * what it had stored.
 */
async function fetchFileOnce(scene: FetchContext, entry: Absorbed, index: number, part: FilePart): Promise<KnownPart> {
  const { deps, step } = scene
  // An edit may have put another file in its place; it is another one then.
  const id = await deriveAttachmentId(deps.hash, ['in', deps.tenant, entry.row.id, index, part.bytes_ref as Json])
  const bring = (): Promise<Json> => bringFile(scene, { id, message: entry.message, part }) as Promise<Json>
  // The journal gives back the part that was put into it.
  return (await step('parley/file', bring, { effect: false, args: id })) as KnownPart
}

/** From now on they live as long as the message and the session that refer to them. */
async function inUse({ deps, ready }: FetchContext, entries: readonly Absorbed[]): Promise<void> {
  for (const { row, message } of entries) {
    const ids = listAttachmentIds(message.parts)
    const by = { inboxId: row.id, sessionId: ready.turn.sessionId || null }
    if (ids.length > 0) await deps.attachments.use(ids, by)
  }
}

async function inParallel<T>(limit: number, items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  let next = 0
  const worker = async (): Promise<void> => {
    for (let item = items[next++]; item !== undefined; item = items[next++]) await work(item)
  }
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, worker))
}

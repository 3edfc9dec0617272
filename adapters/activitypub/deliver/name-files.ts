// Stored files of a note get their addresses with its id: others fetch them hours later, and again. A reader needs only the address.
import type { JsonObject } from '../../../src/contract/index.ts'
import { sha256Hex } from '../../../src/lib/index.ts'
import { type DraftCall, type NoteFile, storedScheme } from '../wire/call.ts'
import { mediaIri } from '../wire/names.ts'

const nameLength = 32

/** `seed`: secret, and the same on every try. */
export async function nameFiles(
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

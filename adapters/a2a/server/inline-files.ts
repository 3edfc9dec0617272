// Inlines stored files into an answer: rows hold ids, so their bytes are put in before it is written.
import {
  type FileSource,
  isKnownPart,
  type KnownPart,
  type NormalizedResponse,
  type Part,
  type TaskSnapshot,
} from '../../../src/contract/index.ts'
import { encodeBase64 } from '../../../src/lib/index.ts'

/** Beyond this a file is not sent along: its reader fetches it from where it says. */
const maxBytes = 4 * 1024 * 1024

export type Filled = <T extends readonly Part[]>(parts: T) => Promise<readonly Part[]>

export function createPartFileInliner(files: FileSource | undefined): Filled {
  return async (parts) => {
    // Most answers are words alone.
    if (files === undefined || !parts.some(hasStoredBytes)) return parts
    return Promise.all(parts.map((part) => (hasStoredBytes(part) ? inlineStoredFile(files, part) : part)))
  }
}

export async function inlineResponseFiles(fill: Filled, said: NormalizedResponse): Promise<NormalizedResponse> {
  return { ...said, parts: [...(await fill(said.parts))] }
}

export async function inlineSnapshotFiles(fill: Filled, snapshot: TaskSnapshot): Promise<TaskSnapshot> {
  const { task, messages, outputs } = snapshot
  return {
    ...snapshot,
    task: task.said === null ? task : { ...task, said: await inlineResponseFiles(fill, task.said) },
    messages: await Promise.all(
      messages.map(async (each) =>
        each.role === 'user' ? each : { ...each, said: await inlineResponseFiles(fill, each.said) },
      ),
    ),
    outputs: await Promise.all(outputs.map(async (each) => ({ ...each, parts: await fill(each.parts) }))),
  }
}

type StoredFile = Extract<KnownPart, { kind: 'file' | 'artifact' }> & {
  readonly attachment: { readonly id: string }
}

function hasStoredBytes(part: Part): part is StoredFile {
  return isKnownPart(part) && (part.kind === 'file' || part.kind === 'artifact') && part.attachment !== undefined
}

async function inlineStoredFile(files: FileSource, part: StoredFile): Promise<Part> {
  const { attachment } = part
  const file = await files.open(attachment.id)
  if (file === undefined) return part
  if (file.size > maxBytes) {
    await file.body.cancel()
    const url = (await files.link?.(attachment.id))?.url
    return url === undefined ? part : { ...part, bytes_ref: { kind: 'url', url } }
  }
  const bytes = new Uint8Array(await new Response(file.body).arrayBuffer())
  return { ...part, bytes_ref: { kind: 'inline', data_base64: encodeBase64(bytes) } }
}

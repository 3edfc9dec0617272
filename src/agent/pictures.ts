// Pictures that a model is shown: lines name them by id, and their bytes are read when the model is asked. No line, and so
// no journal and no transcript, ever holds them.
import { isKnownPart, type Part } from '../contract/index.ts'
import { asFields } from './fields.ts'
import type { ModelRequest } from './loop/model.ts'

export type Picture = { readonly id: string; readonly mime: string }
export type LoadedPicture = { readonly mime: string; readonly bytes: Uint8Array }

const shownTypes: ReadonlySet<string> = new Set(['image/png', 'image/jpeg', 'image/webp', 'image/gif'])
const maxPictures = 8
/** What providers take of one; a larger picture is named in the text like any other file. */
const maxBytes = 5_000_000

/** The payload of a line that is shown with pictures. */
export function picturePayload(parts: readonly Part[]): { readonly pictures?: readonly Picture[] } {
  const pictures = parts.flatMap((part) => partPicture(part) ?? []).slice(0, maxPictures)
  return pictures.length === 0 ? {} : { pictures }
}

export async function loadPictures({ messages, readFile }: ModelRequest): Promise<ReadonlyMap<string, LoadedPicture>> {
  const loaded = new Map<string, LoadedPicture>()
  if (readFile === undefined) return loaded
  for (const { id, mime } of messages.flatMap((line) => payloadPictures(line.payload))) {
    const bytes = loaded.has(id) ? undefined : await readFile(id, maxBytes)
    if (bytes !== undefined) loaded.set(id, { mime, bytes })
  }
  return loaded
}

export function payloadPictures(payload: Readonly<Record<string, unknown>>): readonly Picture[] {
  const { pictures } = payload
  if (!Array.isArray(pictures)) return []
  return pictures.map(asFields).map(({ id, mime }) => ({ id: String(id), mime: String(mime) }))
}

function partPicture(part: Part): Picture | undefined {
  if (!isKnownPart(part) || part.kind !== 'file' || part.attachment === undefined) return undefined
  const { mime = '', size = maxBytes + 1, attachment } = part
  return shownTypes.has(mime) && size <= maxBytes ? { id: attachment.id, mime } : undefined
}

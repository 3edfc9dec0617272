// A file that goes with a post, for readers that know its address: as long as the post is there, and the file is.
import type { FileSource } from '../../../src/contract/index.ts'
import { notFoundResponse, problemResponse } from './answers.ts'
import { isPublicNote, type OwnNotes } from './own-notes.ts'
import type { DocumentPath } from './places.ts'

export type MediaDeps = { readonly notes: Pick<OwnNotes, 'find'>; readonly files: FileSource | undefined }

/** Others keep what is public for so long, and ask again. */
const kept = 'public, max-age=3600'

export async function serveMedia(
  { notes, files }: MediaDeps,
  { agent, id, name }: Extract<DocumentPath, { kind: 'media' }>,
  request: Request,
): Promise<Response> {
  const found = await notes.find(agent, id)
  if (found === undefined) return notFoundResponse()
  const isOpen = isPublicNote(found.visibility)
  if (found.deletedAt !== undefined) return isOpen ? fileGoneResponse() : notFoundResponse()
  const attachment = found.files.find((each) => each.name === name)?.attachment
  if (attachment === undefined) return notFoundResponse()
  const answer = await files?.answer?.(attachment, request)
  if (answer === undefined) return fileGoneResponse()
  if (isOpen) answer.headers.set('cache-control', kept)
  // Programs in browsers show posts, too; who has the address may read it in any case.
  answer.headers.set('access-control-allow-origin', '*')
  return answer
}

function fileGoneResponse(): Response {
  return problemResponse(410, 'this file is no more')
}

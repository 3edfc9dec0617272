// A stored file as the answer to a request: whole, in a range, or not again, under headers that make it inert. Who may ask was judged before.
import { GatewayError } from '../contract/index.ts'
import type { AttachmentDescriptor } from './descriptor.ts'
import type { AttachmentService } from './desk.ts'
import { parseRange } from './parse-range.ts'
import { servingHeaders } from './serving-headers.ts'

/** Parts of a file, and files that are known already (RFC 9110). */
const fileStatus = { whole: 200, part: 206, notModified: 304, unsatisfiable: 416 } as const

export async function serveFile(
  { open }: Pick<AttachmentService, 'open'>,
  request: Request,
  file: AttachmentDescriptor,
): Promise<Response> {
  const headers: Record<string, string> = { ...servingHeaders(file) }
  const { etag = '' } = headers
  if (matchesEtag(request.headers.get('if-none-match'), etag))
    return new Response(null, {
      status: fileStatus.notModified,
      headers: { etag, 'cache-control': 'private, no-store' },
    })
  const condition = request.headers.get('if-range')
  const asked = condition === null || condition === etag ? request.headers.get('range') : null
  const reading = parseRange(asked, file.size)
  if (reading.kind === 'unsatisfiable')
    return new Response(null, { status: fileStatus.unsatisfiable, headers: { 'content-range': reading.contentRange } })
  const range = reading.kind === 'part' ? reading.range : undefined
  headers['content-length'] = String(range === undefined ? file.size : range.end - range.start + 1)
  if (reading.kind === 'part') headers['content-range'] = reading.contentRange
  const status = range === undefined ? fileStatus.whole : fileStatus.part
  // A body would be neither read nor closed.
  if (request.method === 'HEAD') return new Response(null, { status, headers })
  const body = await open(file, range)
  if (body === undefined) throw new GatewayError('not_found', 'this file is gone; send it again')
  return new Response(body, { status, headers })
}

function matchesEtag(given: string | null, etag: string): boolean {
  if (given === null) return false
  return given.trim() === '*' || given.split(',').some((each) => each.trim().replace(/^W\//, '') === etag)
}

// GET /storage/v1/object/sign/{bucket}/{path}?token=…: the bytes behind one of our handles, under headers that make them inert.
import type { Context, Hono } from 'hono'
import type { AttachmentDescriptor } from '../attachments/descriptor.ts'
import { parseRange } from '../attachments/parse-range.ts'
import { servingHeaders } from '../attachments/serving-headers.ts'
import { GatewayError } from '../contract/index.ts'
import type { AppDeps } from './deps.ts'
import { fileRefused, fileStatus, respond } from './status.ts'

type Deps = Pick<AppDeps, 'files' | 'rawUrlOf'>

export function addStorageRoutes(app: Hono, deps: Deps): void {
  app.get('/storage/v1/object/sign/*', async (context) => {
    // Not the path as the router decoded it: whether it was resolved or escaped is part of what is judged.
    const redeemed = await deps.files.desk.redeem(deps.rawUrlOf?.(context) ?? context.req.url)
    if (redeemed.kind === 'refused') return respond(fileRefused(redeemed, deps.files.desk.maxBytes))
    return serve(deps, context, redeemed.descriptor)
  })
}

async function serve(deps: Deps, context: Context, file: AttachmentDescriptor): Promise<Response> {
  const headers: Record<string, string> = { ...servingHeaders(file) }
  const { etag = '' } = headers
  if (matches(context.req.header('if-none-match'), etag))
    return new Response(null, {
      status: fileStatus.notModified,
      headers: { etag, 'cache-control': 'private, no-store' },
    })
  const condition = context.req.header('if-range')
  const asked = condition === undefined || condition === etag ? context.req.header('range') : undefined
  const reading = parseRange(asked, file.size)
  if (reading.kind === 'unsatisfiable')
    return new Response(null, { status: fileStatus.unsatisfiable, headers: { 'content-range': reading.contentRange } })
  const range = reading.kind === 'part' ? reading.range : undefined
  headers['content-length'] = String(range === undefined ? file.size : range.end - range.start + 1)
  if (reading.kind === 'part') headers['content-range'] = reading.contentRange
  const status = range === undefined ? fileStatus.whole : fileStatus.part
  // Nobody would read it, and nobody would close it.
  if (context.req.method === 'HEAD') return new Response(null, { status, headers })
  const body = await deps.files.desk.open(file, range)
  if (body === undefined) throw new GatewayError('not_found', 'this file is gone; send it again')
  return new Response(body, { status, headers })
}

function matches(given: string | undefined, etag: string): boolean {
  if (given === undefined) return false
  return given.trim() === '*' || given.split(',').some((each) => each.trim().replace(/^W\//, '') === etag)
}

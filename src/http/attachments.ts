// POST /api/v1/agent/attachments and the fresh URL of what was uploaded.
import type { Context, Hono } from 'hono'
import type { AttachmentDescriptor } from '../attachments/descriptor.ts'
import { GatewayError } from '../contract/index.ts'
import type { ApiCaller } from './api-callers.ts'
import type { AppDeps } from './deps.ts'
import { identified } from './identified.ts'
import { boundaryOf } from './multipart/parameters.ts'
import { fieldsFirst, receiveUpload } from './receive-upload.ts'
import { created, fileRefused, respond, unsupportedType } from './status.ts'
import { unreadRest } from './unread-rest.ts'

/** What a form may hold beside its file. */
const formBytes = 64 * 1024

export function addAttachmentRoutes(app: Hono, deps: AppDeps): void {
  app.post('/api/v1/agent/attachments', (context) => upload(deps, context))
  app.get('/api/v1/agent/attachments/signed-url', (context) => signedUrl(deps, context))
}

async function upload(deps: AppDeps, context: Context): Promise<Response> {
  const { body } = context.req.raw
  const rest = unreadRest(body, deps.files.desk.maxBytes)
  try {
    const found = await identified(deps, context)
    if (found instanceof Response) return await rest.spare(found)
    return await rest.spare(await take(deps, context, found, rest.reader))
  } catch (error) {
    await rest.discard()
    throw error
  } finally {
    rest.release()
  }
}

async function take(
  deps: AppDeps,
  context: Context,
  { at, subject }: ApiCaller,
  reader: ReadableStreamDefaultReader<Uint8Array> | undefined,
): Promise<Response> {
  const { desk } = deps.files
  const boundary = boundaryOf(context.req.header('content-type'))
  if (boundary === undefined || reader === undefined) return respond(unsupportedType())
  if (Number(context.req.header('content-length') ?? 0) > desk.maxBytes + formBytes)
    return respond(fileRefused({ code: 'SU_TOO_LARGE', remedy: '' }, desk.maxBytes))
  // It is known whose it is, and it flows into the store: nothing of it is held.
  deps.bodyTaken?.(context)
  const { receivedVia } = at.adapter.capabilities
  const { outcome, isInOrder } = await receiveUpload(
    { store: desk.store, principal: subject, receivedVia },
    reader,
    boundary,
  )
  if (outcome.kind === 'refused') return respond(fileRefused(outcome, desk.maxBytes))
  const { descriptor } = outcome
  if (!isInOrder) {
    await desk.remove(descriptor.id, subject)
    throw new GatewayError('bad_request', `the form does not end after its file; ${fieldsFirst}`)
  }
  const { url } = await desk.handle(descriptor, { principal: subject, kind: 'person' })
  const { bucket, path, mimeType } = descriptor
  return respond(created({ bucket, path, mime_type: mimeType, url }))
}

/** Only their own files exist for a caller. */
async function signedUrl(deps: AppDeps, context: Context): Promise<Response> {
  const found = await identified(deps, context)
  if (found instanceof Response) return found
  const { bucket = '', path = '' } = context.req.query()
  const own = (await deps.files.byAddress(bucket, path)).find((each) => isServed(each, found))
  if (own === undefined)
    throw new GatewayError('not_found', 'no such file of yours; ask with the bucket and path of an upload of your own')
  const { url } = await deps.files.desk.handle(own, { principal: own.owner.principal, kind: 'person' })
  return context.json({ bucket, path, url }, { headers: { 'cache-control': 'private, no-store' } })
}

/** Theirs by what they proved, or by whom an operator says that makes them. */
export function isServed({ owner, status }: AttachmentDescriptor, { subject, principal }: ApiCaller): boolean {
  return status === 'ready' && (owner.principal === subject || owner.principal === principal)
}

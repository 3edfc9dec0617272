// POST /api/v1/agent/attachments and the fresh URL of what was uploaded.
import type { Context, Hono } from 'hono'
import { GatewayError } from '../contract/index.ts'
import type { AttachmentDescriptor } from '../files/attachment.ts'
import type { ApiCaller } from './api-callers.ts'
import type { AppDeps } from './deps.ts'
import { identifyApiCaller } from './identified.ts'
import { formBoundary } from './multipart/parameters.ts'
import { fieldsFirstRemedy, receiveUpload } from './receive-upload.ts'
import { createdAnswer, fileRefusedAnswer, toResponse, unsupportedTypeAnswer } from './status.ts'
import { createBodyDrain } from './unread-rest.ts'

/** What a form may hold beside its file. */
const formBytes = 64 * 1024

export function addAttachmentRoutes(app: Hono, deps: AppDeps): void {
  app.post('/api/v1/agent/attachments', (context) => uploadAttachment(deps, context))
  app.get('/api/v1/agent/attachments/signed-url', (context) => answerSignedUrl(deps, context))
}

async function uploadAttachment(deps: AppDeps, context: Context): Promise<Response> {
  const { body } = context.req.raw
  const rest = createBodyDrain(body, deps.files.desk.maxBytes)
  try {
    const found = await identifyApiCaller(deps, context)
    if (found instanceof Response) return await rest.respondAfterDrain(found)
    return await rest.respondAfterDrain(await receiveForm(deps, context, found, rest.reader))
  } catch (error) {
    await rest.discard()
    throw error
  } finally {
    rest.release()
  }
}

async function receiveForm(
  deps: AppDeps,
  context: Context,
  { at, subject }: ApiCaller,
  reader: ReadableStreamDefaultReader<Uint8Array> | undefined,
): Promise<Response> {
  const { desk } = deps.files
  const boundary = formBoundary(context.req.header('content-type'))
  if (boundary === undefined || reader === undefined) return toResponse(unsupportedTypeAnswer())
  if (Number(context.req.header('content-length') ?? 0) > desk.maxBytes + formBytes)
    return toResponse(fileRefusedAnswer({ code: 'SU_TOO_LARGE', remedy: '' }, desk.maxBytes))
  // It is known whose it is, and it flows into the store: nothing of it is held.
  deps.bodyTaken?.(context)
  const { receivedVia } = at.adapter.capabilities
  const { outcome, isInOrder } = await receiveUpload(
    { store: desk.store, principal: subject, receivedVia },
    reader,
    boundary,
  )
  if (outcome.kind === 'refused') return toResponse(fileRefusedAnswer(outcome, desk.maxBytes))
  const { descriptor } = outcome
  if (!isInOrder) {
    await desk.remove(descriptor.id, subject)
    throw new GatewayError('bad_request', `the form does not end after its file; ${fieldsFirstRemedy}`)
  }
  const { url } = await desk.handle(descriptor, { principal: subject, kind: 'person' })
  const { bucket, path, mimeType } = descriptor
  return toResponse(createdAnswer({ bucket, path, mime_type: mimeType, url }))
}

/** Only their own files exist for a caller. */
async function answerSignedUrl(deps: AppDeps, context: Context): Promise<Response> {
  const found = await identifyApiCaller(deps, context)
  if (found instanceof Response) return found
  const { bucket = '', path = '' } = context.req.query()
  const own = (await deps.files.byAddress(bucket, path)).find((each) => isServedToCaller(each, found))
  if (own === undefined)
    throw new GatewayError('not_found', 'no such file of yours; ask with the bucket and path of an upload of your own')
  const { url } = await deps.files.desk.handle(own, { principal: own.owner.principal, kind: 'person' })
  return context.json({ bucket, path, url }, { headers: { 'cache-control': 'private, no-store' } })
}

/** Theirs by what they proved, or by whom an operator says that makes them. */
export function isServedToCaller({ owner, status }: AttachmentDescriptor, { subject, principal }: ApiCaller): boolean {
  return status === 'ready' && (owner.principal === subject || owner.principal === principal)
}

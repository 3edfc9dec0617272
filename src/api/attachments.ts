// Files over HTTP: uploads and their fresh URLs, downloads by signed URL, and the operator's list.
import type { Context, Hono } from 'hono'
import { callerId, GatewayError, plainIdRemedy } from '../contract/index.ts'
import type { AttachmentDescriptor, AttachmentService, StoreOutcome } from '../files/attachment.ts'
import { serveFile } from '../files/serve-file.ts'
import { actorName, recordAct } from './admin-access.ts'
import type { ApiCaller } from './api-callers.ts'
import type { AppDeps } from './deps.ts'
import { createdAnswer, fileRefusedAnswer, toResponse, unsupportedTypeAnswer } from './http-answers.ts'
import { identifyApiCaller } from './identify-caller.ts'
import { type FormPart, formBoundary, type Multipart, readMultipart } from './multipart.ts'
import { idParam, nextPageMark, readIdPage } from './request-input.ts'

/** What a form may hold beside its file. */
const formBytes = 64 * 1024

export function addAttachmentRoutes(app: Hono, deps: AppDeps): void {
  app.post('/api/v1/agent/attachments', (context) => uploadAttachment(deps, context))
  app.get('/api/v1/agent/attachments/signed-url', (context) => answerSignedUrl(deps, context))
}

async function uploadAttachment(deps: AppDeps, context: Context): Promise<Response> {
  const { body } = context.req.raw
  const rest = createBodyDrain(body, deps.files.service.maxBytes)
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
  const { service: desk } = deps.files
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
  const { url } = await deps.files.service.handle(own, { principal: own.owner.principal, kind: 'person' })
  return context.json({ bucket, path, url }, { headers: { 'cache-control': 'private, no-store' } })
}

/** Theirs by what they proved, or by whom an operator says that makes them. */
export function isServedToCaller({ owner, status }: AttachmentDescriptor, { subject, principal }: ApiCaller): boolean {
  return status === 'ready' && (owner.principal === subject || owner.principal === principal)
}

// The body of an upload: fields first, then one file, which flows into the store while it comes in.

export type UploadDeps = {
  readonly store: AttachmentService['store']
  /** Whose it is and where it came from, once the fields before the file are known. */
  readonly receivedVia: string
  readonly principal: string
}

export type UploadFields = { readonly threadId: string | null }

const maxFieldBytes = 2048
const maxThreadId = 512

const fieldsFirstRemedy = 'put threadId and runId before the file, and send one file per request'

/** What came of the file, and whether what came after it was as it should be: only then may it be kept. */
export type ReceivedUpload = { readonly outcome: StoreOutcome; readonly isInOrder: boolean }

async function receiveUpload(
  deps: UploadDeps,
  reader: ReadableStreamDefaultReader<Uint8Array>,
  boundary: string,
): Promise<ReceivedUpload> {
  const form = readMultipart(reader, boundary)
  let threadId: string | null = null
  for (let part = await form.next(); part !== undefined; part = await form.next()) {
    if (part.filename === undefined) {
      const value = await readFormField(part)
      if (part.name === 'threadId') threadId = readThreadId(value)
      continue
    }
    const outcome = await storeFormFile(deps, part, { threadId })
    return { outcome, isInOrder: outcome.kind === 'refused' || (await hasNoLateFields(form)) }
  }
  throw new GatewayError('bad_request', 'there is no file in the form; send one, as curl -F file=@name does')
}

function storeFormFile({ store, principal, receivedVia }: UploadDeps, part: FormPart, { threadId }: UploadFields) {
  const { body, contentType, filename = '' } = part
  return store({
    body,
    ...(contentType === undefined ? {} : { declaredMime: contentType }),
    ...(filename === '' ? {} : { name: filename }),
    owner: { principal, threadId },
    origin: { receivedVia, nativeId: null },
  })
}

/** An unknown field may stand anywhere; one that says whose the file is came too late. */
async function hasNoLateFields(form: Multipart): Promise<boolean> {
  try {
    for (let part = await form.next(); part !== undefined; part = await form.next()) {
      if (part.filename !== undefined || part.name === 'threadId') return false
      await readFormField(part)
    }
    return true
  } catch (error) {
    if (error instanceof GatewayError) return false
    throw error
  }
}

async function readFormField({ name, body }: FormPart): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  let size = 0
  for await (const bytes of body) {
    size += bytes.byteLength
    if (size > maxFieldBytes)
      throw new GatewayError(
        'bad_request',
        `the field ${JSON.stringify(name.slice(0, 64))} is longer than ${maxFieldBytes} bytes`,
      )
    text += decoder.decode(bytes, { stream: true })
  }
  return text + decoder.decode()
}

function readThreadId(value: string): string | null {
  const threadId = value.trim()
  if (threadId === '') return null
  if (callerId(maxThreadId).safeParse(threadId).success) return threadId
  throw new GatewayError('bad_request', `threadId must have at most ${maxThreadId} characters; ${plainIdRemedy}`)
}

// A client that is still sending reads no answer until its body is read, so a refusal first drains a bounded rest; a longer one
// ends with the connection.

export type BodyDrain = {
  readonly reader: ReadableStreamDefaultReader<Uint8Array> | undefined
  /** The answer, once as much as may be has been passed over; with the connection's end where there is more. */
  readonly respondAfterDrain: (answer: Response) => Promise<Response>
  readonly discard: () => Promise<boolean>
  readonly release: () => void
}

const maxDrainMs = 5_000
/** Times the largest file that is taken: most uploads that are too large are read to their end. */
const drainFactor = 4

function createBodyDrain(body: ReadableStream<Uint8Array> | null, maxBytes: number): BodyDrain {
  const reader = body?.getReader()
  const discardRest = async (): Promise<boolean> => {
    if (reader === undefined) return true
    const { promise: late, resolve } = Promise.withResolvers<false>()
    const timer = setTimeout(() => resolve(false), maxDrainMs)
    try {
      return await Promise.race([drainReader(reader, maxBytes * drainFactor), late])
    } finally {
      clearTimeout(timer)
    }
  }
  return {
    reader,
    discard: discardRest,
    async respondAfterDrain(answer) {
      if (await discardRest()) return answer
      await reader?.cancel().catch(() => {})
      const headers = new Headers(answer.headers)
      headers.set('connection', 'close')
      return new Response(answer.body, { status: answer.status, headers })
    },
    release() {
      reader?.releaseLock()
    },
  }
}

/** True: there was no more than that. */
async function drainReader(reader: ReadableStreamDefaultReader<Uint8Array>, maxBytes: number): Promise<boolean> {
  try {
    for (let passed = 0; passed <= maxBytes; ) {
      const { done, value } = await reader.read()
      if (done) return true
      passed += value.byteLength
    }
  } catch {
    // The sender is gone: the rest is not needed.
    return true
  }
  return false
}

// For operators: which files there are, whose they are, deleting one, and a new key for signed URLs.

export function addAdminAttachmentRoutes(app: Hono, deps: Pick<AppDeps, 'files' | 'audit'>): void {
  app.get('/admin/attachments', async (context) => {
    const page = readIdPage(context)
    const found = await deps.files.service.list(page)
    return context.json({ attachments: found, next: nextPageMark(found, page.limit, (each) => each.id) })
  })
  app.post('/admin/attachments/rotate-key', async (context) => {
    await deps.files.rotateKey(actorName(context))
    return context.json({ ok: true })
  })
  app.get('/admin/attachments/:id', async (context) => {
    const [attachment] = await deps.files.service.find([idParam(context)])
    if (attachment === undefined) throw attachmentNotFound()
    return context.json({ attachment })
  })
  app.delete('/admin/attachments/:id', async (context) => {
    const id = idParam(context)
    if (await deps.files.service.remove(id, actorName(context))) return context.json({ ok: true })
    await recordAct(deps, context, { action: 'attachment.delete', outcome: 'refused', code: 'not_found', objectId: id })
    throw attachmentNotFound()
  })
}

function attachmentNotFound(): GatewayError {
  return new GatewayError('not_found', 'no such file, or it is deleted already; list them with GET /admin/attachments')
}

// GET /storage/v1/object/sign/{bucket}/{path}?token=…: the bytes behind a signed URL, under headers that make them inert.

type Deps = Pick<AppDeps, 'files' | 'rawUrlOf'>

export function addStorageRoutes(app: Hono, deps: Deps): void {
  app.get('/storage/v1/object/sign/*', async (context) => {
    // Not the path as the router decoded it: whether it was resolved or escaped is part of what is judged.
    const redeemed = await deps.files.service.redeem(deps.rawUrlOf?.(context) ?? context.req.url)
    if (redeemed.kind === 'refused') return toResponse(fileRefusedAnswer(redeemed, deps.files.service.maxBytes))
    return serveFile(deps.files.service, context.req.raw, redeemed.descriptor)
  })
}

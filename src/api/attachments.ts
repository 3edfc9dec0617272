// Files over HTTP: uploads and their fresh URLs, downloads by signed URL, and the operator's list.
import type { Context } from 'hono'
import * as z from 'zod'
import { callerChosenIdSchema, plainIdRemedy } from '../contract/index.ts'
import type { AttachmentDescriptor, AttachmentService, StoreOutcome } from '../files/attachment.ts'
import { serveFile } from '../files/serve-file.ts'
import { GatewayError } from '../lib/errors.ts'
import { actorName, auditCallerAction } from './admin-access.ts'
import type { ApiCaller } from './api-callers.ts'
import { exampleId, formatFieldRows, type ResourceCommands } from './command.ts'
import type { AppDeps } from './deps.ts'
import { answerToResponse, createdAnswer, fileRefusedAnswer, unsupportedTypeAnswer } from './http-answers.ts'
import { identifyApiCaller } from './identify-caller.ts'
import { type FormPart, formBoundary, type Multipart, readMultipart } from './multipart.ts'
import {
  createNextPageMark,
  defineOperation,
  defineResource,
  done,
  doneSchema,
  idPageQuerySchema,
  instantSchema,
  nextId,
} from './resource.ts'

/** What a form may hold beside its file. */
const formBytes = 64 * 1024

const uploadedSchema = z
  .object({ bucket: z.string(), path: z.string(), mime_type: z.string(), url: z.string() })
  .meta({ id: 'Attachment', description: 'A stored file; its URL works for a few minutes' })
export type Attachment = z.infer<typeof uploadedSchema>

const attachmentSchema = z
  .object({
    id: z.uuid(),
    store: z.string().meta({ description: 'Name of the configured store that holds the bytes' }),
    bucket: z.string(),
    path: z.string(),
    mimeType: z.string().meta({ description: 'Sniffed from the bytes' }),
    size: z.number().int(),
    sha256: z.string(),
    name: z.string().nullable(),
    owner: z.object({ principal: z.string(), threadId: z.string().nullable() }),
    origin: z.object({ receivedVia: z.string(), nativeId: z.string().nullable() }),
    status: z.enum(['ready', 'blocked', 'deleted']),
    createdAt: instantSchema,
  })
  .meta({ id: 'AttachmentDescriptor', description: 'Whose a file is, what it is and where its bytes are' })

export const attachments = defineResource({
  name: 'attachments',
  tag: 'Operator: files',
  audience: 'operator',
  operations: {
    upload: defineOperation({
      method: 'post',
      path: '/api/v1/agent/attachments',
      id: 'uploadAttachment',
      tag: 'Talking to agents',
      audience: 'caller',
      summary: 'Stores a file, to be sent with a message',
      about: 'Fields come before the file: threadId and runId, both optional.',
      body: {
        mediaType: 'multipart/form-data',
        schema: z.object({
          threadId: z.string().optional(),
          runId: z.string().optional(),
          file: z.string().meta({ format: 'binary' }),
        }),
        maxBytes: Number.POSITIVE_INFINITY,
        remedy: 'send a form',
      },
      answers: {
        201: {
          what: 'Where it is, and a URL for the message that refers to it',
          schema: uploadedSchema,
          example: {
            bucket: 'agent-files',
            path: 'default/t1/r1/0198.png',
            mime_type: 'image/png',
            url: 'https://bot.example.org/storage/v1/object/sign/agent-files/default/t1/r1/0198.png?token=…',
          },
        },
      },
      problems: [400, 403, 413, 415, 501],
      respond: uploadAttachment,
    }),
    signedUrl: defineOperation({
      method: 'get',
      path: '/api/v1/agent/attachments/signed-url',
      id: 'signAttachmentUrl',
      tag: 'Talking to agents',
      audience: 'caller',
      summary: 'Gives a fresh URL of a file of your own',
      query: z.object({ bucket: z.string(), path: z.string() }),
      returns: 'The URL',
      output: z.object({ bucket: z.string(), path: z.string(), url: z.string() }),
      problems: [403, 404],
      respond: answerWithFreshSignedUrl,
    }),
    // The bytes behind a signed URL, under headers that make them inert.
    download: defineOperation({
      method: 'get',
      path: '/storage/v1/object/sign/*',
      id: 'getFile',
      tag: 'Talking to agents',
      audience: 'anybody',
      summary: 'The bytes behind a URL that was handed out',
      params: { '*': z.string().meta({ description: 'Bucket and path of the file' }) },
      query: z.object({
        token: z.string().meta({ description: 'What the URL came with; it names one file and ends soon' }),
      }),
      headers: { range: 'A part of it (RFC 9110)' },
      answers: {
        200: { what: 'The file', mediaType: 'application/octet-stream' },
        206: { what: 'The part that was asked for', mediaType: 'application/octet-stream' },
        304: { what: 'You have it' },
      },
      problems: [400, 401, 403, 404, 416],
      async respond(deps, context) {
        // Not the path as the router decoded it: whether it was resolved or escaped is part of what is judged.
        const redeemed = await deps.files.service.redeem(deps.rawUrlOf?.(context) ?? context.req.url)
        if (redeemed.kind === 'refused')
          return answerToResponse(fileRefusedAnswer(redeemed, deps.files.service.maxBytes))
        return serveFile(deps.files.service, context.req.raw, redeemed.descriptor)
      },
    }),
    list: defineOperation({
      method: 'get',
      path: '/admin/attachments',
      id: 'listAttachments',
      summary: 'Lists files',
      query: idPageQuerySchema(),
      output: z.object({ attachments: z.array(attachmentSchema), next: nextId }),
      async handle({ deps, query: { limit, before = null } }) {
        const found = await deps.files.service.list({ limit, before })
        return { attachments: found, next: createNextPageMark(found, limit, (each) => each.id) }
      },
    }),
    rotateKey: defineOperation({
      method: 'post',
      path: '/admin/attachments/rotate-key',
      id: 'rotateFileKey',
      summary: 'Ends every URL that was handed out',
      output: doneSchema,
      async handle({ deps, context }) {
        await deps.files.rotateKey(actorName(context))
        return done
      },
    }),
    get: defineOperation({
      method: 'get',
      path: '/admin/attachments/:id',
      id: 'getAttachment',
      summary: 'Shows a file',
      output: z.object({ attachment: attachmentSchema }),
      problems: [404],
      async handle({ deps, params }) {
        const [attachment] = await deps.files.service.find([params.id])
        if (attachment === undefined) throw attachmentNotFoundError()
        return { attachment }
      },
    }),
    delete: defineOperation({
      method: 'delete',
      path: '/admin/attachments/:id',
      id: 'deleteAttachment',
      summary: 'Deletes a file',
      output: doneSchema,
      problems: [404],
      async handle({ deps, context, params: { id } }) {
        if (await deps.files.service.remove(id, actorName(context))) return done
        const attempt = { action: 'attachment.delete', outcome: 'refused', code: 'not_found', objectId: id }
        await auditCallerAction(deps, context, attempt)
        throw attachmentNotFoundError()
      },
    }),
  },
})

function attachmentNotFoundError(): GatewayError {
  return new GatewayError('not_found', 'no such file, or it is deleted already; list them with GET /admin/attachments')
}

const fileWord = { id: 'Id of a file, as the list shows it' }

export const attachmentsCommands = () =>
  ({
    description: 'Files that people sent and agents made.',
    examples: ['parley attachments list', `parley attachments show ${exampleId}`],
    commands: {
      list: {
        name: 'list',
        description: 'List files, newest first.',
        examples: ['parley attachments list', 'parley attachments list --limit 100 --json'],
        rows: 'attachments',
        columns: {
          ID: 'id',
          STATUS: 'status',
          TYPE: 'mimeType',
          BYTES: 'size',
          OWNER: ({ owner }) => owner.principal,
          VIA: ({ origin }) => origin.receivedVia,
          SINCE: 'createdAt',
          NAME: 'name',
        },
        empty: 'No files.',
      },
      get: {
        name: 'show',
        description: 'Show whose a file is, what it is and where its bytes are.',
        examples: [`parley attachments show ${exampleId}`],
        about: fileWord,
        text: ({ attachment: { owner, origin, ...facts } }) => formatFieldRows({ ...facts, ...owner, ...origin }),
      },
      delete: {
        name: 'delete',
        description: 'Delete a file: it cannot be read any more, and its bytes go unless another sender sent the same.',
        examples: [`parley attachments delete ${exampleId} --yes`],
        about: fileWord,
        confirm: ({ id }) => `Delete the file ${id} for good?`,
        text: (_, { isOffline }) => `Deleted. Its bytes go ${isOffline ? 'once a gateway runs' : 'within minutes'}.`,
      },
      rotateKey: {
        name: 'rotate-key',
        description: 'Sign handles with a new key; those signed with the old one end within the hour.',
        examples: ['parley attachments rotate-key'],
        text: () => 'Handles are signed with a new key from now on.',
      },
    },
  }) as const satisfies ResourceCommands<typeof attachments>

async function uploadAttachment(deps: AppDeps, context: Context): Promise<Response> {
  const { body } = context.req.raw
  const rest = createBodyDrain(body, deps.files.service.maxBytes)
  try {
    const found = await identifyApiCaller(deps, context)
    if (found instanceof Response) return await rest.respondAfterDrain(found)
    return await rest.respondAfterDrain(await receiveFileForm(deps, context, found, rest.reader))
  } catch (error) {
    await rest.discard()
    throw error
  } finally {
    rest.release()
  }
}

async function receiveFileForm(
  deps: AppDeps,
  context: Context,
  { at, subject }: ApiCaller,
  reader: ReadableStreamDefaultReader<Uint8Array> | undefined,
): Promise<Response> {
  const { service: attachments } = deps.files
  const boundary = formBoundary(context.req.header('content-type'))
  if (boundary === undefined || reader === undefined) return answerToResponse(unsupportedTypeAnswer())
  if (Number(context.req.header('content-length') ?? 0) > attachments.maxBytes + formBytes)
    return answerToResponse(fileRefusedAnswer({ code: 'SU_TOO_LARGE', remedy: '' }, attachments.maxBytes))
  // It is known whose it is, and it flows into the store: nothing of it is held.
  deps.bodyTaken?.(context)
  const { receivedVia } = at.adapter.capabilities
  const { outcome, isInOrder } = await receiveUpload(
    { store: attachments.store, principal: subject, receivedVia },
    reader,
    boundary,
  )
  if (outcome.kind === 'refused') return answerToResponse(fileRefusedAnswer(outcome, attachments.maxBytes))
  const { descriptor } = outcome
  if (!isInOrder) {
    await attachments.remove(descriptor.id, subject)
    throw new GatewayError('bad_request', `the form does not end after its file; ${fieldsFirstRemedy}`)
  }
  const { url } = await attachments.handle(descriptor, { principal: subject, kind: 'person' })
  const { bucket, path, mimeType } = descriptor
  return answerToResponse(createdAnswer({ bucket, path, mime_type: mimeType, url }))
}

/** Only their own files exist for a caller. */
async function answerWithFreshSignedUrl(deps: AppDeps, context: Context): Promise<Response> {
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
    return { outcome, isInOrder: outcome.kind === 'refused' || (await hasNoMoreFilesOrThreadId(form)) }
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
async function hasNoMoreFilesOrThreadId(form: Multipart): Promise<boolean> {
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
  if (callerChosenIdSchema(maxThreadId).safeParse(threadId).success) return threadId
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
  const discardRestOfBody = async (): Promise<boolean> => {
    if (reader === undefined) return true
    const { promise: late, resolve } = Promise.withResolvers<false>()
    const timer = setTimeout(() => resolve(false), maxDrainMs)
    try {
      return await Promise.race([drainStreamUpTo(reader, maxBytes * drainFactor), late])
    } finally {
      clearTimeout(timer)
    }
  }
  return {
    reader,
    discard: discardRestOfBody,
    async respondAfterDrain(answer) {
      if (await discardRestOfBody()) return answer
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
async function drainStreamUpTo(reader: ReadableStreamDefaultReader<Uint8Array>, maxBytes: number): Promise<boolean> {
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

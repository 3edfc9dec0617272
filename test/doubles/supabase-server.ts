// Supabase Storage on loopback, written from its REST documentation and its resumable-upload guide. It refuses every route, header
// and size it does not know, and keeps bytes in files, so that tests measure our memory and not its own.
import { createReadStream, createWriteStream } from 'node:fs'
import { mkdir, mkdtemp, readdir, rename, rm, stat, truncate } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { jwtVerify, SignJWT } from 'jose'
import { parseRange } from '../../src/files/serve-file.ts'

export type SupabaseServer = {
  readonly url: string
  readonly key: string
  readonly bucket: string
  /** Objects and unfinished uploads. */
  readonly everything: () => Promise<readonly string[]>
  /** Content type and size of an object, as the server keeps it. */
  readonly types: ReadonlyMap<string, string>
  /** Requests nobody declared; a test that leaves one behind is wrong. */
  readonly undeclared: readonly string[]
  /** Every answer from now on has this status. */
  readonly failWith: (status: number | undefined) => void
  readonly close: () => Promise<void>
}

type Answer = { readonly status: number; readonly headers?: Record<string, string>; readonly body?: object | string }
type Upload = { readonly object: string; readonly contentType: string; offset: number; length: number | undefined }
type State = {
  readonly folder: string
  readonly key: string
  readonly bucket: string
  readonly types: Map<string, string>
  readonly uploads: Map<string, Upload>
  readonly undeclared: string[]
  status: number | undefined
}

const partBytes = 6 * 1024 * 1024
const signingKey = new TextEncoder().encode('the url signing key of this project')

export async function startSupabaseServer(): Promise<SupabaseServer> {
  const state: State = {
    folder: await mkdtemp(join(tmpdir(), 'parley-supabase-')),
    key: `sb_secret_${crypto.randomUUID()}`,
    bucket: 'agent-files',
    types: new Map(),
    uploads: new Map(),
    undeclared: [],
    status: undefined,
  }
  await mkdir(join(state.folder, 'uploads'))
  const server = createServer((request, response) => {
    void answer(state, request, response).catch(() => response.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    key: state.key,
    bucket: state.bucket,
    types: state.types,
    undeclared: state.undeclared,
    everything: async () => {
      const entries = await readdir(state.folder, { recursive: true, withFileTypes: true })
      return entries.flatMap((entry) => (entry.isFile() ? [entry.name] : []))
    },
    failWith: (status) => {
      state.status = status
    },
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      await rm(state.folder, { recursive: true, force: true })
    },
  }
}

async function answer(state: State, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const outcome = state.status === undefined ? await route(state, request, response) : { status: state.status }
  if (outcome === undefined) return
  request.resume()
  const isText = typeof outcome.body === 'string' || outcome.body === undefined
  response.writeHead(outcome.status, { ...(isText ? {} : { 'content-type': 'application/json' }), ...outcome.headers })
  response.end(isText ? outcome.body : JSON.stringify(outcome.body))
}

/** Refusals are a 400 that tells the true status in the body, as the service does. */
function failure(statusCode: string, error: string, message: string): Answer {
  return { status: 400, body: { statusCode, error, message } }
}

async function route(state: State, request: IncomingMessage, response: ServerResponse): Promise<Answer | undefined> {
  const { pathname, searchParams } = new URL(request.url ?? '', 'http://self')
  const signed = /^\/storage\/v1\/object\/sign\/([^/]+\/.+)$/.exec(pathname)?.[1]
  if (signed !== undefined && request.method === 'GET') return getSigned(state, signed, searchParams, request, response)
  const { authorization, apikey } = request.headers
  if (authorization !== `Bearer ${state.key}` || apikey !== state.key) {
    return failure('403', 'Unauthorized', 'Invalid Compact JWS')
  }
  if (signed !== undefined && request.method === 'POST') return sign(state, signed, request)
  const read = /^\/storage\/v1\/object\/authenticated\/([^/]+\/.+)$/.exec(pathname)?.[1]
  if (read !== undefined && request.method === 'GET') return getObject(state, read, request, response)
  const object = /^\/storage\/v1\/object\/(?!authenticated\/|sign\/)([^/]+\/.+)$/.exec(pathname)?.[1]
  if (object !== undefined && request.method === 'POST') return postObject(state, object, request)
  if (object !== undefined && request.method === 'DELETE') return deleteObject(state, object)
  const upload = /^\/storage\/v1\/upload\/resumable(?:\/([\w-]+))?$/.exec(pathname)
  if (upload !== null) return resumable(state, upload[1], request)
  state.undeclared.push(`${request.method} ${pathname}`)
  return failure('404', 'not_found', 'Route not found')
}

function fileOf(state: State, object: string): string {
  return join(state.folder, 'objects', object)
}

async function postObject(state: State, object: string, request: IncomingMessage): Promise<Answer> {
  const refused = newObjectProblem(state, object)
  if (refused !== undefined) return refused
  const { 'content-type': contentType, 'x-upsert': upsert } = request.headers
  if (contentType === undefined || upsert !== 'false') return failure('422', 'invalid_request', 'headers missing')
  await mkdir(dirname(fileOf(state, object)), { recursive: true })
  await pipeline(request, createWriteStream(fileOf(state, object)))
  state.types.set(object, contentType)
  return { status: 200, body: { Id: crypto.randomUUID(), Key: object } }
}

function newObjectProblem(state: State, object: string): Answer | undefined {
  if (!object.startsWith(`${state.bucket}/`)) return failure('404', 'Bucket not found', 'Bucket not found')
  return state.types.has(object) ? failure('409', 'Duplicate', 'The resource already exists') : undefined
}

async function deleteObject(state: State, object: string): Promise<Answer> {
  if (!state.types.delete(object)) return failure('404', 'not_found', 'Object not found')
  await rm(fileOf(state, object))
  return { status: 200, body: { message: 'Successfully deleted' } }
}

async function getObject(
  state: State,
  object: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<Answer | undefined> {
  const type = state.types.get(object)
  if (type === undefined) return failure('404', 'not_found', 'Object not found')
  const { size } = await stat(fileOf(state, object))
  const reading = parseRange(request.headers.range, size)
  if (reading.kind === 'unsatisfiable') return { status: 416, headers: { 'content-range': reading.contentRange } }
  const range = reading.kind === 'part' ? reading.range : { start: 0, end: size - 1 }
  const extra = reading.kind === 'part' ? { 'content-range': reading.contentRange } : {}
  response.writeHead(reading.kind === 'part' ? 206 : 200, { 'content-type': type, 'accept-ranges': 'bytes', ...extra })
  await pipeline(createReadStream(fileOf(state, object), range), response)
  return undefined
}

async function sign(state: State, object: string, request: IncomingMessage): Promise<Answer> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const body = JSON.parse(Buffer.concat(chunks).toString()) as { readonly expiresIn?: number }
  if (!Number.isInteger(body.expiresIn) || (body.expiresIn ?? 0) < 1) return failure('422', 'invalid', 'expiresIn')
  if (!state.types.has(object)) return failure('404', 'not_found', 'Object not found')
  const now = Math.floor(Date.now() / 1000)
  const token = await new SignJWT({ url: object, scope: 'download' })
    .setProtectedHeader({ alg: 'HS256' })
    .setIssuedAt(now)
    .setExpirationTime(now + (body.expiresIn ?? 0))
    .sign(signingKey)
  return { status: 200, body: { signedURL: `/object/sign/${object}?token=${token}` } }
}

async function getSigned(
  state: State,
  object: string,
  query: URLSearchParams,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<Answer | undefined> {
  const verified = await jwtVerify(query.get('token') ?? '', signingKey).catch(() => undefined)
  if (verified?.payload['url'] !== object) return failure('400', 'InvalidSignature', 'The signature does not match')
  if (query.has('download')) response.setHeader('content-disposition', 'attachment;')
  return getObject(state, object, request, response)
}

async function resumable(state: State, id: string | undefined, request: IncomingMessage): Promise<Answer> {
  if (request.headers['tus-resumable'] !== '1.0.0') return { status: 412 }
  if (id === undefined) return request.method === 'POST' ? createUpload(state, request) : { status: 405 }
  const upload = state.uploads.get(id)
  if (upload === undefined) return { status: 404 }
  if (request.method === 'PATCH') return patchUpload(state, id, upload, request)
  if (request.method !== 'DELETE') return { status: 405 }
  state.uploads.delete(id)
  await rm(join(state.folder, 'uploads', id), { force: true })
  return { status: 204, headers: { 'tus-resumable': '1.0.0' } }
}

function createUpload(state: State, request: IncomingMessage): Answer {
  const { 'upload-defer-length': deferred, 'upload-length': length, 'upload-metadata': metadata } = request.headers
  const pairs = String(metadata)
    .split(',')
    .map((pair) => pair.split(' '))
  const facts = new Map(pairs.map(([name, value]) => [name, Buffer.from(value ?? '', 'base64').toString()]))
  const object = `${facts.get('bucketName')}/${facts.get('objectName')}`
  if ((deferred === '1') === (length !== undefined)) return { status: 400 }
  const refused = newObjectProblem(state, object)
  if (refused !== undefined) return { ...refused, status: 409 }
  const id = Buffer.from(`${object}/${crypto.randomUUID()}`).toString('base64url')
  const contentType = facts.get('contentType') ?? 'application/octet-stream'
  state.uploads.set(id, { object, contentType, offset: 0, length: length === undefined ? undefined : Number(length) })
  // Behind a proxy the service names a host that is not the one it was reached by.
  const location = `http://storage.internal/storage/v1/upload/resumable/${id}`
  return { status: 201, headers: { 'tus-resumable': '1.0.0', location } }
}

async function patchUpload(state: State, id: string, upload: Upload, request: IncomingMessage): Promise<Answer> {
  if (request.headers['content-type'] !== 'application/offset+octet-stream') return { status: 415 }
  if (request.headers['upload-offset'] !== String(upload.offset)) return { status: 409 }
  const declared = request.headers['upload-length']
  if (declared !== undefined && upload.length !== undefined) return { status: 400 }
  if (declared !== undefined) upload.length = Number(declared)
  const place = join(state.folder, 'uploads', id)
  try {
    await pipeline(request, createWriteStream(place, { flags: 'a' }))
  } catch (error) {
    await truncate(place, upload.offset)
    throw error
  }
  const offset = (await stat(place)).size
  const isWhole = offset === upload.length
  if (!isWhole && offset - upload.offset !== partBytes) return { status: 400 }
  upload.offset = offset
  if (isWhole) {
    await mkdir(dirname(fileOf(state, upload.object)), { recursive: true })
    await rename(place, fileOf(state, upload.object))
    state.types.set(upload.object, upload.contentType)
    state.uploads.delete(id)
  }
  return { status: 204, headers: { 'tus-resumable': '1.0.0', 'upload-offset': String(offset) } }
}

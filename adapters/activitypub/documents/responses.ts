// HTTP responses of documents: their type, who may cache them, and for how long.
import type { JsonObject } from '../../../src/lib/index.ts'

const activityType = 'application/activity+json; charset=utf-8'
const kept = 'public, max-age=180'
const methods = 'GET, HEAD, OPTIONS'

/** Undefined: it is to be read. */
export function answerNonReadMethod({ method }: Request): Response | undefined {
  if (method === 'GET' || method === 'HEAD') return undefined
  const allowed = { allow: methods, ...open }
  if (method === 'OPTIONS')
    return new Response(null, { status: 204, headers: { ...allowed, 'access-control-allow-methods': methods } })
  return problemResponse(405, 'this can only be read', allowed)
}

/** Readable from any origin, pages in browsers included. */
const open = { 'access-control-allow-origin': '*' } as const

type Serving = {
  readonly status?: number
  /** For the requester alone: no cache may keep it. */
  readonly isPrivate?: boolean
  readonly type?: string
}

export function jsonDocument(request: Request, document: JsonObject, serving: Serving = {}): Response {
  const { type = activityType } = serving
  return createDocumentResponse(request, JSON.stringify(document), { 'content-type': type, ...open }, serving)
}

export function textDocument(request: Request, text: string, type: string): Response {
  return createDocumentResponse(request, text, { 'content-type': type, ...open }, {})
}

export function htmlDocument(request: Request, html: string, policy: string, serving: Serving = {}): Response {
  const headers = {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': policy,
    'referrer-policy': 'no-referrer',
  }
  return createDocumentResponse(request, html, headers, serving)
}

function createDocumentResponse(
  { method }: Request,
  body: string,
  headers: Readonly<Record<string, string>>,
  { status = 200, isPrivate = false }: Serving,
): Response {
  return new Response(method === 'HEAD' ? null : body, {
    status,
    headers: {
      ...headers,
      vary: isPrivate ? 'Accept, Signature, Signature-Input' : 'Accept',
      'cache-control': isPrivate ? 'private, no-store' : kept,
      'x-content-type-options': 'nosniff',
    },
  })
}

/** Says nothing of what is there for others. */
export function problemResponse(
  status: number,
  detail: string,
  headers: Readonly<Record<string, string>> = {},
): Response {
  return new Response(JSON.stringify({ error: detail }), {
    status,
    headers: {
      'content-type': 'application/json',
      'cache-control': 'no-store',
      vary: 'Accept',
      'x-content-type-options': 'nosniff',
      ...headers,
    },
  })
}

export function notFoundResponse(): Response {
  return problemResponse(404, 'there is nothing at this address')
}

// Public documents: built when asked for, signed once for as long as they say the same, cached by their readers.
import type { JsonObject } from '../../../src/contract/index.ts'
import { canonicalJson, sha256Hex } from '../../../src/lib/index.ts'
import { createFault } from '../wire/faults.ts'

export type CardDocument = { readonly body: string; readonly etag: string; readonly modifiedMs: number }

/** `finish` is given the document as it is now, and makes of it what is served. */
export type DocumentCache = (
  name: string,
  content: JsonObject,
  finish: (content: JsonObject) => Promise<JsonObject>,
) => Promise<CardDocument>

const maxKept = 128

export function createDocumentCache(now: () => number): DocumentCache {
  const known = new Map<string, { readonly text: string; readonly document: Promise<CardDocument> }>()
  return async (name, content, finish) => {
    const text = canonicalJson(content)
    const before = known.get(name)
    if (before?.text === text) return before.document
    if (known.size >= maxKept) known.clear()
    const document = makeCardDocument(text, content, finish, now())
    known.set(name, { text, document })
    // A build that failed is tried again by the next reader.
    document.catch(() => known.delete(name))
    return document
  }
}

/** Named by what it says, not by its bytes: a signature differs each time it is made. */
async function makeCardDocument(
  text: string,
  content: JsonObject,
  finish: (content: JsonObject) => Promise<JsonObject>,
  nowMs: number,
): Promise<CardDocument> {
  const [hash, finished] = await Promise.all([sha256Hex(text), finish(content)])
  return {
    body: JSON.stringify(finished),
    etag: `W/"${hash.slice(0, 32)}"`,
    // HTTP dates know whole seconds.
    modifiedMs: Math.floor(nowMs / 1000) * 1000,
  }
}

const methods = 'GET, HEAD, OPTIONS'

export type Serving = { readonly maxAgeSeconds: number; readonly vary?: string }

/** Answers for the methods that a document knows; undefined: it is to be read. */
export function checkCardMethod(request: Request): Response | undefined {
  if (request.method === 'GET' || request.method === 'HEAD') return undefined
  if (request.method === 'OPTIONS')
    return new Response(null, {
      status: 204,
      headers: { allow: methods, 'access-control-allow-methods': methods, ...open },
    })
  const { message } = createFault('method_not_allowed', `this document can only be read; use ${methods}`)
  const error = { code: 405, status: 'UNIMPLEMENTED', message, details: [] }
  return new Response(JSON.stringify({ error }), {
    status: 405,
    headers: { allow: methods, 'content-type': 'application/json' },
  })
}

/** Cards may be read from any origin, pages in browsers included. */
const open = { 'access-control-allow-origin': '*' } as const

export function cardResponse(request: Request, document: CardDocument, { maxAgeSeconds, vary }: Serving): Response {
  const headers = {
    etag: document.etag,
    'last-modified': new Date(document.modifiedMs).toUTCString(),
    'cache-control': `public, max-age=${maxAgeSeconds}`,
    ...(vary === undefined ? {} : { vary }),
    ...open,
  }
  if (isNotModified(request.headers, document)) return new Response(null, { status: 304, headers })
  const body = request.method === 'HEAD' ? null : document.body
  return new Response(body, { status: 200, headers: { ...headers, 'content-type': 'application/json' } })
}

/** RFC 9110 section 13: a name that is given goes before a date. */
function isNotModified(headers: Headers, { etag, modifiedMs }: CardDocument): boolean {
  const names = headers.get('if-none-match')
  if (names !== null) return names.split(',').some((name) => ['*', etag, etag.slice(2)].includes(name.trim()))
  const since = Date.parse(headers.get('if-modified-since') ?? '')
  return !Number.isNaN(since) && modifiedMs <= since
}

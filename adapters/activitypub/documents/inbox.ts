// The inbox routes: the request as an inbound event, and its outcome as a status that other servers understand.
import type { ListenResult, RawRequest, ServeContext, TransportAnswer } from '../../../src/contract/index.ts'
import { readBody } from '../../../src/lib/index.ts'
import { isActivityMediaType } from '../vocab.ts'
import { problemResponse } from './responses.ts'

export type Inbox = {
  readonly maxBodyBytes: number
  /** Whether an activity may stand by a proof of its own, without a signature of the request. */
  readonly acceptsProofs: boolean
}

/** `agent`: whose inbox it is; undefined: the shared inbox. */
export type Delivered = { readonly request: Request; readonly door: ServeContext; readonly agent: string | undefined }

export async function serveInbox(inbox: Inbox, { request, door }: Delivered): Promise<Response> {
  const { maxBodyBytes, acceptsProofs } = inbox
  if (request.method !== 'POST') return problemResponse(405, 'activities are delivered here by POST', { allow: 'POST' })
  if (!isActivityMediaType(request.headers.get('content-type') ?? undefined))
    return problemResponse(415, 'send application/activity+json, or application/ld+json with its profile')
  // Without any signature the body is not read.
  if (!acceptsProofs && (request.headers.get('signature') ?? '') === '')
    return toInboxResponse({
      kind: 'rejected',
      reason: 'missing_credential',
      trace: door.logRejection('missing_credential'),
    })
  const bytes = await readBody(request, maxBodyBytes)
  if (bytes === undefined) return problemResponse(413, `send at most ${maxBodyBytes} bytes`)
  return toInboxResponse(await door.receive(toRawInboxRequest(request, door, bytes)))
}

/** What a signature is over, besides the headers, under names that no header has. */
function toRawInboxRequest(request: Request, door: ServeContext, bytes: Uint8Array): RawRequest {
  const { host, pathname, search } = new URL(request.url)
  const headers = Object.fromEntries(request.headers)
  return {
    bytes,
    headers: { ...headers, ':path': `${pathname}${search}`, ':authority': headers['host'] ?? host },
    receivedAt: door.receivedAt,
    from: door.from,
  }
}

const retrySeconds = '60'

/** A sender that a rule turns away learns nothing from it: to them it was delivered. */
function toInboxResponse(answer: ListenResult): Response {
  if (answer.kind !== 'stored' && answer.answer !== undefined) return transportResponse(answer.answer)
  switch (answer.kind) {
    case 'stored':
    case 'rejected_event':
      return new Response(null, { status: 202, headers: { 'cache-control': 'no-store' } })
    case 'later':
      return problemResponse(503, 'not now; deliver it again later', { 'retry-after': retrySeconds })
    case 'spent':
      return problemResponse(429, 'too much from people we do not know; deliver it again later', {
        'retry-after': '3600',
      })
    case 'unreadable':
      return problemResponse(400, 'this activity cannot be read')
    case 'rejected':
      return problemResponse(
        answer.reason === 'malformed_request' ? 400 : 401,
        `refused: ${answer.reason}`,
        traceHeader(answer),
      )
    default:
      return answer satisfies never
  }
}

function transportResponse({ status, headers, body }: TransportAnswer): Response {
  const type = body === undefined ? {} : { 'content-type': 'application/json' }
  return new Response(body ?? null, { status, headers: { ...type, 'cache-control': 'no-store', ...headers } })
}

function traceHeader({ trace }: { readonly trace?: string }): Readonly<Record<string, string>> {
  return trace === undefined ? {} : { 'x-parley-trace': trace }
}

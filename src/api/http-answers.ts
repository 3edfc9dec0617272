// HTTP status codes and problem details (RFC 9457) of every outcome, as tables. No status number stands anywhere else.
import * as z from 'zod'
import { bearerChallenge, bearerErrorCode } from '../contract/caller.ts'
import type { ReceiveResult, RejectReason, TransportAnswer } from '../contract/index.ts'
import type { SignedUrlCode } from '../files/attachment.ts'
import type { ErrorCode } from '../lib/errors.ts'

const rejectionStatuses: Readonly<
  Record<RejectReason, { status: number; remedy: string; retryAfterSeconds?: number }>
> = {
  missing_credential: {
    status: 401,
    remedy:
      'send Authorization: Bearer with a token (parley tokens create --scope run), or ask through the socket in the data folder (curl --unix-socket); for a webhook, the credential this connection was configured with',
  },
  wrong_credential: { status: 401, remedy: 'compare the credential with the one this connection was configured with' },
  invalid_token: {
    status: 401,
    remedy: 'send Authorization: Bearer with a token that is valid; make one with parley tokens create --scope run',
  },
  insufficient_scope: {
    status: 403,
    remedy:
      'this token may not do that; make one with parley tokens create --scope run, or have its issuer add the scope',
  },
  token_issuer: {
    status: 401,
    remedy: 'tokens of this issuer are not taken here; get one from an issuer that is configured',
  },
  token_algorithm: {
    status: 401,
    remedy: 'have the token signed with one of EdDSA, ES256, RS256, PS256, as configured',
  },
  token_key: { status: 401, remedy: 'the issuer publishes no key of that name (kid) that fits; get a new token' },
  token_key_header: { status: 401, remedy: 'send a token without jku, jwk, x5u and x5c in its header' },
  token_signature: { status: 401, remedy: 'the signature is not by the issuer’s key; get a new token' },
  token_type: { status: 401, remedy: 'send an access token (typ at+jwt, or as configured), not an id_token' },
  token_audience: {
    status: 401,
    remedy: 'this token is made out to another audience; ask its issuer for one for this agent',
  },
  token_expired: { status: 401, remedy: 'get a new token' },
  token_not_yet_valid: { status: 401, remedy: 'wait until the token is valid, or compare the clocks' },
  token_lifetime: { status: 401, remedy: 'send a token with iat and exp that lives no longer than is configured' },
  token_inactive: { status: 401, remedy: 'its issuer says that this token is not active; get a new one' },
  token_replayed: { status: 401, remedy: 'tokens of this issuer count once; get a new one for every request' },
  issuer_unavailable: {
    status: 503,
    remedy: 'the issuer of this token cannot be asked now; try again shortly',
    retryAfterSeconds: 30,
  },
  wrong_agent: { status: 403, remedy: 'this token is for another agent; use one that was made for this one' },
  bad_signature: { status: 401, remedy: 'the signature does not match the configured key or secret' },
  stale_timestamp: { status: 401, remedy: 'check the clock of the sender' },
  future_timestamp: { status: 401, remedy: 'check the clock of the sender' },
  replayed: { status: 401, remedy: 'sign every request anew' },
  not_allowed_here: { status: 403, remedy: 'call this from the machine the gateway runs on, or send a token' },
  foreign_page: {
    status: 403,
    remedy: 'a web page elsewhere sent this; send Authorization: Bearer with a token, or open the page of this gateway',
  },
  malformed_request: { status: 415, remedy: 'send Content-Type: application/json' },
}

const errorStatuses: Readonly<Partial<Record<ErrorCode, { status: number; retryAfterSeconds?: number }>>> = {
  storage_unavailable: { status: 503, retryAfterSeconds: 1 },
  storage_overloaded: { status: 503, retryAfterSeconds: 2 },
  storage_full: { status: 507, retryAfterSeconds: 600 },
  too_many_watchers: { status: 503, retryAfterSeconds: 5 },
  stopping: { status: 503, retryAfterSeconds: 2 },
  schema_missing: { status: 503, retryAfterSeconds: 30 },
  schema_too_new: { status: 503, retryAfterSeconds: 30 },
  schema_too_old: { status: 503, retryAfterSeconds: 30 },
  storage_refused_row: { status: 422 },
  config_invalid: { status: 501 },
  unauthorized: { status: 401 },
  forbidden: { status: 403 },
  not_found: { status: 404 },
  bad_request: { status: 400 },
  unsupported_media_type: { status: 415 },
  conflict: { status: 409 },
  content_erased: { status: 410 },
  consent_missing: { status: 403 },
}

/** Why a file, or a handle of one, is refused. What is not theirs to know about is not there. */
const fileRefusalStatuses: Readonly<Record<SignedUrlCode, number>> = {
  SU_SCHEME: 400,
  SU_HOST: 400,
  SU_CREDENTIALS: 400,
  SU_PATH_ENCODING: 400,
  SU_TRAVERSAL: 400,
  SU_FORM: 400,
  SU_DUP_PARAM: 400,
  SU_EMPTY: 400,
  SU_TOKEN_MALFORMED: 401,
  SU_EXPIRED: 401,
  SU_TOKEN_MISMATCH: 403,
  SU_SCOPE: 403,
  SU_OWNER: 403,
  SU_BUCKET: 404,
  SU_PREFIX: 404,
  SU_UNKNOWN_OBJECT: 404,
  SU_BLOCKED: 404,
  SU_TOO_LARGE: 413,
  SU_MIME: 415,
}

/** Why a task is not run or not found, in the words of its contract. */
const taskRefusals = {
  agents_task_invalid_input: 400,
  agents_task_no_handler: 422,
  agents_task_run_already_started: 409,
  agents_task_run_not_found: 404,
} as const

export type TaskRefusal = keyof typeof taskRefusals

/** What is refused by its head, size or pace, before anything of it is judged. */
const requestRefusals = {
  bodies_full: {
    status: 503,
    remedy: 'too much is being received at once; send the same again in a moment',
    seconds: 2,
  },
  body_timeout: { status: 408, remedy: 'the body did not arrive in time; send it again, and faster' },
  body_fragmented: { status: 400, remedy: 'the body came in too many tiny pieces; send it in larger ones' },
  too_many_headers: { status: 431, remedy: 'send fewer header fields' },
  headers_too_large: { status: 431, remedy: 'send shorter header fields' },
  headers_timeout: { status: 408, remedy: 'the request did not arrive in time; send it again, and faster' },
  malformed_http: { status: 400, remedy: 'this is not a request that HTTP/1.1 knows' },
} as const

export type RequestRefusal = keyof typeof requestRefusals

export const tooLarge = { status: 413, code: 'body_too_large' } as const
export const notFound = { status: 404, code: 'not_found' } as const

/** What could not be judged is worth another try after so long: the service that did not answer has had time to come back. */
const laterSeconds = 30

/** What people who are not admitted are told where no more is taken from them. */
const spent = {
  strangers_spent: {
    status: 429,
    remedy:
      'senders who are not known here have had their share of the day; send it again tomorrow, or ask to be let in',
  },
  disk_low: { status: 503, remedy: 'there is too little room for senders who are not known here; send it again later' },
} as const

/** The answer to a webhook. A stored event is a success whatever it held: delivering it again would change nothing. */
export function webhookAnswer(received: ReceiveResult): TransportAnswer {
  switch (received.kind) {
    case 'handshake':
      return received.answer
    case 'rejected': {
      const { reason, trace } = received
      const { status, remedy, retryAfterSeconds } = rejectionStatuses[reason]
      const answer = problemAnswer(status, { code: reason, remedy, trace })
      // RFC 6750 section 3: what is wrong with the token stands in a header as well.
      const challenge = received.challenge ?? (bearerErrorCode(reason) && bearerChallenge({ reason }))
      const why = challenge === undefined || status === 503 ? {} : { 'www-authenticate': challenge }
      const later = retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) }
      return { ...answer, headers: { ...answer.headers, ...why, ...later } }
    }
    case 'limited':
      return received.isDropped
        ? jsonBodyAnswer(200, { ok: true, outcomes: ['limited'], reason: received.reason })
        : rateLimitAnswer(received.seconds, {})
    case 'later': {
      const remedy = 'it cannot be judged right now; send the same again in a while'
      const answer = problemAnswer(503, { code: received.reason, remedy, trace: received.trace })
      return { ...answer, headers: { ...answer.headers, 'retry-after': String(laterSeconds) } }
    }
    case 'spent': {
      const { reason, trace, retryAfterSeconds } = received
      const { status, remedy } = spent[reason]
      const answer = problemAnswer(status, { code: reason, remedy, trace })
      return { ...answer, headers: { ...answer.headers, 'retry-after': String(retryAfterSeconds) } }
    }
    case 'rejected_event':
      return jsonBodyAnswer(200, { ok: true, outcomes: ['ignored'], reason: received.reason })
    case 'unreadable':
      return jsonBodyAnswer(200, { ok: true, outcomes: ['dead'], reason: received.reason })
    case 'stored':
      return jsonBodyAnswer(200, { ok: true, outcomes: received.acceptances.map((acceptance) => acceptance.kind) })
  }
}

/** The same for a request that waits for an answer: here no platform delivers again by itself, so bad input is the caller's. */
export function waitingCallerRefusalAnswer(received: ReceiveResult): TransportAnswer | undefined {
  if (received.kind === 'unreadable')
    return errorAnswer(400, received.reason, received.remedy ?? 'correct the request body and send it again')
  if (received.kind === 'rejected_event') return errorAnswer(422, received.reason, received.remedy)
  return received.kind === 'stored' ? undefined : webhookAnswer(received)
}

export function errorCodeAnswer(code: ErrorCode | 'internal', message: string, trace?: string): TransportAnswer {
  const entry = code === 'internal' ? undefined : errorStatuses[code]
  const answer = problemAnswer(entry?.status ?? 500, { code, remedy: message, trace })
  const seconds = entry?.retryAfterSeconds
  return seconds === undefined ? answer : { ...answer, headers: { ...answer.headers, 'retry-after': String(seconds) } }
}

/** Asked too often: when to ask again, and what the limit is. */
export function rateLimitAnswer(seconds: number, headers: Readonly<Record<string, string>>): TransportAnswer {
  const remedy = `wait ${seconds} s, then go on more slowly; the operator of this gateway sets the limits`
  const answer = problemAnswer(429, { code: 'rate_limited', message: 'too many requests', remedy })
  return { ...answer, headers: { ...answer.headers, ...headers, 'retry-after': String(seconds) } }
}

export function requestRefusedAnswer(code: RequestRefusal): TransportAnswer {
  const { status, remedy, ...more } = requestRefusals[code]
  const answer = problemAnswer(status, { code, remedy })
  return 'seconds' in more ? { ...answer, headers: { ...answer.headers, 'retry-after': String(more.seconds) } } : answer
}

export const noContent = 204

/** The size is said in the unit people say it in. */
export function fileRefusedAnswer(
  { code, remedy }: { readonly code: SignedUrlCode; readonly remedy: string },
  maxBytes: number,
): TransportAnswer {
  const limit = `${Math.floor((maxBytes / 1024 / 1024) * 10) / 10} MB`
  const words = code === 'SU_TOO_LARGE' ? `the file is too large; send at most ${limit} (${maxBytes} bytes)` : remedy
  const answer = errorAnswer(fileRefusalStatuses[code], code, words)
  return { ...answer, headers: { ...answer.headers, 'cache-control': 'no-store' } }
}

export function taskRefusedAnswer(code: TaskRefusal, remedy: string, more: object = {}): TransportAnswer {
  return problemAnswer(taskRefusals[code], { code, remedy }, more)
}

/** Taken, and not done yet. */
export function taskTakenAnswer(body: unknown, isDone: boolean): TransportAnswer {
  return jsonBodyAnswer(isDone ? 200 : 202, body)
}

export function unsupportedTypeAnswer(): TransportAnswer {
  return errorAnswer(
    415,
    'unsupported_media_type',
    'send multipart/form-data with one file, as curl -F file=@name does',
  )
}

export function createdAnswer(body: unknown): TransportAnswer {
  const answer = jsonBodyAnswer(201, body)
  return { ...answer, headers: { ...answer.headers, 'cache-control': 'private, no-store' } }
}

/** What an adapter answers in its own words is told like any other error, if it is one. */
export function answerToResponse(given: TransportAnswer): Response {
  const { status, headers, body } = errorAnswerToProblem(given)
  return new Response(body ?? null, { status, ...(headers === undefined ? {} : { headers }) })
}

/** Red, with the first problem as the error and all of them in the body. */
export function notReadyAnswer(
  first: { readonly code: string; readonly remedy: string },
  more: object,
): TransportAnswer {
  const answer = problemAnswer(503, { code: first.code, remedy: first.remedy }, more)
  return { ...answer, headers: { ...answer.headers, 'retry-after': '1' } }
}

export function errorAnswer(status: number, code: string, remedy: string): TransportAnswer {
  return problemAnswer(status, { code, remedy })
}

/** An error that was answered already, with the trace it can be asked by. */
export async function addTraceToProblem(response: Response, trace: string): Promise<Response> {
  const { error, ...body } = (await response.json()) as { error: object }
  const headers = { ...Object.fromEntries(response.headers), [traceHeader]: trace }
  const told = JSON.stringify({ ...body, trace, error: { ...error, trace } })
  return new Response(told, { status: response.status, headers })
}

export function plainTextAnswer(status: number, body: string): TransportAnswer {
  return { status, headers: { 'content-type': 'text/plain; charset=utf-8' }, body }
}

export function jsonBodyAnswer(status: number, body: unknown): TransportAnswer {
  return { status, headers: { 'content-type': 'application/json; charset=utf-8' }, body: JSON.stringify(body) }
}

/** Why a request may be rejected, for people who look a code up: code, status, what to do. */
export function listKnownProblems(): readonly (readonly [code: string, status: number, remedy: string])[] {
  const remedies = Object.entries(rejectionStatuses).map(
    ([code, { status, remedy }]) => [code, status, remedy] as const,
  )
  const told = 'the answer says what to do'
  const failures = Object.entries(errorStatuses).map(([code, { status }]) => [code, status, told] as const)
  const files = Object.entries(fileRefusalStatuses).map(([code, status]) => [code, status, told] as const)
  const tasks = Object.entries(taskRefusals).map(([code, status]) => [code, status, told] as const)
  const requests = Object.entries(requestRefusals).map(([code, { status, remedy }]) => [code, status, remedy] as const)
  const shares = Object.entries(spent).map(([code, { status, remedy }]) => [code, status, remedy] as const)
  const others = [['rate_limited', 429, told] as const, [tooLarge.code, tooLarge.status, told] as const]
  return [...remedies, ...failures, ...files, ...tasks, ...requests, ...shares, ...others].sort(([one], [other]) =>
    one < other ? -1 : 1,
  )
}

// Problem details say what went wrong in words, and beside them our code, what to do, and the trace to ask by. `error` says the
// same once more, as it did before there were problem details.

/** Names what was rejected, for `parley explain`. */
const traceHeader = 'x-parley-trace'
const problemType = 'application/problem+json'

export type ProblemFacts = {
  readonly code: string
  readonly remedy: string
  readonly message?: string | undefined
  readonly trace?: string | undefined
}

/** What a status means, the same for every occurrence; where to read about a code is its type. */
const titles: Readonly<Record<number, string>> = {
  400: 'The request does not fit',
  401: 'Not authenticated',
  403: 'Not allowed',
  404: 'Not found',
  408: 'Too slow',
  409: 'In conflict with how things stand',
  410: 'Erased',
  413: 'Too large',
  415: 'Unsupported media type',
  416: 'Range not satisfiable',
  422: 'Cannot be stored',
  429: 'Too many requests',
  431: 'Header fields too large',
  500: 'The gateway failed',
  501: 'Not set up here',
  503: 'Not available right now',
}

function problemAnswer(status: number, trouble: ProblemFacts, more: object = {}): TransportAnswer {
  const { trace } = trouble
  const headers = { 'content-type': problemType, ...(trace === undefined ? {} : { [traceHeader]: trace }) }
  return { status, headers, body: JSON.stringify({ ...problemBody(status, trouble), ...more }) }
}

function problemBody(status: number, { code, remedy, message, trace }: ProblemFacts): object {
  const asked = trace === undefined ? {} : { trace }
  return {
    type: `/docs/api#${code}`,
    title: titles[status] ?? 'It did not work',
    status,
    detail: message === undefined ? remedy : `${message}; ${remedy}`,
    code,
    remedy,
    ...asked,
    error: { code, ...(message === undefined ? {} : { message }), remedy, ...asked },
  }
}

/** Errors of ours that another module wrote, as problems; whatever else an answer holds stays as it is. */
export function errorAnswerToProblem(answer: TransportAnswer): TransportAnswer {
  const { status, headers = {}, body = '' } = answer
  if (status < 400 || !(headers['content-type'] ?? '').startsWith('application/json')) return answer
  const { error, ...more } = JSON.parse(body) as { readonly error?: Partial<ProblemFacts> }
  if (typeof error?.code !== 'string' || typeof error.remedy !== 'string') return answer
  const { code, remedy, message, trace } = error
  const problem = problemAnswer(status, { code, remedy, message, trace }, more)
  return { ...problem, headers: { ...headers, ...problem.headers } }
}

export const problemSchema = z
  .looseObject({
    type: z.string(),
    title: z.string(),
    status: z.number().int(),
    detail: z.string(),
    code: z.string(),
    remedy: z.string(),
    trace: z.string().optional(),
    error: z.object({
      code: z.string(),
      message: z.string().optional(),
      remedy: z.string(),
      trace: z.string().optional(),
    }),
  })
  .meta({ id: 'Problem', description: 'What went wrong and what to do about it (RFC 9457)' })

export type Problem = z.infer<typeof problemSchema>

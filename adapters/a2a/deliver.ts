// Delivers replies to the run's log, and push notifications to clients that asked for them. The client chose the address, so it
// is checked when it is dialled; the state of the task is read when it is sent.
import type {
  Attempt,
  ChannelDeps,
  DeliveryResult,
  PushConfig,
  TaskService,
  TaskSnapshot,
} from '../../src/contract/index.ts'
import { type JsonObject, type SafeFetch, type SafeFetchResult, sha256Hex } from '../../src/lib/index.ts'
import type { OwnKey } from './protocol/card-signature.ts'
import { downgradeResult } from './protocol/legacy.ts'
import { type A2aCall, type PushCall, toWireStateName } from './protocol/objects.ts'
import { renderTask } from './render.ts'

export type PushDeps = {
  readonly push: TaskService['push']
  /** For addresses that a client sent. */
  readonly guardedFetch: SafeFetch
  /** For those in the operator's configuration, wherever they lead. */
  readonly ownFetch: SafeFetch
  /** Hosts that the operator allows as receivers although they are not public. */
  readonly allow: readonly string[]
  readonly timeoutMs: number
  readonly signing: PushTokenDeps
}

const maxAnswerBytes = 64 * 1024
const maxPauseMs = 60 * 60_000
const gone = 410
/** Answers that ask for a later try. */
const later: ReadonlySet<number> = new Set([408, 425, 429])

export async function deliverPush(
  deps: PushDeps,
  { push: { taskId, configId, state, at } }: PushCall,
  attempt: Attempt,
): Promise<DeliveryResult> {
  const [receiver, snapshot] = await Promise.all([deps.push.receiver(taskId, configId), deps.push.reported(taskId)])
  if (receiver === undefined || snapshot === undefined) return { kind: 'refused', reason: 'push_nobody_to_tell' }
  const origins = allowedPushOrigins(receiver.url, deps.allow)
  const through = origins.length === 0 ? deps.guardedFetch : deps.ownFetch
  const body = JSON.stringify(pushBody(receiver, snapshot, { state, at }))
  const authorization = await pushAuthorization(deps, receiver, { body, agent: snapshot.task.agent })
  const outcome = await through.fetch(receiver.url, {
    method: 'POST',
    headers: pushHeaders(receiver, authorization, attempt.clientId),
    body,
    origins,
    maxBytes: maxAnswerBytes,
    timeoutMs: deps.timeoutMs,
    signal: attempt.signal,
  })
  return handlePushResponse(deps, outcome, receiver)
}

function allowedPushOrigins(url: string, allow: readonly string[]): readonly string[] {
  const { origin, hostname, host } = new URL(url)
  return allow.some((each) => each === hostname || each === host || each === origin) ? [origin] : []
}

/** The credentials that the receiver gave, else, where it wants a bearer's token and gave none, one of our own making. */
async function pushAuthorization(
  { signing }: PushDeps,
  { url, taskId, scheme, credentials }: PushConfig,
  { body, agent }: { readonly body: string; readonly agent: string },
): Promise<string | undefined> {
  if (scheme === null) return undefined
  if (credentials !== null) return `${scheme} ${credentials}`
  if (scheme.toLowerCase() !== 'bearer') return undefined
  const token = await signPushToken(signing, { url, taskId, agent, body })
  return token === undefined ? undefined : `Bearer ${token}`
}

function pushHeaders(
  { token, dialect }: PushConfig,
  authorization: string | undefined,
  key: string,
): Readonly<Record<string, string>> {
  return {
    'content-type': dialect === '0.3' ? 'application/json' : 'application/a2a+json',
    'a2a-version': dialect,
    'idempotency-key': key,
    ...(token === null ? {} : { 'x-a2a-notification-token': token }),
    ...(authorization === undefined ? {} : { authorization }),
  }
}

type Reached = Pick<PushCall['push'], 'state' | 'at'>

/** While the task is still in that state, all of it is sent; a state it has left is sent as a status update. */
function pushBody({ dialect }: PushConfig, snapshot: TaskSnapshot, { state, at }: Reached): JsonObject {
  const { id: taskId, contextId, state: now } = snapshot.task
  // Plain JSON under the protocol's names.
  const task = renderTask(snapshot, { includeArtifacts: true, accepted: [] }) as unknown as JsonObject
  // Version 0.3 gets the task itself.
  if (dialect === '0.3') return downgradeResult('get', task, 'rpc') as JsonObject
  if (now === state) return { task }
  return { statusUpdate: { taskId, contextId, status: { state: toWireStateName(state), timestamp: at } } }
}

/** The answer of another server: nothing of its text is kept. */
async function handlePushResponse(
  { push }: PushDeps,
  outcome: SafeFetchResult,
  { taskId, id }: PushConfig,
): Promise<DeliveryResult> {
  if (outcome.kind === 'refused') return { kind: 'refused', reason: `push_${outcome.reason}` }
  if (outcome.kind === 'failed') return { kind: 'retry', reason: `push_${outcome.reason}` }
  const { status, headers, body } = outcome.response
  await body?.cancel().catch(() => undefined)
  if (status >= 200 && status < 300) return { kind: 'delivered', vendorId: String(status) }
  if (status === gone) {
    await push.disable(taskId, id)
    return { kind: 'refused', reason: 'push_gone' }
  }
  const reason = `push_http_${status}`
  if (!later.has(status) && status < 500) return { kind: 'refused', reason }
  const seconds = Number(headers.get('retry-after') ?? Number.NaN)
  if (!Number.isFinite(seconds) || seconds <= 0) return { kind: 'retry', reason }
  return { kind: 'retry', reason, afterMs: Math.min(seconds * 1000, maxPauseMs) }
}

// Bearer tokens of push notifications, for receivers that gave no credentials of their own: a JWT signed with our key, made out
// to the receiver, over the very bytes that are sent, and good for this one try.

type PushTokenDeps = {
  readonly key: OwnKey
  /** Where the agents of this connection are served. */
  readonly base: string
  /** Where the key can be read. */
  readonly keysUrl: string
  readonly newId: () => string
  readonly now: () => number
}

export type Notification = {
  readonly url: string
  readonly taskId: string
  readonly agent: string
  readonly body: string
}

const lifeSeconds = 300

/** Undefined: nothing is signed here. */
async function signPushToken(deps: PushTokenDeps, notification: Notification): Promise<string | undefined> {
  const key = await deps.key()
  if (key === undefined) return undefined
  const { url, taskId, agent, body } = notification
  const iat = Math.floor(deps.now() / 1000)
  const claims = {
    iss: `${deps.base}/${agent}`,
    aud: new URL(url).origin,
    sub: taskId,
    iat,
    exp: iat + lifeSeconds,
    // A new id per try: a receiver that failed after it had stored the id still takes the next one.
    jti: deps.newId(),
    request_body_sha256: await sha256Hex(body),
  }
  return key.token(claims, deps.keysUrl)
}

// A reply is appended to the run's log under a key that makes repeating it harmless.

export async function appendAnswerToRunLog(
  runLog: NonNullable<ChannelDeps['runLog']>,
  call: A2aCall,
  attempt: Attempt,
): Promise<DeliveryResult> {
  if (attempt.runId === undefined) return { kind: 'refused', reason: 'no_run_to_answer' }
  try {
    await runLog.append(attempt.runId, attempt.clientId, call.event)
  } catch {
    return { kind: 'retry', reason: 'run_log_unavailable' }
  }
  return { kind: 'delivered', vendorId: attempt.clientId }
}

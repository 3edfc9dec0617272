// Requests and mails of an invocation: the same app as on Node, with the admin routes behind a switch.

import { createCallerIdentification } from '../api/api-callers.ts'
import { pickLimitsAndCorsOrigins } from '../api/api-limits.ts'
import { createApp } from '../api/app.ts'
import type { AppDeps } from '../api/deps.ts'
import { explainById } from '../api/explain/explain.ts'
import { errorAnswer, errorCodeAnswer, notFound } from '../api/http-answers.ts'
import { deliverInbound } from '../api/webhook.ts'
import type { RawRequest } from '../contract/index.ts'
import type { EmailEvent, EmailEventResult } from '../contract/optional-verbs.ts'
import { createEraseStore } from '../db/erase-person.ts'
import { sampleHealth } from '../db/health.ts'
import { probeStorage } from '../db/probe.ts'
import { createTokenStore } from '../db/tokens.ts'
import type { Rejections } from '../identity/rejected-requests.ts'
import { GatewayError, isGatewayError } from '../lib/errors.ts'
import { newTraceId } from '../lib/ids.ts'
import type { Log } from '../lib/log.ts'
import { secret } from '../lib/secret.ts'
import { type ReadinessDeps, readReadiness } from '../observability/readiness.ts'
import type { GatewayConnection } from '../turns/gateway-connection.ts'
import { createSessionTakeover } from '../turns/operator-takeover.ts'
import { replay } from '../turns/replay.ts'
import type { Invocation } from './invocation.ts'
import type { WorkerEmail, WorkerSettings } from './settings.ts'

const watchMs = 25_000
const operatorPath = /^\/(?:$|metrics$|admin(?:\/|$))/

/** "From this machine only" has no meaning here: without the switch the operator's routes do not exist. */
export function isDisabledAdminRequest(request: Request, { isAdminOn }: Pick<WorkerSettings, 'isAdminOn'>): boolean {
  return !isAdminOn && operatorPath.test(new URL(request.url).pathname)
}

export function adminNotFoundResponse(): Response {
  return toHttpResponse(errorAnswer(notFound.status, notFound.code, 'see the README for the routes there are'))
}

/** `rejections` outlive the invocation: they are the isolate's. */
export type AnswerDeps = {
  readonly log: Log
  readonly keepOpen: (until: Promise<void>) => void
  readonly rejections: Rejections
}

export async function answerWorkerRequest(
  request: Request,
  invocation: Invocation,
  settings: WorkerSettings,
  { log, keepOpen, rejections }: AnswerDeps,
): Promise<Response> {
  const { database, gateway, wake } = invocation
  const { config, isAdminOn } = settings
  const agents = config.agents.map((agent) => agent.slug)
  const channels = config.connections.map(({ channel }) => channel)
  const readHealthSamples = () => sampleHealth(invocation.deps.db, config.retention)
  const app = createApp({
    gateway,
    agents: config.agents,
    db: invocation.deps.db,
    takeover: createSessionTakeover(invocation.deps),
    wake,
    files: invocation.files,
    callers: createCallerIdentification(invocation.deps),
    tokenIssuers: config.tokenIssuers,
    publicUrl: config.publicUrl,
    // Without a configured token no caller knows this one.
    adminToken: config.adminToken ?? secret(crypto.randomUUID()),
    explain: (id, connection) => explainById({ db: invocation.deps.db, agents, rejections, channels }, id, connection),
    rejections,
    meter: invocation.deps.meter,
    newTrace: () => newTraceId(invocation.deps),
    tokens: createTokenStore(database, config.tenant),
    forget: createEraseStore(database, config.tenant),
    replay: (id, wanted) => replay(invocation.deps, id, wanted),
    readReadiness: () => readReadiness(createReadinessDeps(invocation, readHealthSamples)),
    metrics: { access: config.metrics, readHealthSamples },
    sourceOf: () => 'remote',
    mayOperate: () => isAdminOn,
    keepOpen,
    now: Date.now,
    ...pickLimitsAndCorsOrigins(config),
    maxBodyBytes: config.maxBodyBytes,
    watchMs,
    log,
  })
  return app.fetch(request)
}

let writtenAt = 0

/** Every caller may ask for readiness: an isolate writes every two seconds at most. A failure is asked again. */
async function probeDatabaseThrottled(database: Invocation['database'], tenant: string): Promise<void> {
  if (Date.now() - writtenAt < 2_000) return
  await probeStorage(database, tenant)
  writtenAt = Date.now()
}

/** No loop stays here: the queue and the clock wake, so there is none to stall. */
function createReadinessDeps(
  { database, deps, gateway }: Invocation,
  readHealthSamples: ReadinessDeps['readHealthSamples'],
): ReadinessDeps {
  return {
    probe: () => probeDatabaseThrottled(database, deps.tenant),
    faults: database.faults,
    isCommitAnswered: deps.committer.isAnswered,
    readHealthSamples,
    loops: () => ({ turns: null, sends: null, timers: null, leases: null }),
    connections: gateway.connections.map((each) => each.key),
    monotonicMs: deps.monotonicMs,
    patienceMs: Number.POSITIVE_INFINITY,
  }
}

/** What failed before there was an app. The world learns that it failed; what to set is said in the log. */
export function invocationFailureResponse(error: unknown, log: Log): Response {
  if (isGatewayError(error) && error.code !== 'config_invalid') {
    log.error('invocation_failed', { code: error.code, problem: error.message })
    return toHttpResponse(errorCodeAnswer(error.code, error.message))
  }
  log.error('invocation_failed', { problem: describeInvocationFailure(error) })
  return toHttpResponse(errorCodeAnswer('internal', 'the gateway cannot work as it is configured; its log says why'))
}

function describeInvocationFailure(error: unknown): string {
  if (error instanceof GatewayError || isGatewayError(error)) return error.message
  return error instanceof Error ? error.name : 'unknown'
}

function toHttpResponse({ status, headers, body }: ReturnType<typeof errorAnswer>): Response {
  return new Response(body ?? null, { status, ...(headers === undefined ? {} : { headers }) })
}

// A mail that Cloudflare took in is stored before it is accepted, refused for good, or thrown, which makes its sender try again.

const unknownAddressText = '5.1.1 there is no such address here'

export async function receiveEmailEvent(
  deps: Pick<AppDeps, 'gateway' | 'rejections'>,
  message: WorkerEmail,
): Promise<void> {
  const { from, to, rawSize: size } = message
  // The same stream: Cloudflare's types and those of the language have their own names for it.
  const body = message.raw as unknown as EmailEvent['body']
  const answer = await offerEmailToConnections(deps, { from, to, size, body })
  switch (answer.kind) {
    case 'taken':
      return
    case 'refused':
      return message.setReject(answer.text)
    case 'later':
      throw new GatewayError('request_postponed', `a mail is not stored yet (${answer.reason}); it comes again`, {
        retryable: true,
      })
    default:
      return answer satisfies never
  }
}

async function offerEmailToConnections(
  deps: Pick<AppDeps, 'gateway' | 'rejections'>,
  handed: EmailEvent,
): Promise<EmailEventResult> {
  for (const at of deps.gateway.connections) {
    const answer = await at.adapter.ingress?.onEmailEvent?.(handed, createIngressContext(deps, at))
    if (answer !== undefined) return answer
  }
  return { kind: 'refused', text: unknownAddressText }
}

function createIngressContext(deps: Pick<AppDeps, 'gateway' | 'rejections'>, at: GatewayConnection) {
  return { receive: (request: RawRequest) => deliverInbound(deps, at, request) }
}

// The Workers edge: fetch and email store, queue and the clock drain. Nothing here lives longer than an invocation but the code,
// the configuration, and the knowledge that the schema fits.

import type { ExecutionContext, MessageBatch } from '@cloudflare/workers-types'
import type { Config, ParleyConfig } from './config.ts'
import type { Failpoint } from './db/client.ts'
import { requireSchema } from './db/schema-version.ts'
import { countSuspectTurnsByCrashes } from './db/suspect-turns.ts'
import { runRetentionSweep } from './gateway/sweep.ts'
import { createIssuerCache } from './identity/issuers/issuer-client.ts'
import { createRejectionLog } from './identity/rejected-requests.ts'
import { isGatewayError } from './lib/errors.ts'
import type { Log } from './lib/log.ts'
import { limitRefusalLines } from './observability/log-limiter.ts'
import { chooseSuspectShare } from './turns/suspects.ts'
import type { DrainOptions } from './turns/workers.ts'
import {
  adminNotFoundResponse,
  answerWorkerRequest,
  invocationFailureResponse,
  isDisabledAdminRequest,
  receiveEmailEvent,
} from './worker/answer-request.ts'
import { type Invocation, type InvocationOptions, openInvocation } from './worker/invocation.ts'
import { createWorkerLog } from './worker/log.ts'
import {
  createMailerFromBinding,
  createQueueWakeup,
  isSuspectTurnsMessage,
  openWorkerFileStores,
  readWorkerSettings,
  suspectsMessage,
  type WorkerEmail,
  type WorkerEnv,
  type WorkerSettings,
  wakeMessage,
} from './worker/settings.ts'

/** What Cloudflare calls. */
export type Worker = {
  readonly fetch: (request: Request, env: WorkerEnv, context: Waiting) => Promise<Response>
  readonly email: (message: WorkerEmail, env: WorkerEnv, context: Waiting) => Promise<void>
  readonly queue: (batch: Wakes, env: WorkerEnv, context: Waiting) => Promise<void>
  readonly scheduled: (controller: unknown, env: WorkerEnv, context: Waiting) => Promise<void>
}

type Waiting = Pick<ExecutionContext, 'waitUntil'>
type Wakes = Pick<MessageBatch, 'queue' | 'messages' | 'ackAll'>

/** With two turns and two sends at a time: an invocation may wait for six answers. */
const databaseConnections = 2
/** With the longest turn (ten minutes) still under the quarter of an hour an invocation may take. */
const queueDeadlineMs = 60_000
/** The next round comes after a minute. */
const clockDeadlineMs = 50_000
/** What is due later than the next round needs no message of its own. */
const roundMs = 60_000

/** Wakes that failed for good arrive on a queue of this name; the rows they stood for are drained by the clock. */
const deadLetters = /-dead$/

/** For tests and for those who collect their logs elsewhere. */
export type WorkerHooks = { readonly log?: Log; readonly failpoint?: Failpoint }

export function createWorker(file: ParleyConfig = {}, hooks: WorkerHooks = {}): Worker {
  // Between invocations nothing runs: a rest is told with the next refusal.
  const log = limitRefusalLines(hooks.log ?? createWorkerLog(), { monotonicMs: () => performance.now() })
  const settingsOf = memoizeByObject((env: WorkerEnv) => logConfigWarnings(readWorkerSettings(env, file), log))
  const rejections = createRejectionLog()
  const issuerMemory = createIssuerCache()
  let isSchemaKnown = false

  const openInvocationForEnv = (env: WorkerEnv, maxConnections: number, onWork?: () => void): Invocation => {
    const { config } = settingsOf(env)
    const parts = { ...readWorkerBindings(env, config), maxConnections, issuerMemory, ...hooks, log }
    return openInvocation(config, onWork === undefined ? parts : { ...parts, onWork })
  }
  const openInvocationThatWakesQueue = (env: WorkerEnv, context: Waiting): Invocation =>
    openInvocationForEnv(
      env,
      1,
      createQueueWakeup({ queue: env.WAKE, waitUntil: (work) => context.waitUntil(work), log }),
    )
  const requireSchemaOnce = async ({ database }: Invocation): Promise<void> => {
    if (!isSchemaKnown) await requireSchema(database)
    isSchemaKnown = true
  }
  const respondToRequest = async (request: Request, env: WorkerEnv, context: Waiting): Promise<Response> => {
    const settings = settingsOf(env)
    if (isDisabledAdminRequest(request, settings)) return adminNotFoundResponse()
    const invocation = openInvocationThatWakesQueue(env, context)
    const streams: Promise<void>[] = []
    const keepInvocationOpen = (until: Promise<void>): void => void streams.push(until)
    try {
      if (new URL(request.url).pathname !== '/healthz') await requireSchemaOnce(invocation)
      return await answerWorkerRequest(request, invocation, settings, { log, keepOpen: keepInvocationOpen, rejections })
    } finally {
      // An answer that streams goes on reading after it was returned.
      context.waitUntil(Promise.all(streams).then(invocation.end))
    }
  }
  const receiveWorkerEmail = async (message: WorkerEmail, env: WorkerEnv, context: Waiting): Promise<void> => {
    const invocation = openInvocationThatWakesQueue(env, context)
    try {
      await requireSchemaOnce(invocation)
      await receiveEmailEvent({ gateway: invocation.gateway, rejections }, message)
    } finally {
      context.waitUntil(invocation.end())
    }
  }
  const drainInInvocation = async (
    env: WorkerEnv,
    context: Waiting,
    deadlineMs: number,
    parts: BatchDrainOptions = {},
  ): Promise<void> => {
    const invocation = openInvocationForEnv(env, databaseConnections)
    try {
      await requireSchemaOnce(invocation)
      await invocation.gateway.drain({ deadline: AbortSignal.timeout(deadlineMs), untilIdle: true, ...parts.share })
      await parts.after?.(invocation, settingsOf(env))
      await scheduleNextWakeup(invocation, env)
    } finally {
      context.waitUntil(invocation.end())
    }
  }
  const sweepAfterDrain: AfterDrain = ({ database, deps }, { config }) =>
    runRetentionSweep({ config, database, deps, log })

  return {
    fetch: (request, env, context) =>
      respondToRequest(request, env, context).catch((error) => invocationFailureResponse(error, log)),
    email: (message, env, context) =>
      logAndRethrow(receiveWorkerEmail(message, env, context), createMailRefusalLogger(log)),
    async queue(batch, env, context) {
      const drainBatch = async () =>
        drainInInvocation(env, context, queueDeadlineMs, await drainOptionsForBatch(batch, env))
      if (!deadLetters.test(batch.queue)) return logAndRethrow(drainBatch(), createDrainFailureReporter(log))
      log.error('wakeup_failed', { count: batch.messages.length })
      batch.ackAll()
    },
    scheduled: (_controller, env, context) =>
      logAndRethrow(
        drainInInvocation(env, context, clockDeadlineMs, { after: sweepAfterDrain }),
        createDrainFailureReporter(log),
      ),
  }
}

function logConfigWarnings(settings: WorkerSettings, log: Log): WorkerSettings {
  for (const problem of settings.config.warnings) log.warn('config_doubtful', { problem })
  return settings
}

type AfterDrain = (invocation: Invocation, settings: WorkerSettings) => Promise<void>
type BatchDrainOptions = { readonly after?: AfterDrain; readonly share?: Pick<DrainOptions, 'suspects'> }

/** A turn on which processes died has an invocation to itself: what woke it along with others is said again. */
async function drainOptionsForBatch({ messages }: Wakes, env: WorkerEnv): Promise<BatchDrainOptions> {
  const suspects = messages.filter(({ body }) => isSuspectTurnsMessage(body))
  if (suspects.length === 0) return {}
  if (suspects.length < messages.length) await env.WAKE.send(wakeMessage)
  return { share: { suspects: 'alone' } }
}

async function scheduleNextWakeup({ deps, gateway }: Invocation, env: WorkerEnv): Promise<void> {
  const found = await countSuspectTurnsByCrashes(deps.db)
  if (found.some(({ crashes }) => chooseSuspectShare(crashes, deps.turnPolicy.maxCrashes) === 'alone'))
    await env.WAKE.send(suspectsMessage)
  const dueInMs = await gateway.nextDueMs()
  // At least a second: what is due and yet was not taken must not be asked for in a circle.
  if (dueInMs !== undefined && dueInMs < roundMs)
    await env.WAKE.send(wakeMessage, { delaySeconds: Math.max(1, Math.ceil(dueInMs / 1000)) })
}

const createDrainFailureReporter =
  (log: Log) =>
  (problem: string): void =>
    log.error('drain_failed', { problem })

const createMailRefusalLogger =
  (log: Log) =>
  (problem: string): void =>
    log.error('mail_not_taken', { problem })

function readWorkerBindings(
  env: WorkerEnv,
  config: Config,
): Pick<InvocationOptions, 'connectionString' | 'files' | 'mailer'> {
  const { connectionString } = env.HYPERDRIVE
  return { connectionString, files: openWorkerFileStores(config, env), mailer: createMailerFromBinding(env) }
}

/** Thrown on, so that it comes again; said here, because the platform shows no more than a name. */
async function logAndRethrow(work: Promise<void>, report: (problem: string) => void): Promise<void> {
  try {
    await work
  } catch (error) {
    report(isGatewayError(error) ? error.message : 'unknown')
    throw error
  }
}

/** The environment of an isolate is always the same object; a wrong one is read again, and told again. */
function memoizeByObject<Key extends object, Value>(read: (key: Key) => Value): (key: Key) => Value {
  const known = new WeakMap<Key, Value>()
  return (key) => {
    const value = known.get(key) ?? read(key)
    known.set(key, value)
    return value
  }
}

export default createWorker()

// One call of a remote agent: what may be read for it, until when, its journaled steps, and how it is cancelled.

import type { NormalizedMessage, Part, RemoteCallContext } from '../../../src/contract/index.ts'
import {
  asFields,
  isGatewayError,
  isPlainObject,
  type Json,
  type JsonObject,
  sha256OfJson,
} from '../../../src/lib/index.ts'
import { type CardCache, chooseInterface, discoverCard, type RemoteCard } from './agent-card.ts'
import {
  type Allowance,
  createCredentialedFetch,
  createRemoteClient,
  type Egress,
  type RemoteClient,
} from './client.ts'
import { isRemoteFault, remoteUnavailableError } from './fault.ts'
import type { RemotePeer } from './options.ts'
import { type Outcome, toOutboundParts } from './reply.ts'
import { type Asked, askRemoteAgent, findSentTask, followTask, type Plan } from './send-and-follow.ts'
import { artifactsText, isTaskAwaitingPerson, type RemoteState, type RemoteTask } from './task.ts'
import type { RemoteInterface } from './wire.ts'
export type RemoteCall = {
  readonly peer: RemotePeer
  readonly context: RemoteCallContext
  readonly egress: Egress
  /** Aborts with the turn, with a stop of the run, and when the time for this answer is over. */
  readonly signal: AbortSignal
  /** Its time is over, or what its asker may use is used up. */
  readonly isLate: () => boolean
  readonly allowance: Allowance
  readonly clientOf: (at: RemoteInterface) => RemoteClient
  /** For sending. A peer that lists no tasks is read a moment longer: what it does not name cannot be cancelled. */
  readonly sendingClientOf: (at: RemoteInterface) => RemoteClient
  readonly naming: Pick<GraceSignal, 'hurry'>
  /** How it is cancelled from here on, as far as is known by now. */
  readonly onStop: (cancel: (client: (at: RemoteInterface) => RemoteClient) => Promise<unknown>) => void
  /** Cancels it at the peer where the run was stopped, it is late, or the reader has left; that it cannot be told changes nothing. */
  readonly stopRemote: (isUnread?: boolean) => Promise<void>
  readonly close: () => void
}

const cancelMs = 5_000
const budgetEveryMs = 1_000
const namingMs = 2_000

export function openRemoteCall(peer: RemotePeer, context: RemoteCallContext): RemoteCall {
  const { limits } = peer
  const egress = createCredentialedFetch(peer.egress, context.remoteCaller)
  const late = new AbortController()
  const timer = setTimeout(() => late.abort(), limits.timeoutMs)
  const watch = setInterval(() => {
    if (context.isSpent?.() === true) late.abort()
  }, budgetEveryMs)
  const over = new AbortController()
  const signal = AbortSignal.any([context.signal, context.stop, late.signal, over.signal])
  const naming = createGraceSignal(signal, context.stop, namingMs)
  const allowance = { bytes: limits.maxBytes, events: limits.maxEvents }
  const createCallClient = (at: RemoteInterface, means: { signal: AbortSignal; allowance: Allowance }) =>
    createRemoteClient({ egress, limits, headers: context.hop.headers, ...means }, at)
  let cancel: Parameters<RemoteCall['onStop']>[0] | undefined
  return {
    peer,
    context,
    egress,
    signal,
    allowance,
    isLate: () => late.signal.aborted && !context.stop.aborted && !context.signal.aborted,
    clientOf: (at) => createCallClient(at, { signal, allowance }),
    sendingClientOf: (at) => createCallClient(at, { signal: at.dialect === '0.3' ? naming.signal : signal, allowance }),
    naming,
    onStop(how) {
      cancel = how
    },
    async stopRemote(isUnread = false) {
      const isWanted = isUnread || context.stop.aborted || late.signal.aborted
      if (cancel === undefined || !isWanted || context.signal.aborted) return
      const brief = AbortSignal.any([context.signal, AbortSignal.timeout(cancelMs)])
      const createShortCallClient = (at: RemoteInterface) =>
        createCallClient(at, { signal: brief, allowance: { bytes: 4 * 1024 * 1024, events: 1 } })
      const how = cancel
      cancel = undefined
      const isDone = await how(createShortCallClient).then(
        () => true,
        () => false,
      )
      context.emit('remote_cancelled', { told: isDone })
    },
    close() {
      over.abort()
      naming.close()
      clearTimeout(timer)
      clearInterval(watch)
    },
  }
}

// A stop gives a peer time to name its task before the request is aborted: where tasks are not listed, one without a name cannot
// be cancelled.

type GraceSignal = {
  readonly signal: AbortSignal
  /** It has said its name: from here on a stop counts at once. */
  readonly hurry: () => void
  readonly close: () => void
}

/** Aborts as `signal` does, but for a stop only after so long. */
function createGraceSignal(signal: AbortSignal, stop: AbortSignal, ms: number): GraceSignal {
  const own = new AbortController()
  let isPatient = true
  let timer: ReturnType<typeof setTimeout> | undefined
  const abortNow = (): void => own.abort(signal.reason)
  const abortWithGrace = (): void => {
    if (isPatient && stop.aborted) timer = setTimeout(abortNow, ms)
    else abortNow()
  }
  if (signal.aborted) abortNow()
  else signal.addEventListener('abort', abortWithGrace, { once: true })
  return {
    signal: own.signal,
    hurry() {
      isPatient = false
      if (signal.aborted) abortNow()
    },
    close() {
      if (timer !== undefined) clearTimeout(timer)
      signal.removeEventListener('abort', abortWithGrace)
    },
  }
}

// Three steps. A crash after the first finds the ids again, after the second the task, after the third the answer; a crash inside
// one of them asks the peer what it knows before anything is sent.

type Failed = Extract<Outcome, { kind: 'failed' }>

/** `isAgain`: the plan was made by an earlier try, which may have gone on from there. */
export type Opened = Failed | { readonly kind: 'plan'; readonly plan: Plan; readonly isAgain: boolean }

/** Whom we ask, and under which ids. */
export async function runPlanStep(call: RemoteCall, cardCache: CardCache, message: NormalizedMessage): Promise<Opened> {
  const { context, peer, egress, signal } = call
  const { trust, allows03 } = peer
  const remembered = readRememberedTask(context.remembered)
  let isMadeNow = false
  const discoverCardAndPlanCall = (key: string) => async (): Promise<Failed | { kind: 'plan'; plan: Plan }> => {
    isMadeNow = true
    const card = await discoverCard(
      { egress, remoteCaller: context.remoteCaller, signal, trust, allows03 },
      peer.target,
      cardCache,
    )
    return { kind: 'plan', plan: await planCall(card, { remembered, key, allows03 }) }
  }
  const opened = await runRemoteStep<Failed | { kind: 'plan'; plan: Plan }>(
    call,
    'remote agent',
    message.parts,
    discoverCardAndPlanCall,
    false,
  )
  return opened.kind === 'failed' ? opened : { ...opened, isAgain: !isMadeNow }
}

type Grounds = {
  readonly remembered: RememberedTask | undefined
  readonly key: string
  readonly allows03: boolean
}

async function planCall(card: RemoteCard, { remembered, key, allows03 }: Grounds): Promise<Plan> {
  const chosen = chooseInterface(card, allows03)
  // A card that no longer lists where we were has moved: what we knew there is of no use elsewhere.
  const before =
    remembered !== undefined && card.interfaces.some((each) => isSameInterface(each, remembered.at, allows03))
      ? remembered
      : undefined
  const at = before?.at ?? chosen
  const waiting = before !== undefined && isTaskAwaitingPerson(before.state) ? before.taskId : undefined
  const legacy = card.interfaces.find(({ dialect }) => dialect === '0.3') ?? { ...at, dialect: '0.3' as const }
  return {
    at,
    ...(allows03 && at.dialect === '1.0' ? { fallback: legacy } : {}),
    messageId: await deriveMessageId(key, 'message'),
    contextId: before?.contextId ?? (await deriveMessageId(key, 'context')),
    isNewContext: before === undefined,
    ...(waiting === undefined ? {} : { taskId: waiting, answers: before?.wait ?? '' }),
    isSignIn: before?.state === 'auth_required',
    isStreaming: card.isStreaming,
    writesMarkdown: card.writesMarkdown,
  }
}

type AskedTask =
  | Failed
  | {
      readonly kind: 'asked'
      readonly at: RemoteInterface
      readonly said: Asked['said']
      readonly live?: Asked['live']
    }

/** Ends when the peer has said the name of its task, or all it has to say. */
export async function runSendStep(
  call: RemoteCall,
  opened: Extract<Opened, { kind: 'plan' }>,
  message: NormalizedMessage,
): Promise<AskedTask> {
  const { context, sendingClientOf, peer } = call
  const { plan } = opened
  let live: Asked['live']
  const metadata = createForwardedMetadata(message, context.hop.chain, await attestSenderEvidence(call, plan))
  const asking = {
    plan,
    isAgain: opened.isAgain,
    mayResend: peer.mayResend,
    message: { parts: await toOutboundParts(message.parts, context.attachments), metadata },
  }
  call.onStop(async (other) => {
    const task = await findSentTask({ ...asking, clientOf: other, mayResend: true })
    if (task !== undefined) await other(plan.at).cancel(task.id)
  })
  context.emit('remote_called', {
    origin: new URL(plan.at.url).origin,
    binding: plan.at.binding,
    version: plan.at.dialect,
  })
  const sendAndRememberStream = () => async (): Promise<AskedTask> => {
    const asked = await askRemoteAgent({ ...asking, clientOf: sendingClientOf })
    call.naming.hurry()
    live = asked.live
    return { kind: 'asked', at: asked.at, said: asked.said }
  }
  const asked = await runRemoteStep<AskedTask>(call, 'remote message', message.parts, sendAndRememberStream)
  return asked.kind === 'failed' || live === undefined ? asked : { ...asked, live }
}

/** Ends when the task rests. */
export async function runFollowStep(
  call: RemoteCall,
  { plan }: Extract<Opened, { kind: 'plan' }>,
  { at, task, live }: { readonly at: RemoteInterface; readonly task: RemoteTask; readonly live?: Asked['live'] },
): Promise<Outcome> {
  const { context, clientOf, peer, signal } = call
  call.onStop((other) => other(at).cancel(task.id))
  let isFollowed = false
  const followTaskUntilRest = () => async (): Promise<Outcome> => {
    isFollowed = true
    const means = {
      client: clientOf(at),
      limits: peer.limits,
      signal,
      isStreaming: plan.isStreaming,
      show: context.show,
      answers: plan.answers,
    }
    return { kind: 'task', task: await followTask({ ...means, ...(live === undefined ? {} : { live }) }, task) }
  }
  const outcome = await runRemoteStep<Outcome>(
    call,
    'remote answer',
    [{ kind: 'text', task: task.id }],
    followTaskUntilRest,
    false,
  )
  // Watching clients have just been told to start over.
  if (!isFollowed && outcome.kind === 'task') context.show(artifactsText(outcome.task))
  return outcome
}

/** A step that may run again: it looks before it acts. Faults are its result, outages are waited out, stops are stops. */
async function runRemoteStep<T extends { readonly kind: string }>(
  call: RemoteCall,
  name: string,
  parts: readonly Part[],
  work: (key: string) => () => Promise<T | Failed>,
  effect = true,
): Promise<T | Failed> {
  const { context } = call
  const result = await context.step(
    name,
    async ({ key }) => {
      try {
        // All of it is JSON: it was read from some, or made here.
        return JSON.parse(JSON.stringify(await work(key)())) as JsonObject
      } catch (error) {
        return { ...(await failedOutcomeOrRethrow(call, error)) }
      }
    },
    {
      idempotent: true,
      effect,
      label: `ask ${context.agent}`,
      args: await sha256OfJson(parts.map(partToStableJson)),
    },
  )
  // The journal holds what this very step returned.
  return result as unknown as T | Failed
}

async function failedOutcomeOrRethrow(call: RemoteCall, error: unknown): Promise<Failed> {
  const { context } = call
  if (context.signal.aborted) throw error
  if (context.stop.aborted) {
    await call.stopRemote()
    throw context.stop.reason
  }
  if (call.isLate()) {
    await call.stopRemote()
    return { kind: 'failed', code: context.isSpent?.() === true ? 'budget_exceeded' : 'remote_timeout' }
  }
  if (isGatewayError(error) || !isRemoteFault(error)) throw error
  if (error.code !== 'remote_unreachable') context.report(error, { source: 'remote_agent' })
  if (error.code === 'remote_unreachable') throw remoteUnavailableError(error)
  if (error.code === 'remote_too_much') await call.stopRemote(true)
  return { kind: 'failed', code: error.code }
}

/** What a part is in every try: URLs of files are made anew each time. */
function partToStableJson(part: Part): Json {
  const { bytes_ref: _where, attachment, ...rest } = part as Part & { bytes_ref?: unknown; attachment?: unknown }
  const id = isPlainObject(attachment) ? { attachment: String(attachment['id']) } : {}
  return JSON.parse(JSON.stringify({ ...rest, ...id }))
}

/** What a connector tells the agent it forwards to: how names in its reply travel, and its place in the chain. */
function createForwardedMetadata(
  { recipient_capabilities }: NormalizedMessage,
  chain: JsonObject,
  evidence: readonly JsonObject[],
): JsonObject {
  const { mention_relay } = recipient_capabilities
  return {
    mentionable: {
      agent_chain: chain,
      ...(evidence.length === 0 ? {} : { identity_evidence: [...evidence] }),
      recipient_capabilities: { mention_relay: { ...mention_relay }, agent_chain: chain },
    },
  }
}

/** Signed anew in every try: it is good for minutes, and a turn may wait for hours. */
async function attestSenderEvidence(
  { peer, context }: RemoteCall,
  { messageId }: Plan,
): Promise<readonly JsonObject[]> {
  const { vouchTo: audience } = peer
  return audience === undefined ? [] : context.remoteCaller.attest(context.evidence, { audience, messageId })
}

/** One that refused our version may have been spoken to in the one before. */
function isSameInterface(listed: RemoteInterface, used: RemoteInterface, allows03: boolean): boolean {
  const isPlace = listed.url === used.url && listed.binding === used.binding && listed.tenant === used.tenant
  return isPlace && (listed.dialect === used.dialect || (allows03 && used.dialect === '0.3'))
}

/** The same id in every try of a step, in the shape of a UUID (version 8: made of a hash). */
async function deriveMessageId(key: string, what: string): Promise<string> {
  const hex = (await sha256OfJson([what, key])).slice('sha256:'.length)
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}

// What a conversation remembers of a remote agent: its task and context, and where they are.

type RememberedTask = {
  readonly at: RemoteInterface
  readonly contextId: string
  /** Absent where it answered without a task. */
  readonly taskId?: string
  readonly state: RemoteState
  /** Which of its waits the next message ends. */
  readonly wait?: string
}

export function toRemoteMemory({ at, ...task }: RememberedTask): Parameters<RemoteCallContext['remember']>[0] {
  return { ...task, at: { ...at }, isWaiting: isTaskAwaitingPerson(task.state) }
}

function readRememberedTask(memory: JsonObject | undefined): RememberedTask | undefined {
  const { at, contextId, state } = asFields(memory)
  const { url, binding, dialect } = asFields(at)
  if (typeof url !== 'string' || typeof binding !== 'string' || typeof dialect !== 'string') return undefined
  if (typeof contextId !== 'string' || typeof state !== 'string') return undefined
  // Written above, by this release or one before it.
  return memory as unknown as RememberedTask
}

// A live message: a reply shown while it grows. Its row is opened under the turn's fence and sent like any other; once that has
// arrived, frames follow: outside the outbox, one at a time, each with all words so far, none without the lease. A preview, which
// vanishes by itself, has no row: the reply is then a message like any other.

import type { LiveVerbs } from '../contract/index.ts'
import type { Db } from '../db/client.ts'
import { findLiveReply, openLiveReply } from '../db/live.ts'
import type { IdSource } from '../lib/ids.ts'
import type { JsonObject } from '../lib/json-value.ts'
import type { Log } from '../lib/log.ts'
import { sleep } from '../lib/time.ts'
import type { LiveEnd } from '../outbound/render.ts'
import type { Lease } from './leases.ts'
import type { TurnServices, Wakeups } from './services.ts'
import { isNewlyOpenedTurn, type TurnContext } from './turn-context.ts'
import type { TurnPolicy } from './turn-policy.ts'
import { createWakeup, type Wakeup } from './worker-loop.ts'

export type LiveMessage = {
  readonly show: (delta: string) => void
  /** A person can see it grow. */
  readonly isShown: () => boolean
  /** No frame is under way or leaves after this. */
  readonly end: () => Promise<LiveMessageEnd>
}

/** `live` undefined: the turn has no live message. `shown`: all words that were given to be shown. */
export type LiveMessageEnd = { readonly live: LiveEnd | undefined; readonly shown: string }

/** Words beyond this are shown by the final reply. */
const maxTextLength = 100_000
/** Where it is unknown what was shown last; no text begins with it. */
const unknownWords = '\u0000'

const none: LiveMessage = { show() {}, isShown: () => false, end: async () => ({ live: undefined, shown: '' }) }

type Growing = {
  readonly live: LiveVerbs
  readonly lease: Lease
  readonly words: Wakeup
  readonly over: AbortController
  readonly ended: Promise<void>
  readonly reportEnd: () => void
  text: string
  shown: string
  mayBeOpen: boolean
  isShown: boolean
}

export function followTurnAsLiveMessage(deps: TurnServices, ready: TurnContext, lease: Lease): LiveMessage {
  const { live } = ready.at.adapter
  if (live === undefined || (ready.turn.kind !== 'messages' && ready.turn.kind !== 'signal')) return none
  // Of a reply that comes whole nothing is made.
  let growing: Growing | undefined
  let following: Promise<void> | undefined
  let ending: Promise<LiveMessageEnd> | undefined
  const finishGrowingMessage = async ({ over, words, reportEnd }: Growing): Promise<void> => {
    over.abort()
    words.notify()
    reportEnd()
    // An adapter that does not keep its own time must not keep the final reply either.
    const timeout = new AbortController()
    await Promise.race([following, sleep(ready.at.adapter.capabilities.callTimeoutMs * 1.5, timeout.signal)])
    timeout.abort()
  }
  const endLiveMessage = async (): Promise<LiveMessageEnd> => {
    if (growing !== undefined) await finishGrowingMessage(growing)
    const text = growing?.text ?? ''
    // A try before this one may have opened it.
    const mayBeOpen = growing?.mayBeOpen ?? !isNewlyOpenedTurn(ready)
    const end = mayBeOpen ? await deps.results.store(undefined, () => readLiveMessageEnd(deps, ready, text)) : undefined
    return { live: end, shown: text }
  }
  return {
    show(delta) {
      if (ending !== undefined) return
      growing ??= createGrowingMessage(live, lease, !isNewlyOpenedTurn(ready))
      if (growing.text.length >= maxTextLength) return
      growing.text += delta
      following ??= followLiveText(deps, ready, growing).catch(() =>
        deps.log.warn('live_failed', liveMessageLogFields(ready)),
      )
      growing.words.notify()
    },
    isShown: () => growing?.isShown ?? false,
    end: () => (ending ??= endLiveMessage()),
  }
}

function createGrowingMessage(live: LiveVerbs, lease: Lease, mayBeOpen: boolean): Growing {
  const { promise: ended, resolve: reportEnd } = Promise.withResolvers<void>()
  const [words, over] = [createWakeup(), new AbortController()]
  return { live, lease, words, over, ended, reportEnd, text: '', shown: '', mayBeOpen, isShown: false }
}

/** What the rows say about the live message of a turn, for the commit that ends it. */
export async function readLiveMessageEnd(
  deps: { readonly db: Db; readonly turnPolicy: TurnPolicy },
  ready: Pick<TurnContext, 'at' | 'lane' | 'turn'>,
  text: string,
): Promise<LiveEnd | undefined> {
  const row = await findLiveReply(deps.db, ready.turn.id)
  if (row === undefined) return undefined
  const { clientId, reference } = row
  // The process that had the turn before may have a frame on its way that has not arrived yet.
  const isTakenOver = ready.lane.openTurn !== null && reference !== null
  const againAfterMs = deps.turnPolicy.leaseMs + ready.at.adapter.capabilities.callTimeoutMs
  return { clientId, text, ...(isTakenOver ? { againAfterMs } : {}) }
}

async function followLiveText(deps: TurnServices, ready: TurnContext, state: Growing): Promise<void> {
  await sleep(deps.turnPolicy.liveAfterMs, state.over.signal)
  if (state.over.signal.aborted || !state.lease.isHeld()) return
  const preview = state.live.preview?.(ready.lane.replyTo, ready.turn.id)
  if (preview !== undefined && (await growLiveMessage(deps, ready, state, preview)) !== 'unavailable') return
  const call = state.over.signal.aborted ? undefined : state.live.open(ready.lane.replyTo, state.text)
  if (call === undefined || !state.lease.isHeld()) return
  const reference = await openLiveRow(deps, ready, state, call)
  if (reference === undefined) return
  state.isShown = true
  await sleep(state.live.everyMs, state.over.signal)
  await growLiveMessage(deps, ready, state, { reference, everyMs: state.live.everyMs })
}

/** What the frames of one reply refer to. */
type Shown = { readonly reference: string; readonly everyMs: number; readonly refreshMs?: number }

/** Shows frame after frame. `unavailable`: none can be shown this way. */
async function growLiveMessage(
  deps: { readonly turnPolicy: TurnPolicy; readonly monotonicMs: () => number; readonly log: Log },
  ready: TurnContext,
  state: Growing,
  as: Shown,
): Promise<'ended' | 'unavailable'> {
  for (;;) {
    await waitForNewText(deps, state, as.refreshMs)
    if (state.over.signal.aborted || !state.lease.isHeld()) return 'ended'
    const next = await showTextFrame(deps, ready, state, as)
    if (typeof next === 'string') return next
    await sleep(next, state.over.signal)
  }
}

async function waitForNewText(
  deps: { readonly turnPolicy: TurnPolicy; readonly monotonicMs: () => number },
  state: Growing,
  refreshMs = Number.POSITIVE_INFINITY,
): Promise<void> {
  const until = deps.monotonicMs() + refreshMs
  while (state.text === state.shown && !state.over.signal.aborted && deps.monotonicMs() < until)
    await state.words.wait(Math.min(deps.turnPolicy.pollMs, Math.max(1, until - deps.monotonicMs())))
}

/** The vendor's id of the message, as soon as the row was delivered; undefined: there is none to grow. */
async function openLiveRow(
  deps: { readonly db: Db; readonly turnPolicy: TurnPolicy; readonly wakeups: Wakeups; readonly newId: IdSource },
  { lane, turn }: TurnContext,
  state: Growing,
  call: JsonObject,
): Promise<string | undefined> {
  const opening = state.text
  state.mayBeOpen = true
  const row = { id: deps.newId(), turnId: turn.id, orderKey: lane.conversationId, call, clientId: `${turn.id}:0` }
  const opened = await openLiveReply(deps.db, lane, row)
  if (opened === 'lease_lost') return undefined
  state.shown = opened === 'opened' ? opening : unknownWords
  deps.wakeups.sends.notify()
  while (!state.over.signal.aborted) {
    const found = await findLiveReply(deps.db, turn.id)
    if (found === undefined || found.isSettled) return found?.reference ?? undefined
    await Promise.race([deps.wakeups.live.wait(deps.turnPolicy.pollMs), state.ended])
  }
  return undefined
}

/** Milliseconds until the next one, or why there is none. */
async function showTextFrame(
  deps: { readonly log: Log },
  ready: TurnContext,
  state: Growing,
  { reference, everyMs }: Shown,
): Promise<number | 'ended' | 'unavailable'> {
  const { text, shown, lease, live } = state
  const signal = AbortSignal.any([lease.signal, AbortSignal.timeout(ready.at.adapter.capabilities.callTimeoutMs)])
  try {
    const outcome = await live.frame({ reference, to: ready.lane.replyTo, text, shown, signal })
    switch (outcome.kind) {
      case 'shown':
        state.shown = text
        state.isShown = true
        return everyMs
      case 'later':
        return Math.max(everyMs, outcome.afterMs)
      case 'over':
      case 'unavailable':
        deps.log.info('stream_closed', { ...liveMessageLogFields(ready), reason: outcome.reason })
        return outcome.kind === 'over' ? 'ended' : 'unavailable'
    }
  } catch {
    // It may have been shown or not; the next one says everything again.
    state.shown = unknownWords
    return everyMs * 4
  }
}

function liveMessageLogFields({ lane, turn }: TurnContext): { connection: string; trace: string; turn: string } {
  return { connection: lane.connection, trace: turn.traceId, turn: turn.id }
}

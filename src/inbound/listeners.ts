// Listeners of channels with a port of their own (SMTP): every long-running process opens them and delivers what comes in. A port
// that cannot be opened keeps nothing else from working; it is tried again, and shown until it is open.
import type { IngressContext, OpenListener } from '../contract/optional-verbs.ts'
import { errorLogFields, type Log } from '../lib/log.ts'
import { sleep } from '../lib/time.ts'
import { backoffMs } from '../outbound/settle.ts'

import type { GatewayConnection } from '../turns/gateway-connection.ts'

/** `failing`: the port is not open; it is tried again. */
export type ListenerState = {
  readonly connection: string
  readonly state: 'listening' | 'failing'
  /** Where it listens. */
  readonly address?: string
  readonly code?: string
  /** What to do about it. */
  readonly problem?: string
}

export type RunningListeners = {
  readonly states: () => readonly ListenerState[]
  /** Resolves when every port was tried once: open, or known not to be. */
  readonly tried: Promise<void>
  /** Takes no new callers, and resolves when those that were connected have been answered. */
  readonly stop: () => Promise<void>
}

export type ListenersDeps = {
  readonly connections: readonly GatewayConnection[]
  readonly random: () => number
  readonly log: Log
} & {
  readonly ingressFor: (at: GatewayConnection) => IngressContext
}

const backoff = { firstMs: 500, maxMs: 30_000 } as const

export function runListeners(deps: ListenersDeps): RunningListeners {
  const stopping = new AbortController()
  const states = new Map<string, ListenerState>()
  const tried = Promise.withResolvers<void>()
  const listening = deps.connections.filter((at) => at.adapter.ingress?.listen !== undefined)
  const recordListenerState = (at: GatewayConnection, state: ListenerState): void => {
    states.set(at.key, state)
    if (states.size === listening.length) tried.resolve()
  }
  if (listening.length === 0) tried.resolve()
  const running = listening.map((at) =>
    runListener(deps, at, { stop: stopping.signal, report: (state) => recordListenerState(at, state) }),
  )
  return {
    states: () => [...states.values()],
    tried: tried.promise,
    async stop() {
      stopping.abort()
      await Promise.all(running)
    },
  }
}

type Watch = { readonly stop: AbortSignal; readonly report: (state: ListenerState) => void }

async function runListener(deps: ListenersDeps, at: GatewayConnection, { stop, report }: Watch): Promise<void> {
  const listening = await openListener(deps, at, { stop, report })
  if (listening === undefined) return
  report({ connection: at.key, state: 'listening', address: listening.address })
  await waitUntilStopped(stop)
  await listening.stop()
}

/** Undefined: told to stop before the port was open. */
async function openListener(
  deps: ListenersDeps,
  at: GatewayConnection,
  { stop, report }: Watch,
): Promise<OpenListener | undefined> {
  const connection = at.key
  let reported: string | undefined
  for (let failures = 0; !stop.aborted; ) {
    try {
      return await at.adapter.ingress?.listen?.(deps.ingressFor(at), stop)
    } catch (error) {
      if (stop.aborted) return undefined
      failures += 1
      const { code, problem, ...facts } = describeListenFailure(error)
      // Said once for each reason: a port that is taken may be taken for days.
      if (reported !== code) deps.log.warn('listener_failed', { connection, code, problem, ...facts })
      reported = code
      report({ connection, state: 'failing', code, problem })
      await sleep(backoffMs(failures, backoff, deps.random), stop)
    }
  }
  return undefined
}

const remedies: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another program has the port; end it, or set another port for this connection',
  EACCES: 'this process may not open the port; choose one above 1023, or give it the right',
  EADDRNOTAVAIL: 'this machine does not have that address; set one that it has',
}

/** A code of the operating system says more than the class of the exception; its message may quote anything. */
function describeListenFailure(error: unknown): {
  readonly code: string
  readonly problem: string
  readonly at?: string | null
} {
  const { code = 'internal', ...facts } = errorLogFields(error, 'internal')
  const own = error instanceof Error && 'code' in error ? String(error.code) : undefined
  const remedy = own === undefined ? undefined : remedies[own]
  if (own !== undefined && remedy !== undefined) return { code: own, problem: remedy }
  return {
    ...facts,
    code: code ?? 'internal',
    problem: 'the port is not open; look at the settings of this connection',
  }
}

function waitUntilStopped(stop: AbortSignal): Promise<void> {
  if (stop.aborted) return Promise.resolve()
  return new Promise((resolve) => stop.addEventListener('abort', () => resolve(), { once: true }))
}

// The Node runtime for the gateway: fetch with a fence and with pinned addresses, clocks, keys, HMAC, programs that are MCP
// servers.

import { hash } from 'node:crypto'
import { setImmediate as waitForNextRound } from 'node:timers/promises'
import { createToolServers } from '../agents/mcp/tool-servers.ts'
import type { Config } from '../config.ts'
import type { Hmac } from '../contract/channel.ts'
import type { Failpoint } from '../db/client.ts'
import type { Runtime } from '../gateway/assemble.ts'
import { createGroupCommit, defaultLimits } from '../inbound/group-commit.ts'
import { LruMap } from '../lib/index.ts'
import type { Log } from '../lib/log.ts'
import { readOrCreateSealKeys } from './gateway-secrets.ts'
import { createPinnedFetch } from './guarded-fetch.ts'
import { allowsLocalGuests } from './incoming-request.ts'
import { createMcpConnect } from './mcp-client.ts'
import type { Probe } from './readiness.ts'

const secretNames = /token|secret|password|passphrase|credential|key|auth|dsn|database_url/i
/** Shorter ones occur by chance. */
const shortestSecret = 8

/** What the environment holds under names of secrets, and passwords in its URLs. */
export function secretValuesInEnvironment(env: Readonly<Record<string, string | undefined>>): readonly string[] {
  const named = Object.entries(env).flatMap(([name, value = '']) => (secretNames.test(name) ? [value] : []))
  const passwords = Object.values(env).flatMap((value = '') => [
    /^[\w+.-]+:\/\/[^\s/@:]*:([^\s/@]+)@/.exec(value)?.[1] ?? '',
  ])
  return [...new Set([...named, ...passwords].filter((value) => value.length >= shortestSecret))]
}

export type RuntimeOptions = { readonly config: Config; readonly log: Log; readonly failpoint?: Failpoint }

export async function createNodeRuntime({ config, log, failpoint }: RuntimeOptions, probe: Probe): Promise<Runtime> {
  const monotonicMs = (): number => performance.now()
  await loadFetchDispatcher()
  return {
    fetch,
    fenceFetch: (mayLeave, onSend) => createFencedFetch(mayLeave, monotonicMs, onSend),
    guardedFetch: createPinnedFetch(),
    isLocalOnly: allowsLocalGuests(config),
    now: Date.now,
    monotonicMs,
    hmac: createNodeHmac(),
    sealKeys: () => readOrCreateSealKeys(config.sealKeys, config.dataDir),
    random: Math.random,
    createToolServers: (deps) => createToolServers({ ...deps, connect: createMcpConnect(deps.fetch) }),
    committer: (accept) =>
      createGroupCommit(
        accept,
        defaultLimits,
        // After the sockets that are ready have been read.
        waitForNextRound,
        // A commit that failed is looked into at once, also while readiness is not asked for.
        () => void probe().catch(() => {}),
      ),
    log,
    secretValues: secretValuesInEnvironment(process.env),
    ...(failpoint === undefined ? {} : { failpoint }),
  }
}

// HMAC is computed at once: WebCrypto would hand each body to another thread, which costs more than the sum. Of two plain hashes
// (RFC 2104), because making a native HMAC object for each body costs more than hashing it.

const blockBytes = 64
const digestBytes = 32
// Secrets come from the configuration, so a handful; the bound only guards against a caller that invents them.
const maxKeys = 64

export function createNodeHmac(): Hmac {
  const known = new LruMap<string, HmacPads>(maxKeys)
  return {
    sha256(secret, bytes) {
      let pads = known.get(secret)
      if (pads === undefined) {
        pads = createHmacPads(Buffer.from(secret))
        known.set(secret, pads)
      }
      const inner = hash('sha256', Buffer.concat([pads.inner, bytes]), 'buffer')
      return hash('sha256', Buffer.concat([pads.outer, inner]), 'buffer')
    },
  }
}

type HmacPads = { readonly inner: Uint8Array; readonly outer: Uint8Array }

function createHmacPads(secret: Uint8Array): HmacPads {
  const key = new Uint8Array(blockBytes)
  key.set(secret.length > blockBytes ? hash('sha256', secret, 'buffer').subarray(0, digestBytes) : secret)
  return { inner: key.map((byte) => byte ^ 0x36), outer: key.map((byte) => byte ^ 0x5c) }
}

// fetch for effects: whether a request may leave is asked once more right before its first byte. A timer cannot do that. After a
// pause of the whole process (SIGSTOP, a frozen machine) connections that became ready meanwhile are served before the timers that
// would have aborted them, and the request leaves under a lost lease.

type Abort = (reason: Error) => void
type Sent = { readonly body?: unknown }
type Handler = { readonly onConnect?: (abort: Abort, ...rest: unknown[]) => void }
type Dispatcher = { readonly dispatch: (options: Sent, handler: Handler) => boolean }

/** Where Node's own fetch keeps what sends its requests; there once fetch has been used. */
const globalDispatcher = Symbol.for('undici.globalDispatcher.1')

/** `mayLeave` is given how long ago the request was asked for; `onSend` is told that its first byte leaves now. */
export function createFencedFetch(
  mayLeave: (ageMs: number) => boolean,
  monotonicMs: () => number,
  onSend?: () => void,
): typeof fetch {
  return (input, init) => {
    const askedAt = monotonicMs()
    const isTooLateToSend = (): boolean => !mayLeave(monotonicMs() - askedAt)
    const sender: Dispatcher | undefined = Reflect.get(globalThis, globalDispatcher)
    if (sender === undefined) {
      onSend?.()
      return fetch(input, init)
    }
    const dispatcher: Dispatcher = {
      dispatch: (options, handler) => {
        const { body } = options
        // With a body the head is written together with its first piece, which may come long after `onConnect`.
        if (!isAsyncIterable(body)) return sender.dispatch(options, addFenceToHandler(handler, isTooLateToSend, onSend))
        const sent = { ...options, body: readBodyUnlessTooLate(body, isTooLateToSend, onSend) }
        return sender.dispatch(sent, addFenceToHandler(handler, isTooLateToSend, undefined))
      },
    }
    // Node's fetch takes a dispatcher; the standard's types do not know it.
    return fetch(input, { ...init, dispatcher } as RequestInit)
  }
}

/** Loads Node's fetch, so that its dispatcher is there for the first request. */
export async function loadFetchDispatcher(): Promise<void> {
  await fetch('data:,')
}

/** `onConnect` is called right before the first byte of a request without a body is written, in the same breath. */
function addFenceToHandler(handler: Handler, isFenced: () => boolean, onSend: (() => void) | undefined): Handler {
  const { onConnect } = handler
  if (onConnect === undefined) return handler
  return {
    ...handler,
    onConnect(this: Handler, abort, ...rest) {
      if (isFenced()) return abort(tooLateToSendError())
      onSend?.()
      onConnect.call(this, abort, ...rest)
    },
  }
}

/** Read by hand: `for await` would first wait until the body, which is not needed any more, has been taken back. */
async function* readBodyUnlessTooLate(
  body: AsyncIterable<unknown>,
  isFenced: () => boolean,
  onSend: (() => void) | undefined,
): AsyncGenerator<unknown> {
  const pieces = body[Symbol.asyncIterator]()
  let hasLeft = false
  for (;;) {
    const next = await pieces.next()
    // What has begun to leave goes on: half a request tells the receiver nothing.
    if (!hasLeft && isFenced()) throw tooLateToSendError()
    const isEmpty = next.done !== true && next.value instanceof Uint8Array && next.value.byteLength === 0
    if (!hasLeft && !isEmpty) onSend?.()
    hasLeft ||= !isEmpty
    if (next.done === true) return
    yield next.value
  }
}

function tooLateToSendError(): DOMException {
  return new DOMException('too late to be sent', 'TimeoutError')
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value
}

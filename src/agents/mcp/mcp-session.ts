// Sessions with an MCP server: what is asked of one, over the line that Node's client holds, and the one session a process shares.
// What the server sent comes through unread, and what went wrong in one of five kinds that say whether anything may have happened.

import type { Fields } from '../../lib/json-value.ts'
import type { Log } from '../../lib/log.ts'
import type { McpServer } from './mcp-server.ts'

export type McpCall = {
  /** As the server calls it. */
  readonly name: string
  readonly parameters: Fields
  /** The same on every try; told to the server. */
  readonly key: string
}

/** One request of the protocol, as it is sent. */
export type McpRequest = { readonly method: 'tools/list' | 'tools/call'; readonly params: Fields }

export type McpSession = ReturnType<typeof createMcpSession>

/** `request`: sends it and answers what the server answered, or throws an `McpFailure`. */
export function createMcpSession(
  request: (request: McpRequest, signal: AbortSignal) => Promise<unknown>,
  close: () => Promise<void>,
) {
  return {
    /** One page of its tools, as it was sent. */
    listTools: (cursor: string | undefined, signal: AbortSignal) =>
      request({ method: 'tools/list', params: cursor === undefined ? {} : { cursor } }, signal),
    callTool({ name, parameters, key }: McpCall, signal: AbortSignal) {
      const params = { name, arguments: { ...parameters }, _meta: { 'parley/idempotency-key': key } }
      return request({ method: 'tools/call', params }, signal)
    },
    close,
  }
}

export type McpHooks = {
  /** The connection is gone; the next use makes a new one. */
  readonly onClosed: () => void
  readonly onToolsChanged: () => void
}

export type McpConnect = (server: McpServer, hooks: McpHooks, signal: AbortSignal) => Promise<McpSession>

/**
 * refused       the server answered with an error of the protocol; `detail` is its text
 * rejected      it did not let us in; nothing happened
 * session_gone  it does not know our session any more; nothing happened, a new session may try again
 * unreachable   no connection could be made; nothing happened
 * lost          the line broke, or the answer could not be read; it may have happened
 */
export type McpFailureKind = 'refused' | 'rejected' | 'session_gone' | 'unreachable' | 'lost'

export class McpFailure extends Error {
  readonly kind: McpFailureKind
  /** A code of the protocol or of HTTP. */
  readonly code: number | undefined
  readonly detail: string

  constructor(kind: McpFailureKind, options: { readonly code?: number; readonly detail?: string } = {}) {
    super(`the MCP server failed us: ${kind}${options.code === undefined ? '' : ` (${options.code})`}`)
    this.name = 'McpFailure'
    this.kind = kind
    this.code = options.code
    this.detail = options.detail ?? ''
  }
}

export function isMcpFailure(error: unknown): error is McpFailure {
  return error instanceof McpFailure
}

// A session is opened at the first use, shared by every turn of this process, opened anew after it broke.
//   nothing -> opening -> open      and back to nothing when the line breaks
//   nothing -> cooling -> nothing   after a connection that could not be made, or that breaks again and again

export type SharedSessionDeps = {
  readonly connect: McpConnect
  readonly log: Log
  readonly monotonicMs: () => number
  /** What was known of its tools is no longer true. */
  readonly onToolsChanged: () => void
  /** There is no connection; after so long another may be made. Not told where it ended by our own will. */
  readonly onDown: (down: { readonly error?: unknown; readonly coolMs: number }) => void
}

export type SharedSession = {
  readonly use: <T>(work: (session: McpSession) => Promise<T>) => Promise<T>
  readonly close: () => Promise<void>
}

const answerMs = 15_000
const firstCoolMs = 1_000
const maxCoolMs = 60_000
/** What held for so long and then broke is no server that breaks again and again. */
const steadyMs = 60_000

export function createSharedSession(server: McpServer, deps: SharedSessionDeps): SharedSession {
  const { connect, monotonicMs, onToolsChanged, onDown } = deps
  const stop = new AbortController()
  let opening: Promise<McpSession> | undefined
  let opened: { readonly session: McpSession; readonly at: number } | undefined
  let failures = 0
  let coolUntil = 0

  const markSessionDown = (isLoss: boolean, error?: unknown): void => {
    const isSteady = opened !== undefined && monotonicMs() - opened.at >= steadyMs
    failures = isSteady ? 1 : failures + 1
    // The first break is mended at once: a program that died of one call is there for the next.
    const wait = isLoss && failures === 1 ? 0 : Math.min(maxCoolMs, firstCoolMs * 2 ** (failures - 1))
    coolUntil = monotonicMs() + wait
    opening = undefined
    opened = undefined
    onToolsChanged()
    if (!stop.signal.aborted) onDown({ coolMs: wait, ...(isLoss ? {} : { error }) })
  }
  const openSession = (): Promise<McpSession> => {
    if (opening !== undefined) return opening
    if (stop.signal.aborted || monotonicMs() < coolUntil) return Promise.reject(new McpFailure('unreachable'))
    const markClosedSessionDown = (): void => {
      if (opening === mine) markSessionDown(true)
    }
    const signal = AbortSignal.any([stop.signal, AbortSignal.timeout(server.startTimeoutMs)])
    const mine = connect(server, { onClosed: markClosedSessionDown, onToolsChanged }, signal)
    opening = mine
    mine.then(
      (session) => {
        if (opening === mine) opened = { session, at: monotonicMs() }
      },
      (error: unknown) => {
        if (opening === mine) markSessionDown(false, error)
      },
    )
    return mine
  }
  const abandonSession = (session: McpSession): void => {
    if (opened?.session === session) markSessionDown(true)
    void session.close().catch(() => {})
  }
  return {
    use: (work) => retryOnBrokenSession(openSession, work, abandonSession),
    async close() {
      stop.abort()
      await opening?.then((session) => session.close()).catch(() => {})
    },
  }
}

async function retryOnBrokenSession<T>(
  open: () => Promise<McpSession>,
  work: (session: McpSession) => Promise<T>,
  giveUp: (session: McpSession) => void,
): Promise<T> {
  for (let isSecond = false; ; isSecond = true) {
    const session = await open()
    try {
      return await work(session)
    } catch (error) {
      if (isTimeout(error)) probeSession(session, giveUp)
      if (!isMcpFailure(error) || (error.kind !== 'lost' && error.kind !== 'session_gone')) throw error
      giveUp(session)
      // Nothing happened in a session the server does not know: a new one may ask again, once.
      if (isSecond || error.kind === 'lost') throw error
    }
  }
}

/** A server that let a call run out of time is asked something simple; without an answer the connection is given up. */
function probeSession(session: McpSession, giveUp: (session: McpSession) => void): void {
  session.listTools(undefined, AbortSignal.timeout(answerMs)).catch((error: unknown) => {
    if (!isMcpFailure(error) || error.kind !== 'refused') giveUp(session)
  })
}

function isTimeout(error: unknown): boolean {
  return error instanceof Error && error.name === 'TimeoutError'
}

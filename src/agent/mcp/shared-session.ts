// The connection to one MCP server: made at the first use, shared by every turn of this process, made anew after it broke.
//   nothing -> opening -> open      and back to nothing when the line breaks
//   nothing -> cooling -> nothing   after a connection that could not be made
import type { Log } from '../../contract/index.ts'
import type { McpServer } from './mcp-server.ts'
import { isMcpFailure, type McpConnect, McpFailure, type McpSession } from './mcp-session.ts'

export type SharedSessionDeps = {
  readonly connect: McpConnect
  readonly log: Log
  readonly monotonicMs: () => number
  /** What was known of its tools is no longer true. */
  readonly onToolsChanged: () => void
}

export type SharedSession = {
  readonly use: <T>(work: (session: McpSession) => Promise<T>) => Promise<T>
  readonly close: () => Promise<void>
}

/** A first start may have to download the program. */
const connectMs = 60_000
const answerMs = 15_000
const coolMs = 15_000

export function createSharedSession(server: McpServer, deps: SharedSessionDeps): SharedSession {
  const { connect, log, monotonicMs, onToolsChanged } = deps
  const at = server.name
  const stop = new AbortController()
  let opening: Promise<McpSession> | undefined
  let opened: McpSession | undefined
  let coolUntil = 0

  const forget = (gone: Promise<McpSession>): void => {
    if (opening !== gone) return
    opening = undefined
    opened = undefined
    onToolsChanged()
  }
  const open = (): Promise<McpSession> => {
    if (opening !== undefined) return opening
    if (stop.signal.aborted || monotonicMs() < coolUntil) return Promise.reject(new McpFailure('unreachable'))
    const onClosed = (): void => {
      if (opening === mine && !stop.signal.aborted) log.warn('mcp_server_lost', { at })
      forget(mine)
    }
    const signal = AbortSignal.any([stop.signal, AbortSignal.timeout(connectMs)])
    const mine = connect(server, { onClosed, onToolsChanged }, signal)
    opening = mine
    mine.then(
      (session) => {
        if (opening === mine) opened = session
      },
      (error: unknown) => {
        forget(mine)
        coolUntil = monotonicMs() + coolMs
        if (!stop.signal.aborted) log.warn('mcp_server_unavailable', { at, ...reasonOf(error) })
      },
    )
    return mine
  }
  const giveUp = (session: McpSession): void => {
    if (opening !== undefined && opened === session) forget(opening)
    void session.close().catch(() => {})
  }
  return {
    use: (work) => tryTwice(open, work, giveUp),
    async close() {
      stop.abort()
      await opening?.then((session) => session.close()).catch(() => {})
    },
  }
}

async function tryTwice<T>(
  open: () => Promise<McpSession>,
  work: (session: McpSession) => Promise<T>,
  giveUp: (session: McpSession) => void,
): Promise<T> {
  for (let isSecond = false; ; isSecond = true) {
    const session = await open()
    try {
      return await work(session)
    } catch (error) {
      if (isTimeout(error)) suspect(session, giveUp)
      if (!isMcpFailure(error) || (error.kind !== 'lost' && error.kind !== 'session_gone')) throw error
      giveUp(session)
      // Nothing happened in a session the server does not know: a new one may ask again, once.
      if (isSecond || error.kind === 'lost') throw error
    }
  }
}

/** A server that let a call run out of time is asked something simple; without an answer the connection is given up. */
function suspect(session: McpSession, giveUp: (session: McpSession) => void): void {
  session.listTools(undefined, AbortSignal.timeout(answerMs)).catch((error: unknown) => {
    if (!isMcpFailure(error) || error.kind !== 'refused') giveUp(session)
  })
}

function reasonOf(error: unknown): { readonly reason: string; readonly code?: string } {
  if (!isMcpFailure(error)) return { reason: 'no_answer' }
  return { reason: error.kind, ...(error.code === undefined ? {} : { code: String(error.code) }) }
}

function isTimeout(error: unknown): boolean {
  return error instanceof Error && error.name === 'TimeoutError'
}

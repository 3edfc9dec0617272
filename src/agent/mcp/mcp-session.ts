// The port to one MCP server. The edge speaks the protocol; what the server sent comes through unread, and what went wrong in
// one of five kinds that say whether anything may have happened.
import type { Fields } from '../../contract/index.ts'
import type { McpServer } from './mcp-server.ts'

export type McpCall = {
  /** As the server calls it. */
  readonly name: string
  readonly parameters: Fields
  /** The same on every try; told to the server. */
  readonly key: string
}

export interface McpSession {
  /** One page of its tools, as it was sent. */
  listTools(cursor: string | undefined, signal: AbortSignal): Promise<unknown>
  callTool(call: McpCall, signal: AbortSignal): Promise<unknown>
  close(): Promise<void>
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

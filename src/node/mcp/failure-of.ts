// The SDK's errors in our five kinds. Their texts hold addresses and bodies; only the words of a protocol error come along.
import type { McpError } from '@modelcontextprotocol/sdk/types.js'
import { McpFailure } from '../../agents/mcp/mcp-session.ts'

export type McpErrors = {
  readonly McpError: typeof McpError
  readonly StreamableHTTPError: abstract new (
    code: number,
    message: string,
  ) => Error & { readonly code?: number | undefined }
}

export type SessionState = {
  /** The session had been made; before that nothing can have happened. */
  readonly isOpen: boolean
  readonly isClosed: boolean
}

/** The SDK's own, for an answer that never came. */
const requestTimeout = -32001

export function toMcpFailure(error: unknown, errors: McpErrors, { isOpen, isClosed }: SessionState): McpFailure {
  if (error instanceof errors.StreamableHTTPError) return mcpFailureByStatus(error.code, isOpen)
  if (!isOpen) return new McpFailure('unreachable')
  if (error instanceof errors.McpError && error.code !== requestTimeout && !isClosed) {
    const detail = error.message.replace(/^MCP error -?\d+: /, '')
    return new McpFailure('refused', { code: error.code, detail })
  }
  return new McpFailure('lost')
}

function mcpFailureByStatus(status: number | undefined, isOpen: boolean): McpFailure {
  if (status === undefined || status < 400) return new McpFailure(isOpen ? 'lost' : 'unreachable')
  const code = { code: status }
  if (status === 401 || status === 403) return new McpFailure('rejected', code)
  if (!isOpen) return new McpFailure('unreachable', code)
  // The specification's word for a session that is over.
  if (status === 404) return new McpFailure('session_gone', code)
  return new McpFailure(status < 500 ? 'refused' : 'lost', code)
}

// Everything a server says it can do, within bounds: a server that never stops listing has no tools.
import { asFields, trimmedText } from '../fields.ts'
import type { McpSession } from './mcp-session.ts'

const maxPages = 32
const maxTools = 256
const maxBytes = 512 * 1024

/** `fault` is a code: the whole list is worth nothing then. */
export type ToolListing = { readonly tools: readonly unknown[] } | { readonly fault: ListFault }
export type ListFault = 'no_tool_list' | 'too_many_tools' | 'tool_list_too_large' | 'endless_tool_list'

export async function listTools(session: McpSession, signal: AbortSignal): Promise<ToolListing> {
  const tools: unknown[] = []
  const cursors = new Set<string>()
  let cursor: string | undefined
  let bytes = 0
  do {
    const page = asFields(await session.listTools(cursor, signal))
    const listed = page['tools']
    if (!Array.isArray(listed)) return { fault: 'no_tool_list' }
    tools.push(...listed)
    if (tools.length > maxTools) return { fault: 'too_many_tools' }
    bytes += JSON.stringify(listed).length
    if (bytes > maxBytes) return { fault: 'tool_list_too_large' }
    cursor = trimmedText(page['nextCursor'])
    if (cursor !== undefined && (cursors.has(cursor) || cursors.size >= maxPages)) return { fault: 'endless_tool_list' }
    if (cursor !== undefined) cursors.add(cursor)
  } while (cursor !== undefined)
  return { tools }
}

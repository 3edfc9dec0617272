// Tool results cut to a size a model can be shown. Bodies and error texts are cut, citations are kept while they
// fit; the full result stays in the audit's hash and with clients that watch.
import type { Fields } from '../../contract/index.ts'
import { fieldsOf, isFields } from '../fields.ts'
import { normalizeCitations } from './citations.ts'
import type { ToolResult } from './tool.ts'

export type Truncation = { readonly result: ToolResult; readonly truncated: boolean; readonly metadata: Fields }
export type ToolResultTruncator = (result: ToolResult, toolName: string) => Truncation

const defaultLimit = 8192

export function createResultTruncator({
  maxBytes = defaultLimit,
}: {
  readonly maxBytes?: number
} = {}): ToolResultTruncator {
  const limit = Math.max(1, Math.trunc(maxBytes))
  return (result) => {
    const size = bytesOf(JSON.stringify(result)).length
    if (size <= limit) return { result, truncated: false, metadata: {} }
    return cut(result, size, limit)
  }
}

function cut(result: ToolResult, originalBytes: number, limit: number): Truncation {
  const body = result.success ? result.result : result.error
  const excerpt = firstBytes(typeof body === 'string' ? body : JSON.stringify(body ?? null), limit)
  const { kept, dropped } = fittingCitations(result, limit)
  const markers: Fields = {
    truncated: true,
    original_bytes: originalBytes,
    excerpt_bytes: bytesOf(excerpt).length,
    ...(kept.length === 0 ? {} : { citations: kept }),
    ...(dropped === 0 ? {} : { citations_dropped: dropped }),
  }
  const { runtime, result: _result, error: _error, runtime_tool_request: _request, ...rest } = result
  const shortened = {
    ...rest,
    ...(runtime === undefined || isLarge(runtime, limit) ? {} : { runtime }),
    metadata: { ...smallMetadata(result.metadata, limit), ...markers },
    ...(result.success ? { result: { ...markers, excerpt } } : { error: `${excerpt} [truncated]` }),
  }
  return { result: shortened, truncated: true, metadata: markers }
}

/** In order; the first that does not fit takes all after it along. */
function fittingCitations(result: ToolResult, limit: number): { kept: readonly Fields[]; dropped: number } {
  const body = isFields(result.result) ? result.result : {}
  const citations = [...normalizeCitations(body['citations']), ...normalizeCitations(result.metadata['citations'])]
  const unique = [...new Map(citations.map((citation) => [JSON.stringify(citation), citation])).values()]
  const kept: Fields[] = []
  for (const citation of unique) {
    if (isLarge([...kept, citation], limit)) break
    kept.push(citation)
  }
  return { kept, dropped: unique.length - kept.length }
}

/** What a tool put beside its result is bounded too; what the failure is called survives. */
function smallMetadata(metadata: Fields, limit: number): Fields {
  const { citations: _citations, citations_dropped: _dropped, ...rest } = metadata
  if (!isLarge(rest, limit)) return rest
  const { error_type } = fieldsOf(metadata)
  return {
    ...(typeof error_type === 'string' ? { error_type: firstBytes(error_type, 128) } : {}),
    metadata_dropped: true,
  }
}

function isLarge(value: unknown, limit: number): boolean {
  return bytesOf(JSON.stringify(value)).length > limit
}

/** The first bytes of a text, never half a character. */
export function firstBytes(text: string, limit: number): string {
  const bytes = bytesOf(text)
  if (bytes.length <= limit) return text
  let end = limit
  // 10xxxxxx continues a character that began before.
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1
  return new TextDecoder().decode(bytes.subarray(0, end))
}

function bytesOf(text: string): Uint8Array {
  return new TextEncoder().encode(text)
}

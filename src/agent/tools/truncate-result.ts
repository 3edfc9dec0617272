// Tool results cut to a size a model can be shown. Bodies and error texts are cut, citations are kept while they
// fit; the full result stays in the audit's hash and with clients that watch.
import type { Fields } from '../../contract/index.ts'
import { asFields, isPlainObject } from '../fields.ts'
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
    const size = encodeUtf8(JSON.stringify(result)).length
    if (size <= limit) return { result, truncated: false, metadata: {} }
    return cutResult(result, size, limit)
  }
}

function cutResult(result: ToolResult, originalBytes: number, limit: number): Truncation {
  const body = result.success ? result.result : result.error
  const excerpt = truncateToBytes(typeof body === 'string' ? body : JSON.stringify(body ?? null), limit)
  const { kept, dropped } = fittingCitations(result, limit)
  const markers: Fields = {
    truncated: true,
    original_bytes: originalBytes,
    excerpt_bytes: encodeUtf8(excerpt).length,
    ...(kept.length === 0 ? {} : { citations: kept }),
    ...(dropped === 0 ? {} : { citations_dropped: dropped }),
  }
  const { runtime, result: _result, error: _error, runtime_tool_request: _request, ...rest } = result
  const shortened = {
    ...rest,
    ...(runtime === undefined || isLargerThan(runtime, limit) ? {} : { runtime }),
    metadata: { ...smallMetadata(result.metadata, limit), ...markers },
    ...(result.success ? { result: { ...markers, excerpt } } : { error: `${excerpt} [truncated]` }),
  }
  return { result: shortened, truncated: true, metadata: markers }
}

/** In order; the first that does not fit takes all after it along. */
function fittingCitations(result: ToolResult, limit: number): { kept: readonly Fields[]; dropped: number } {
  const body = isPlainObject(result.result) ? result.result : {}
  const citations = [...normalizeCitations(body['citations']), ...normalizeCitations(result.metadata['citations'])]
  const unique = [...new Map(citations.map((citation) => [JSON.stringify(citation), citation])).values()]
  const kept: Fields[] = []
  for (const citation of unique) {
    if (isLargerThan([...kept, citation], limit)) break
    kept.push(citation)
  }
  return { kept, dropped: unique.length - kept.length }
}

/** What a tool put beside its result is bounded too; what the failure is called survives. */
function smallMetadata(metadata: Fields, limit: number): Fields {
  const { citations: _citations, citations_dropped: _dropped, ...rest } = metadata
  if (!isLargerThan(rest, limit)) return rest
  const { error_type } = asFields(metadata)
  return {
    ...(typeof error_type === 'string' ? { error_type: truncateToBytes(error_type, 128) } : {}),
    metadata_dropped: true,
  }
}

function isLargerThan(value: unknown, limit: number): boolean {
  return encodeUtf8(JSON.stringify(value)).length > limit
}

/** The first bytes of a text, never half a character. */
export function truncateToBytes(text: string, limit: number): string {
  const bytes = encodeUtf8(text)
  if (bytes.length <= limit) return text
  let end = limit
  // 10xxxxxx continues a character that began before.
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1
  return new TextDecoder().decode(bytes.subarray(0, end))
}

function encodeUtf8(text: string): Uint8Array {
  return new TextEncoder().encode(text)
}

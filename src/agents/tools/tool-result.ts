// Tool results: normalized from whatever an executor returned, with citations, shortened for models, redacted for storage.
// Results are JSON: they are journaled, hashed and shown to a model.

import { asFields, isPlainObject, jsonByteLength, toJson, trimmedText, truncateToBytes } from '../../lib/index.ts'
import type { Fields, Json } from '../../lib/json-value.ts'
import { principalForDisplay } from '../policy/principal.ts'
import { mergeRuntime } from './declaration.ts'
import { redacted, redactParameters, type Sensitivity } from './redact.ts'
import { readPause, type ToolDeclaration, type ToolResult } from './tool.ts'

type Named = Pick<ToolDeclaration, 'name' | 'runtime'>

/** Statuses that stop a run: data cannot claim them, only a `Pause` (tool.ts) can. */
const pausingStatuses: ReadonlySet<unknown> = new Set(['runtime_tool_pending', 'approval_required'])
const defaultError = 'Tool execution failed.'

export function failedResult(tool: Named, errorType: string, error: string, metadata: Fields = {}): ToolResult {
  const runtime = tool.runtime
  return {
    success: false,
    tool_name: tool.name,
    metadata: { ...metadata, error_type: errorType },
    ...(runtime === undefined ? {} : { runtime }),
    error,
  }
}

/** A map with a boolean `success` is a result already; anything else is the body of a success. */
export function normalizeToolResult(tool: Named, returned: unknown): ToolResult {
  const pause = readPause(returned)
  if (pause !== undefined) return pausedResult(tool, pause)
  const value = toPortableJson(returned)
  if (value === undefined) return failedResult(tool, 'executor_result_invalid', 'The tool returned no JSON.')
  if (!isPlainObject(value) || typeof value['success'] !== 'boolean') return successfulResult(tool, {}, value)
  return value['success'] ? successfulResult(tool, value, executorResultBody(value)) : failedToolResult(tool, value)
}

function pausedResult(tool: Named, { status, details }: NonNullable<ReturnType<typeof readPause>>): ToolResult {
  const shared = { tool_name: tool.name, metadata: { status }, status, ...mergedRuntimeField(tool, undefined) }
  const given = asFields(toJson(details))
  if (status === 'runtime_tool_pending') return { success: false, ...shared, runtime_tool_request: given }
  return { success: true, ...shared, result: { ...given, type: 'approval_required' } }
}

function successfulResult(tool: Named, envelope: Fields, result: Json): ToolResult {
  return {
    success: true,
    tool_name: tool.name,
    metadata: toolResultMetadata(envelope),
    ...toolResultStatus(envelope),
    ...mergedRuntimeField(tool, envelope['runtime']),
    result,
  }
}

function failedToolResult(tool: Named, envelope: Fields): ToolResult {
  const metadata = toolResultMetadata(envelope)
  const errorType = trimmedText(metadata['error_type']) ?? trimmedText(envelope['error_type'])
  return {
    success: false,
    tool_name: tool.name,
    metadata: { ...metadata, ...(errorType === undefined ? {} : { error_type: errorType }) },
    ...toolResultStatus(envelope),
    ...mergedRuntimeField(tool, envelope['runtime']),
    error: trimmedText(envelope['error']) ?? defaultError,
  }
}

/** A tool that says `{success: true, id: 5}` means its own fields; they are not thrown away. */
function executorResultBody(envelope: Fields): Json {
  if ('result' in envelope) return toJson(envelope['result']) ?? null
  const { success: _s, tool_name: _t, metadata: _m, runtime: _r, status: _st, error_type: _e, ...own } = envelope
  return Object.keys(own).length === 0 ? null : (toJson(own) ?? null)
}

function toolResultMetadata(envelope: Fields): Fields {
  const metadata = asFields(envelope['metadata'])
  const { status } = metadata
  const kept = pausingStatuses.has(status)
    ? Object.fromEntries(Object.entries(metadata).filter(([key]) => key !== 'status'))
    : metadata
  return 'citations' in kept ? { ...kept, citations: normalizeCitations(kept['citations']) } : kept
}

function toolResultStatus(envelope: Fields): { status?: string } {
  const status = trimmedText(envelope['status'])
  return status === undefined || pausingStatuses.has(status) ? {} : { status }
}

function mergedRuntimeField(tool: Named, returned: unknown): { runtime?: Fields } {
  const runtime = mergeRuntime(tool.runtime, returned)
  return runtime === undefined ? {} : { runtime }
}

/** What JSON makes of it; undefined for cycles, big integers and bottomless depths. Nothing at all is null. */
function toPortableJson(returned: unknown): Json | undefined {
  if (returned === undefined) return null
  try {
    const text = JSON.stringify(returned)
    return text === undefined ? undefined : toJson(JSON.parse(text))
  } catch {
    return undefined
  }
}

// `metadata.citations` say where a result comes from, and whether the asker may see it. They explain, they never authorize.

const textKeys = ['source', 'source_id', 'item_id', 'fragment_id', 'source_title', 'source_url', 'excerpt']
const accessStatuses: readonly unknown[] = ['allowed', 'denied', 'partial', 'source_restricted']

export function normalizeCitations(value: unknown): readonly Fields[] {
  if (!Array.isArray(value)) return []
  return value.map(normalizeCitation).filter((citation) => Object.keys(citation).length > 0)
}

function normalizeCitation(value: unknown): Fields {
  const given = toJson(value)
  if (!isPlainObject(given)) return {}
  const entries = Object.entries(given).map(([key, field]) => [key, normalizeCitationField(key, field)] as const)
  return Object.fromEntries(entries.filter(([, field]) => field !== undefined))
}

function normalizeCitationField(key: string, value: unknown): unknown {
  if (textKeys.includes(key) || key === 'restriction_reason') return trimmedText(citationText(value))
  if (key === 'score') return citationScore(value)
  if (key === 'access_status') return accessStatuses.includes(value) ? value : undefined
  if (key === 'principal') return isPlainObject(value) ? principalForDisplay(value) : undefined
  return redactParameters({ [key]: value })[key]
}

function citationText(value: unknown): string {
  if (typeof value === 'boolean') return value ? '1' : ''
  return typeof value === 'string' || typeof value === 'number' ? String(value) : ''
}

function citationScore(value: unknown): number | undefined {
  const score = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
  return typeof score === 'number' && Number.isFinite(score) ? score : undefined
}

// Bodies and error texts are cut to a size a model can be shown, citations are kept while they fit; the full result stays in the
// audit's hash and with clients that watch.

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
    const size = jsonByteLength(result)
    if (size <= limit) return { result, truncated: false, metadata: {} }
    return truncateResult(result, size, limit)
  }
}

function truncateResult(result: ToolResult, originalBytes: number, limit: number): Truncation {
  const body = result.success ? result.result : result.error
  const excerpt = truncateToBytes(typeof body === 'string' ? body : JSON.stringify(body ?? null), limit)
  const { kept, dropped } = takeFittingCitations(result, limit)
  const markers: Fields = {
    truncated: true,
    original_bytes: originalBytes,
    excerpt_bytes: new TextEncoder().encode(excerpt).length,
    ...(kept.length === 0 ? {} : { citations: kept }),
    ...(dropped === 0 ? {} : { citations_dropped: dropped }),
  }
  const { runtime, result: _result, error: _error, runtime_tool_request: _request, ...rest } = result
  const shortened = {
    ...rest,
    ...(runtime === undefined || isLargerThan(runtime, limit) ? {} : { runtime }),
    metadata: { ...dropOversizedMetadata(result.metadata, limit), ...markers },
    ...(result.success ? { result: { ...markers, excerpt } } : { error: `${excerpt} [truncated]` }),
  }
  return { result: shortened, truncated: true, metadata: markers }
}

/** In order; the first that does not fit takes all after it along. */
function takeFittingCitations(result: ToolResult, limit: number): { kept: readonly Fields[]; dropped: number } {
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
function dropOversizedMetadata(metadata: Fields, limit: number): Fields {
  const { citations: _citations, citations_dropped: _dropped, ...rest } = metadata
  if (!isLargerThan(rest, limit)) return rest
  const { error_type } = asFields(metadata)
  return {
    ...(typeof error_type === 'string' ? { error_type: truncateToBytes(error_type, 128) } : {}),
    metadata_dropped: true,
  }
}

function isLargerThan(value: unknown, limit: number): boolean {
  return jsonByteLength(value) > limit
}

// Transcripts, events and stores keep the request to a client without its secrets, and no secret parameter echoed by the tool that
// received it.

/** Shorter ones occur by chance; replacing them would garble the text and hide nothing. */
const shortestSecret = 4

export function redactResultForStorage(result: ToolResult, parameters: Fields, declared: Sensitivity = {}): ToolResult {
  const secrets = listSecretParameterValues(parameters, declared)
  const { runtime_tool_request: request, ...rest } = result
  const asked = request === undefined ? {} : { runtime_tool_request: withoutRequestSecrets(request, declared) }
  if (secrets.length === 0) return { ...rest, ...asked }
  // Scrubbing keeps every key, so the shape stays.
  return scrubSecrets({ ...rest, ...asked }, secrets) as ToolResult
}

/** The values of parameters that are secret. Longest first: a secret may contain another. */
export function listSecretParameterValues(parameters: Fields, declared: Sensitivity): readonly string[] {
  const hidden = redactParameters(parameters, declared)
  return [...new Set(secretValues(parameters, hidden))].toSorted((a, b) => b.length - a.length)
}

function withoutRequestSecrets(request: Fields, declared: Sensitivity): Fields {
  if (!('parameters' in request)) return request
  return { ...request, parameters: redactParameters(asFields(request['parameters']), declared) }
}

/** The texts and numbers that redaction took out. */
function secretValues(raw: unknown, shown: unknown): readonly string[] {
  if (shown === redacted && raw !== redacted)
    return collectLeafTexts(raw).filter((leaf) => leaf.length >= shortestSecret)
  if (Array.isArray(raw) && Array.isArray(shown)) return raw.flatMap((item, at) => secretValues(item, shown[at]))
  if (!isPlainObject(raw) || !isPlainObject(shown)) return []
  return Object.keys(raw).flatMap((key) => secretValues(raw[key], shown[key]))
}

function collectLeafTexts(value: unknown): readonly string[] {
  if (typeof value === 'string' || typeof value === 'number') return [String(value)]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(collectLeafTexts) : []
}

function scrubSecrets(value: unknown, secrets: readonly string[]): unknown {
  if (typeof value === 'number') return secrets.includes(String(value)) ? redacted : value
  if (typeof value === 'string') return secrets.reduce((text, secret) => text.replaceAll(secret, redacted), value)
  if (Array.isArray(value)) return value.map((item) => scrubSecrets(item, secrets))
  if (!isPlainObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, scrubSecrets(item, secrets)]))
}

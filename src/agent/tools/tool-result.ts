// Whatever an executor returned, as a result. Results are JSON: they are journaled, hashed and shown to a model.
import type { Fields, Json } from '../../contract/index.ts'
import { asFields, isPlainObject, toJson, trimmedText } from '../fields.ts'
import { normalizeCitations } from './citations.ts'
import { readPause } from './pause.ts'
import { mergeRuntime } from './runtime-metadata.ts'
import type { ToolDeclaration, ToolResult } from './tool.ts'

type Named = Pick<ToolDeclaration, 'name' | 'runtime'>

/** Statuses that stop a run: data cannot claim them, only `pause.ts` can. */
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
  const shared = { tool_name: tool.name, metadata: { status }, status, ...withRuntime(tool, undefined) }
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
    ...withRuntime(tool, envelope['runtime']),
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
    ...withRuntime(tool, envelope['runtime']),
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

function withRuntime(tool: Named, returned: unknown): { runtime?: Fields } {
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

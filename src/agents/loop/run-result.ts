// The run result for callers and for other runtimes: `agents-api/run-result/v1`.

import { asFields, isPlainObject, toJson, trimmedText } from '../../lib/index.ts'
import type { Fields } from '../../lib/json-value.ts'

export const runResultSchemaId = 'agents-api/run-result/v1'

export const runStatuses = [
  'pending',
  'queued',
  'running',
  'cancelling',
  'cancelled',
  'succeeded',
  'failed',
  'skipped',
  'completed',
  'incomplete',
  'approval_required',
  'runtime_tool_pending',
  'budget_exceeded',
  'stalled',
  'interrupted',
] as const

export type RunStatus = (typeof runStatuses)[number]

export type RunResult = {
  readonly schema: typeof runResultSchemaId
  readonly version: 1
  readonly run_id: string
  readonly status: RunStatus
  readonly outputs: Fields
  readonly artifact_refs: readonly Fields[]
  readonly evidence_refs: readonly Fields[]
  readonly logs: readonly Fields[]
  readonly replay: Fields
  readonly provenance: Fields
  readonly timestamps: Fields
  readonly error: Fields
  readonly cancellation: Fields
  readonly metadata: Fields
}

const refTexts = ['type', 'label', 'id', 'url', 'path', 'mime_type', 'sha256', 'description']
const times = ['started_at', 'ended_at', 'updated_at']

/** Any map as a whole run result; what does not fit is left out. */
export function readRunResult(input: Fields): RunResult {
  return {
    schema: runResultSchemaId,
    version: 1,
    run_id: trimmedText(input['run_id']) ?? '',
    status: readRunStatus(input['status']),
    outputs: toJsonObjectOrEmpty(input['outputs'] ?? input['output']),
    artifact_refs: toJsonObjectList(input['artifact_refs']).map(trimReferenceTexts).filter(hasAnyField),
    evidence_refs: toJsonObjectList(input['evidence_refs']).map(trimReferenceTexts).filter(hasAnyField),
    logs: toJsonObjectList(input['logs']),
    replay: toJsonObjectOrEmpty(input['replay']),
    provenance: toJsonObjectOrEmpty(input['provenance']),
    timestamps: readTimestamps(input),
    error: toJsonObjectOrEmpty(input['error']),
    cancellation: toJsonObjectOrEmpty(input['cancellation']),
    metadata: toJsonObjectOrEmpty(input['metadata']),
  }
}

/** An unknown status is a run that may still go on: it is not taken for an end. */
function readRunStatus(value: unknown): RunStatus {
  const word = (trimmedText(value) ?? '').toLowerCase()
  return runStatuses.find((status) => status === word) ?? 'running'
}

function readTimestamps(input: Fields): Fields {
  const nested = asFields(input['timestamps'])
  const found = times.map((key) => [key, trimmedText(nested[key]) ?? trimmedText(input[key])] as const)
  return Object.fromEntries(found.filter(([, at]) => at !== undefined))
}

function trimReferenceTexts(ref: Fields): Fields {
  const entries = Object.entries(ref).map(([key, value]) => [key, refTexts.includes(key) ? trimmedText(value) : value])
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined))
}

function hasAnyField(ref: Fields): boolean {
  return Object.keys(ref).length > 0
}

function toJsonObjectList(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.filter(isPlainObject).map(toJsonObjectOrEmpty) : []
}

function toJsonObjectOrEmpty(value: unknown): Fields {
  return asFields(toJson(value))
}

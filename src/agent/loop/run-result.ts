// What became of a run, for its caller and for other runtimes: `agents-api/run-result/v1`.
import type { Fields } from '../../contract/index.ts'
import { fieldsOf, isFields, jsonOf, trimmed } from '../fields.ts'

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
    run_id: trimmed(input['run_id']) ?? '',
    status: readRunStatus(input['status']),
    outputs: mapOf(input['outputs'] ?? input['output']),
    artifact_refs: mapsOf(input['artifact_refs']).map(cleanRef).filter(isFilled),
    evidence_refs: mapsOf(input['evidence_refs']).map(cleanRef).filter(isFilled),
    logs: mapsOf(input['logs']),
    replay: mapOf(input['replay']),
    provenance: mapOf(input['provenance']),
    timestamps: timestampsOf(input),
    error: mapOf(input['error']),
    cancellation: mapOf(input['cancellation']),
    metadata: mapOf(input['metadata']),
  }
}

/** An unknown status is a run that may still go on: it is not taken for an end. */
function readRunStatus(value: unknown): RunStatus {
  const word = (trimmed(value) ?? '').toLowerCase()
  return runStatuses.find((status) => status === word) ?? 'running'
}

function timestampsOf(input: Fields): Fields {
  const nested = fieldsOf(input['timestamps'])
  const found = times.map((key) => [key, trimmed(nested[key]) ?? trimmed(input[key])] as const)
  return Object.fromEntries(found.filter(([, at]) => at !== undefined))
}

function cleanRef(ref: Fields): Fields {
  const entries = Object.entries(ref).map(([key, value]) => [key, refTexts.includes(key) ? trimmed(value) : value])
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined))
}

function isFilled(ref: Fields): boolean {
  return Object.keys(ref).length > 0
}

function mapsOf(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.filter(isFields).map(mapOf) : []
}

function mapOf(value: unknown): Fields {
  return fieldsOf(jsonOf(value))
}

// The safe trace of one call (loop 4.7): hashes instead of contents. The whole result is hashed, so that it can be proven
// later what the model was told (trap 09).
import type { Fields } from '../../contract/index.ts'
import { sha256Of } from './canonical-json.ts'
import { redactParameters, type Sensitivity } from './redact.ts'
import type { ToolResult } from './tool.ts'

export type AuditedCall = {
  readonly turn: number
  readonly toolName: string
  readonly toolCallId: string
  readonly source?: string
  readonly parameters: Fields
  readonly declared?: Sensitivity
  /** As the tool returned it, before it was shortened. */
  readonly result: ToolResult
}

export async function auditEvent(audited: AuditedCall): Promise<Fields> {
  const { result } = audited
  const hidden = await hashedParameters(audited.parameters, audited.declared)
  const event = {
    schema_version: 1,
    type: 'tool_call',
    turn_count: audited.turn,
    tool_name: audited.toolName,
    tool_call_id: audited.toolCallId,
    tool_source: audited.source ?? '',
    parameters_sha256: hidden.parameters_sha256,
    parameters_redacted: true,
    success: result.success,
    result_status: result.success ? 'success' : 'error',
    result_sha256: await sha256Of(result),
    error_type: result.success ? '' : (result.metadata['error_type'] ?? ''),
  }
  return Object.fromEntries(Object.entries(event).filter(([, value]) => value !== ''))
}

export type HashedParameters = {
  readonly parameters: Fields
  readonly parameters_sha256: string
  readonly parameters_redacted: true
}

/** Parameters as events, transcripts and audits carry them. */
export async function hashedParameters(parameters: Fields, declared?: Sensitivity): Promise<HashedParameters> {
  const hidden = redactParameters(parameters, declared)
  return { parameters: hidden, parameters_sha256: await sha256Of(hidden), parameters_redacted: true }
}

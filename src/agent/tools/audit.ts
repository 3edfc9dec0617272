// The safe trace of one call: hashes instead of contents. The whole result is hashed, so that it can be proven
// later what the tool answered.
import type { Fields } from '../../contract/index.ts'
import type { ToolAudit } from '../loop/tool-records.ts'
import { sha256OfJson } from './canonical-json.ts'
import { redactParameters, type Sensitivity } from './redact.ts'
import type { ToolResult } from './tool.ts'

export type AuditedCall = {
  readonly turn: number
  readonly toolName: string
  readonly toolCallId: string
  readonly source?: string | undefined
  readonly parametersSha256: string
  /** As the tool returned it, before it was shortened. */
  readonly result: ToolResult
}

export async function auditEvent(audited: AuditedCall): Promise<ToolAudit> {
  const { result, source } = audited
  const errorType = result.success ? undefined : result.metadata['error_type']
  return {
    schema_version: 1,
    type: 'tool_call',
    turn_count: audited.turn,
    tool_name: audited.toolName,
    tool_call_id: audited.toolCallId,
    ...(source === undefined || source === '' ? {} : { tool_source: source }),
    parameters_sha256: audited.parametersSha256,
    parameters_redacted: true,
    success: result.success,
    result_status: result.success ? 'success' : 'error',
    result_sha256: await sha256OfJson(result),
    ...(typeof errorType === 'string' && errorType !== '' ? { error_type: errorType } : {}),
  }
}

export type HashedParameters = { readonly redacted: Fields; readonly parameters_sha256: string }

/** Parameters as events, transcripts and audits carry them. */
export async function hashedParameters(parameters: Fields, declared?: Sensitivity): Promise<HashedParameters> {
  const redacted = redactParameters(parameters, declared)
  return { redacted, parameters_sha256: await sha256OfJson(redacted) }
}

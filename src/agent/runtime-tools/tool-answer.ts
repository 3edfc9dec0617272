// What the client that ran the tool reports, as it is stored: a result or an error, never both.
import type { Json, JsonObject } from '../../contract/index.ts'
import type { ToolAnswer } from '../../db/tool-requests.ts'
import { isPlainObject } from '../fields.ts'

export type Submission =
  | { readonly result: Json; readonly metadata?: JsonObject | undefined }
  | { readonly error: string; readonly metadata?: JsonObject | undefined }

export function submittedResult(given: Submission): ToolAnswer {
  const facts = { status: 'runtime_tool_submitted', metadata: given.metadata ?? {} }
  const result =
    'error' in given
      ? { ...facts, success: false, error: given.error }
      : { ...facts, success: true, result: isPlainObject(given.result) ? given.result : { value: given.result } }
  return { status: 'runtime_tool_completed', result: result as JsonObject }
}

/** A cancel is a timeout brought about by hand. */
export function cancelledResult(): ToolAnswer {
  return { status: 'runtime_tool_timeout', result: { status: 'runtime_tool_timeout', success: false, cancelled: true } }
}

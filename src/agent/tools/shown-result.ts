// What a program that watches a run is shown of a tool's result.
import type { Fields } from '../../contract/index.ts'
import { toJson } from '../fields.ts'
import { declaredName } from './client-names.ts'
import { redactParameters } from './redact.ts'
import type { ToolDeclaration, ToolResult } from './tool.ts'

/**
 * The result as the model has it, already cut to size, without values whose keys look like secrets. Nothing of a tool that is
 * marked sensitive, and nothing of one that the caller ran itself: it knows.
 */
export function shownResult(result: ToolResult, declaration: ToolDeclaration | undefined): Fields {
  const own = declaredName(declaration)
  if (own !== undefined) return { declared_name: own }
  if (declaration?.['sensitive_result'] === true) return {}
  if (!result.success) return { error: result.error ?? 'Tool execution failed.' }
  // A list or a text is judged under a key that is none of its own.
  return { result: redactParameters({ value: toJson(result.result) ?? null })['value'] }
}

// Who decides that a run is done besides the model: a policy that sees every tool result.
import type { Fields } from '../../contract/index.ts'
import type { ToolDeclaration } from '../tools/tool.ts'

export type CompletionDecision = { readonly complete: boolean; readonly message: string; readonly context: Fields }

export type CompletionPolicy = (
  toolName: string,
  declaration: ToolDeclaration | undefined,
  result: Fields,
  context: Fields,
  turn: number,
) => CompletionDecision | Promise<CompletionDecision>

export function complete(message = '', context: Fields = {}): CompletionDecision {
  return { complete: true, message, context }
}

export function incomplete(message = '', context: Fields = {}): CompletionDecision {
  return { complete: false, message, context }
}

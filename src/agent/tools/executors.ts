// Who runs a call: the executor a declaration names, else the one for everything. A name that leads nowhere is a failure and
// never falls back.
import { trimmedText } from '../fields.ts'
import { runtimeToolPending } from './pause.ts'
import type { ToolDeclaration, ToolExecutor, ToolResult } from './tool.ts'
import { failedResult } from './tool-result.ts'

export type Executors = {
  readonly default?: ToolExecutor
  /** By the `runtime.executor_target` of a declaration. */
  readonly targets?: ReadonlyMap<string, ToolExecutor>
}

export type ExecutorChoice = { readonly executor: ToolExecutor } | { readonly refusal: ToolResult }

export function chooseExecutor(executors: Executors, declaration: ToolDeclaration): ExecutorChoice {
  const target = declaration.runtime?.['executor_target']
  if (target !== undefined) {
    const named = executors.targets?.get(trimmedText(target) ?? '')
    return named === undefined ? executorUnavailable(declaration, 'executor_target_unavailable') : { executor: named }
  }
  // Only the other side of the connection can run it; it is told through the pending request.
  if (declaration.executor === 'client') return { executor: askClient }
  return executors.default === undefined
    ? executorUnavailable(declaration, 'executor_unavailable')
    : { executor: executors.default }
}

const askClient: ToolExecutor = (call) =>
  runtimeToolPending({ tool_name: call.tool_name, tool_call_id: call.id, parameters: call.parameters })

function executorUnavailable(declaration: ToolDeclaration, errorType: string): ExecutorChoice {
  return {
    refusal: failedResult(declaration, errorType, `${declaration.name} cannot be run here. Do not call it again.`),
  }
}

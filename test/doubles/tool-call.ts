// Short ways to declare, prepare and run one tool.

import { createToolCatalog } from '../../src/agents/tools/catalog.ts'
import { type DeclarationForm, readDeclaration } from '../../src/agents/tools/declaration.ts'
import { type ExecutionDeps, executeCall } from '../../src/agents/tools/execute-call.ts'
import type { ToolContext, ToolDeclaration, ToolExecutor, ToolResult } from '../../src/agents/tools/tool.ts'
import { bindAndValidateCall, type Preparation } from '../../src/agents/tools/tool-runner.ts'
import type { Fields } from '../../src/lib/json-value.ts'

/** A valid server declaration unless told otherwise; throws when it is refused. */
export function declared(fields: Fields = {}, form: DeclarationForm = 'server'): ToolDeclaration {
  const reading = readDeclaration({ name: 'demo/act', description: 'Acts.', ...fields }, form)
  if (!reading.ok) throw new Error(reading.rejected.reason)
  return reading.declaration
}

export function prepared(declaration: ToolDeclaration, parameters: Fields, context: Fields = {}): Preparation {
  const requested = { name: declaration.name, parameters }
  return bindAndValidateCall(createToolCatalog([declaration]), requested, { turn: 1, ordinal: 1, context })
}

function toolContext(fields: Partial<ToolContext> = {}): ToolContext {
  const { signal } = new AbortController()
  return {
    context: {},
    turn: 1,
    signal,
    key: 'key-1',
    fetch: globalThis.fetch,
    assertHeld: () => {},
    isUnsent: () => false,
    ...fields,
  }
}

export type RunOptions = {
  readonly deps?: Partial<ExecutionDeps>
  readonly context?: Partial<ToolContext>
  readonly parameters?: Fields
}

/** Prepares and runs; a refused preparation is the result. */
export async function ran(
  declaration: ToolDeclaration,
  executor: ToolExecutor,
  { deps = {}, context = {}, parameters = {} }: RunOptions = {},
): Promise<ToolResult> {
  const ready = prepared(declaration, parameters, context.context ?? {})
  if (ready.call === undefined) return ready.refusal
  const all = { executors: { default: executor }, defaultTimeoutMs: 60_000, ...deps }
  return executeCall(all, { call: ready.call, declaration }, toolContext(context))
}

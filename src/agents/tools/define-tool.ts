// defineTool: a function with a schema. The schema gives the function its types, the model its instructions and the gateway its
// checks.
import * as z from 'zod'
import { GatewayError } from '../../lib/errors.ts'
import type { Fields } from '../../lib/json-value.ts'
import { type ApprovalTerms, approversProblem } from '../approvals/terms.ts'
import type { ActionPolicy } from '../policy/action-policy.ts'
import { readDeclaration } from './declaration.ts'
import type { Executors } from './execute-call.ts'
import { type ParameterBinding, type ToolContext, type ToolDeclaration, ToolError, type ToolExecutor } from './tool.ts'

/** A zod schema of an object, or a JSON Schema. */
export type ToolParameters = z.ZodType<Fields> | Fields

type Arguments<Parameters extends ToolParameters> = Parameters extends z.ZodType ? z.output<Parameters> : Fields

export type ToolDefinition<Parameters extends ToolParameters> = {
  /** `namespace/name`. */
  readonly name: string
  /** What the model reads to decide when to call it. */
  readonly description: string
  /** What people are told it is, should a turn break off after it; its name where there is none. */
  readonly label?: string
  readonly parameters: Parameters
  /** What it throws stays with the operator; `ToolError` is for the model. */
  readonly execute: (args: Arguments<Parameters>, context: ToolContext) => unknown
  /** Running it twice with `context.key` is running it once. Without it, an interrupted call is never repeated. */
  readonly idempotent?: boolean
  readonly timeoutMs?: number
  readonly action_policy?: ActionPolicy
  /** The same for chats with people, and for what other agents ask, where `action_policy` says nothing. */
  readonly action_policy_chat?: ActionPolicy
  readonly action_policy_pipeline?: ActionPolicy
  /** A person is asked first, on these terms: its action policy is `preview` unless it or its agent says otherwise. */
  readonly approval?: ApprovalTerms<Parameters extends z.ZodType ? z.input<Parameters> : Fields>
  readonly required_capability?: string
  readonly parameter_bindings?: Readonly<Record<string, string | ParameterBinding>>
  readonly parameter_defaults?: Fields
  readonly sensitive_parameters?: readonly string[]
  /** What it gives is for the model alone: programs that watch the run learn only whether it worked. */
  readonly sensitive_result?: boolean
  readonly categories?: readonly string[]
  readonly modes?: readonly string[]
  /** It changes something outside: hidden from those who act without a person. */
  readonly write?: boolean
  readonly mandatory?: boolean
  readonly runtime?: Fields
}

export type Tool = {
  readonly declaration: ToolDeclaration
  readonly execute: ToolExecutor
  readonly approval?: ApprovalTerms
  /** Its work is steps of the turn: it is none itself, and takes the time they take. */
  readonly isSteps?: boolean
}

/**
 * A tool for a model. Arguments are checked by `parameters` before `execute` runs. With `idempotent` it is called again under the same
 * `context.key` when nothing is known of a call's end; with `approval` a person is asked first.
 *
 * @example
 * const charge = defineTool({
 *   name: 'bill/charge',
 *   description: 'Charges an amount.',
 *   parameters: z.object({ euros: z.number() }),
 *   approval: { summary: ({ euros }) => `charge ${euros} EUR` },
 *   execute: async ({ euros }, { fetch, key }) => { … },
 * })
 */
export function defineTool<const Parameters extends ToolParameters>(definition: ToolDefinition<Parameters>): Tool {
  const { execute, parameters, timeoutMs, approval, ...rest } = definition
  const schema = isZodSchema(parameters) ? parameters : undefined
  const declared = {
    ...rest,
    parameters: schema === undefined ? parameters : toolJsonSchema(definition.name, schema),
    ...(timeoutMs === undefined ? {} : { timeout_ms: timeoutMs }),
  }
  const reading = readDeclaration(declared, 'server')
  if (!reading.ok) throw new GatewayError('config_invalid', `[tool] ${definition.name}: ${reading.rejected.reason}`)
  const problem = approversProblem(approval?.by)
  if (problem !== undefined) throw new GatewayError('config_invalid', `[tool] ${definition.name}: approval.${problem}`)
  const target = reading.declaration.runtime?.['executor_target']
  if (target !== undefined) {
    const problem = `runtime.executor_target names "${String(target).slice(0, 64)}", and this gateway has no executors yet`
    const remedy = 'leave it out and the tool runs in the gateway'
    throw new GatewayError('config_invalid', `[tool] ${definition.name}: ${problem}; ${remedy}`)
  }
  const runTool: ToolExecutor = async (call, _declaration, context) => {
    const args = schema === undefined ? call.parameters : await parseArguments(schema, call.parameters)
    // The schema has just made it so; without one its type is Fields.
    return execute(args as Arguments<Parameters>, context)
  }
  return Object.freeze({
    declaration: Object.freeze(reading.declaration),
    execute: runTool,
    // Its summary is given the parameters of this very tool.
    ...(approval === undefined ? {} : { approval: Object.freeze({ ...approval }) as ApprovalTerms }),
  })
}

/** The executor for a set of defined tools: each runs its own. */
export function toolExecutors(tools: readonly Tool[]): Executors {
  const own = new Map(tools.map((tool) => [tool.declaration.name, tool.execute]))
  return {
    default: (call, declaration, context) => {
      const execute = own.get(call.tool_name)
      if (execute === undefined) throw new ToolError(`${call.tool_name} cannot be run here.`, 'executor_unavailable')
      return execute(call, declaration, context)
    },
  }
}

function isZodSchema(parameters: ToolParameters): parameters is z.ZodType<Fields> {
  return '_zod' in parameters
}

function toolJsonSchema(name: string, schema: z.ZodType): Fields {
  // What the model sends is the input side: defaults and transformations come after it.
  const { $schema: _, ...json } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' })
  if (json.type === 'object' || json.anyOf !== undefined || json.allOf !== undefined) return json
  throw new GatewayError('config_invalid', `[tool] ${name}: parameters must be a schema of an object, such as z.object`)
}

/** Checks that JSON Schema cannot express, transformations and defaults. */
async function parseArguments(schema: z.ZodType<Fields>, parameters: Fields): Promise<Fields> {
  const reading = await schema.safeParseAsync(parameters)
  if (reading.success) return reading.data
  const faults = reading.error.issues
    .slice(0, 8)
    .map(({ path, message }) => `${path.join('.') || 'the arguments'}: ${message}`)
  throw new ToolError(`Invalid arguments: ${faults.join('; ')}. Correct them and call again.`, 'invalid_parameters')
}

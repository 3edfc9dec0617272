// A requested call made ready, or refused in words the model can act on. Nothing is executed here.
import type { Fields } from '../../contract/index.ts'
import { isPlainObject, trimmedText } from '../fields.ts'
import { authoritativeNames, bindParameters } from './bind-parameters.ts'
import type { ToolCatalog } from './catalog.ts'
import { missingParameters } from './required-parameters.ts'
import type { PreparedCall, RequestedCall, ToolDeclaration, ToolResult } from './tool.ts'
import { failedResult } from './tool-result.ts'
import { type ArgumentFault, validateArguments } from './validate-arguments.ts'

/** `toolName` is canonical wherever the tool is known, so that budgets, rules and audits speak of one tool. */
export type Preparation = {
  readonly toolName: string
  readonly id: string
  /** As bound, or as asked when it did not get that far. For executors and mediators only. */
  readonly parameters: Fields
  readonly declaration?: ToolDeclaration
} & (
  | { readonly call: PreparedCall; readonly refusal?: never }
  | { readonly call?: never; readonly refusal: ToolResult }
)

export type CallPlace = {
  readonly turn: number
  /** 1-based place in the batch. */
  readonly ordinal: number
  readonly context: Fields
}

export function prepareCall(
  catalog: Pick<ToolCatalog, 'find'>,
  requested: RequestedCall,
  place: CallPlace,
): Preparation {
  const id = trimmedText(requested.id) ?? `tool-call-${place.turn}-${place.ordinal}`
  const declaration = catalog.find(requested.name)
  const given = isPlainObject(requested.parameters) ? requested.parameters : {}
  if (declaration === undefined) {
    const toolName = printableName(requested.name)
    const refusal = failedResult({ name: toolName }, 'tool_not_found', `Tool '${toolName}' not found`)
    return { toolName, id, parameters: given, refusal }
  }
  const found = { toolName: declaration.name, id, declaration }
  if (!isPlainObject(requested.parameters) || requested.metadata?.['invalid_arguments'] === true) {
    const error = `The arguments of ${declaration.name} were not a JSON object. Call it again with valid JSON.`
    return { ...found, parameters: given, refusal: failedResult(declaration, 'invalid_parameters', error) }
  }
  const parameters = bindParameters(declaration, given, place.context)
  const refusal = missingRefusal(declaration, parameters) ?? invalidRefusal(declaration, parameters)
  if (refusal !== undefined) return { ...found, parameters, refusal }
  const metadata = { source: declaration.source, provider_tool_name: requested.name, tool_call_id: id }
  return { ...found, parameters, call: { tool_name: declaration.name, parameters, id, metadata } }
}

function missingRefusal(declaration: ToolDeclaration, parameters: Fields): ToolResult | undefined {
  const missing = missingParameters(declaration.parameters, parameters)
  if (missing.length === 0) return undefined
  const error = `Missing required parameters for ${declaration.name}: ${missing.join(', ')}`
  return failedResult(declaration, 'missing_required_parameters', error, { missing_parameters: missing })
}

function invalidRefusal(declaration: ToolDeclaration, parameters: Fields): ToolResult | undefined {
  const faults = validateArguments(declaration.parameters, parameters)
  if (faults.length === 0) return undefined
  const ours = authoritativeNames(declaration)
  if (faults.some(({ path }) => ours.has(path.split(/[.[]/)[0] ?? ''))) {
    const error = `${declaration.name} cannot be called here: a value the system fills in does not fit. Do not call it again.`
    return failedResult(declaration, 'invalid_bound_parameters', error, { invalid_parameters: faults })
  }
  const error = `Invalid arguments for ${declaration.name}: ${faults.map(faultSentence).join('; ')}. Correct them and call again.`
  return failedResult(declaration, 'invalid_parameters', error, { invalid_parameters: faults })
}

function faultSentence({ path, message }: ArgumentFault): string {
  return `${path === '' ? 'the arguments' : path} ${message}`
}

/** An unknown name is the model's invention: it is shown, but neither long nor with control characters. */
function printableName(name: unknown): string {
  return String(name)
    .replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g, '')
    .slice(0, 128)
}

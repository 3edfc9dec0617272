// From the model's arguments to what is executed. Later wins: defaults, what the context offers, the model's own
// word, and last what the model has no say in.
import type { Fields, Json } from '../../contract/index.ts'
import { asFields, isPlainObject, ownField, toJson } from '../fields.ts'
import { isSensitiveParameter } from './redact.ts'
import { redacted } from './sensitive-keys.ts'
import type { ParameterBinding, ToolDeclaration } from './tool.ts'

export function bindParameters(declaration: ToolDeclaration, given: Fields, context: Fields): Fields {
  const bindings = Object.entries(declaration.parameter_bindings ?? {})
  const defaults = usableDefaults(declaration)
  const offered = bindings.flatMap(([name, binding]) => {
    const value = binding.authoritative === true ? undefined : resolveBinding(declaration, name, binding, context)
    return value === undefined ? [] : [[name, value] as const]
  })
  const bound = new Map<string, unknown>([...Object.entries(defaults), ...offered, ...Object.entries(given)])
  for (const [name, binding] of bindings) {
    if (binding.authoritative !== true) continue
    // Null is a value here, and the last word.
    const choices = [lookUpBinding(binding, context), usableDefault(declaration, name, binding.default), defaults[name]]
    const value = choices.find((choice) => choice !== undefined)
    if (value === undefined) bound.delete(name)
    else bound.set(name, value)
  }
  return Object.fromEntries(bound)
}

/** Names the model neither sees nor decides. */
export function authoritativeNames({
  parameter_bindings,
}: Pick<ToolDeclaration, 'parameter_bindings'>): ReadonlySet<string> {
  const entries = Object.entries(parameter_bindings ?? {})
  return new Set(entries.flatMap(([name, binding]) => (binding.authoritative === true ? [name] : [])))
}

/** What the context has is offered unless it is empty; the binding's default only where the context has nothing. */
function resolveBinding(
  declaration: ToolDeclaration,
  name: string,
  binding: ParameterBinding,
  context: Fields,
): Json | undefined {
  const found = lookUpBinding(binding, context)
  if (found === undefined) return usableDefault(declaration, name, binding.default)
  return found === null || found === '' ? undefined : found
}

function lookUpBinding({ source, path }: ParameterBinding, context: Fields): Json | undefined {
  let found: unknown = source === 'context' ? context : ownField(context, source)
  for (const segment of path.split('.')) found = isPlainObject(found) ? ownField(found, segment) : undefined
  return toJson(found)
}

/** The declaration shows `[redacted]` in place of a secret default; that word must never be executed. */
function usableDefault(declaration: ToolDeclaration, name: string, value: Json | undefined): Json | undefined {
  return value === redacted && isSensitiveParameter(name, declaration) ? undefined : value
}

function usableDefaults(declaration: ToolDeclaration): Fields {
  const entries = Object.entries(asFields(declaration.parameter_defaults))
  return Object.fromEntries(
    entries.filter(([name, value]) => usableDefault(declaration, name, toJson(value)) !== undefined),
  )
}

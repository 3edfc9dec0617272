// Parameters a declaration wants filled from what the gateway knows. Nothing is bound that is not declared.
import type { Fields } from '../../contract/index.ts'
import { isPlainObject, toJson, trimmedText } from '../fields.ts'
import type { BindingSource, ParameterBinding } from './tool.ts'

const sources: readonly string[] = ['context', 'client_context', 'caller_context', 'runtime_context']
const bindingKeys = new Set(['source', 'path', 'sensitive', 'default', 'authoritative'])

/** Undefined: something in it is wrong, and the declaration with it. */
export function readBindings(value: unknown): Readonly<Record<string, ParameterBinding>> | undefined {
  if (!isPlainObject(value)) return isEmptyArray(value) ? {} : undefined
  return readBindingEntries(Object.entries(value), readBinding)
}

/** The short form: names, or new name to name. It reads the root of the turn's context. */
export function readContextBindings(
  value: unknown,
  source: BindingSource,
): Readonly<Record<string, ParameterBinding>> | undefined {
  if (!Array.isArray(value) && !isPlainObject(value)) return undefined
  const entries = Array.isArray(value) ? value.map((name) => [String(name), name] as const) : Object.entries(value)
  return readBindingEntries(entries, (path) => {
    const read = trimmedText(path)
    return read === undefined ? undefined : { source, path: read }
  })
}

function readBindingEntries(
  entries: readonly (readonly [string, unknown])[],
  read: (value: unknown) => ParameterBinding | undefined,
): Readonly<Record<string, ParameterBinding>> | undefined {
  const bindings = entries.map(([name, value]) => [name, read(value)] as const)
  const good = bindings.filter((entry): entry is [string, ParameterBinding] => entry[1] !== undefined)
  return good.length === bindings.length ? Object.fromEntries(good) : undefined
}

function readBinding(value: unknown): ParameterBinding | undefined {
  if (typeof value === 'string') {
    const [source = '', ...path] = value.trim().split('.')
    return readBindingLocation(source, path.join('.'))
  }
  if (!isPlainObject(value) || Object.keys(value).some((key) => !bindingKeys.has(key))) return undefined
  const place = readBindingLocation(value['source'], value['path'])
  const flags = readFlags(value)
  if (place === undefined || flags === undefined) return undefined
  const fallback = 'default' in value ? toJson(value['default']) : undefined
  return { ...place, ...flags, ...(fallback === undefined ? {} : { default: fallback }) }
}

function readBindingLocation(source: unknown, path: unknown): ParameterBinding | undefined {
  const read = trimmedText(path)
  if (!isBindingSource(source) || read === undefined || read.split('.').includes('')) return undefined
  return { source, path: read }
}

function readFlags(value: Fields): Pick<ParameterBinding, 'sensitive' | 'authoritative'> | undefined {
  const { sensitive, authoritative } = value
  if (sensitive !== undefined && typeof sensitive !== 'boolean') return undefined
  if (authoritative !== undefined && typeof authoritative !== 'boolean') return undefined
  return {
    ...(sensitive === undefined ? {} : { sensitive }),
    ...(authoritative === undefined ? {} : { authoritative }),
  }
}

function isBindingSource(value: unknown): value is BindingSource {
  return typeof value === 'string' && sources.includes(value)
}

function isEmptyArray(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0
}

// Tool declarations, validated and completed. Four forms:
// client   strict: a tool that the other side of a connection runs; nothing is guessed
// server   a tool of ours, as configuration and tool sources declare it
// request  either, as a stored conversation request holds it; what older client entries left out is supplied
// outside  a client tool declared by an API caller: it may describe itself, and never grant itself anything

import { asFields, isEmptyArray, isPlainObject, toJson, trimmedText } from '../../lib/index.ts'
import type { Fields } from '../../lib/json-value.ts'
import { isSensitiveParameter, redacted, redactParameters, type Sensitivity } from './redact.ts'
import type { BindingSource, ParameterBinding, RejectedDeclaration, ToolDeclaration } from './tool.ts'
import {
  clientToolProviderName,
  isProviderSafeName,
  maxDeclaredName,
  readDeclaredName,
  toProviderSafeName,
} from './tool-names.ts'

export type DeclarationForm = 'client' | 'server' | 'request' | 'outside'

export type DeclarationReading =
  | { readonly ok: true; readonly declaration: ToolDeclaration }
  | { readonly ok: false; readonly rejected: RejectedDeclaration; readonly fields: readonly string[] }

type Form = { readonly isClient: boolean; readonly isLenient: boolean; readonly isOutside: boolean }
type Faults = Map<string, string>

const namePattern = /^([a-z][a-z0-9_-]*)\/[a-z][a-z0-9_-]*$/
const sourcePattern = /^[a-z][a-z0-9_-]*$/
const maxNameLength = 128

/** Fields with rules of their own; every other field is an extension. */
const ruledFields = new Set([
  'name',
  'source',
  'description',
  'parameters',
  'executor',
  'scope',
  'runtime',
  'parameter_bindings',
  'parameter_defaults',
  'required_capability',
  'provider_safe_name',
  'provider_aliases',
  'idempotent',
  'timeout_ms',
])
/** All that a stranger may add: hints about its own tool, and secrecy. */
const outsideRuntime = new Set(['duplicate_policy', 'completion_signal'])
const outsideExtensions = new Set(['sensitive_parameters', 'parameter_sensitivity', 'declared_name'])

export function readDeclaration(input: unknown, form: DeclarationForm): DeclarationReading {
  const given = asFields(input)
  const name = typeof given['name'] === 'string' ? given['name'] : ''
  const isRoutedToClient = form === 'request' && (given['executor'] === 'client' || name.startsWith('client/'))
  const isOutside = form === 'outside'
  const isClient = form === 'client' || isOutside || isRoutedToClient
  const rules = { isClient, isLenient: isOutside || form === 'request', isOutside }
  const faults: Faults = new Map()
  const declaration = isPlainObject(input) ? buildDeclaration(given, rules, faults) : undefined
  if (declaration === undefined) faults.set('declaration', 'must be an object')
  if (declaration !== undefined && faults.size === 0) return { ok: true, declaration }
  const reason = [...faults].map(([field, fault]) => `${field} ${fault}`).join('; ')
  return {
    ok: false,
    rejected: { name: name.slice(0, maxNameLength), reason: `${faultPrefix(form, isClient)}: ${reason}` },
    fields: [...faults.keys()],
  }
}

function faultPrefix(form: DeclarationForm, isClient: boolean): string {
  if (isClient) return 'invalid_runtime_tool_declaration'
  return form === 'server' ? 'invalid_server_tool_declaration' : 'invalid_conversation_tool_declaration'
}

function buildDeclaration(given: Fields, form: Form, faults: Faults): ToolDeclaration {
  const { name, source } = readToolIdentity(given, form, faults)
  const own = form.isOutside ? readDeclaredName(given) : undefined
  if (own !== undefined && own.length > maxDeclaredName)
    faults.set('name', `is longer than ${maxDeclaredName} characters`)
  const description = trimmedText(given['description']) ?? (form.isClient && form.isLenient ? (own ?? name) : '')
  if (description === '') faults.set('description', 'is required')
  checkExecutorAndScope(given, form, faults)
  const parameters = isEmptyList(given['parameters']) ? {} : toJson(given['parameters'] ?? {})
  if (!isPlainObject(parameters)) faults.set('parameters', 'must be a JSON schema')
  const schema = asFields(parameters)
  return {
    ...extensionFields(given, form),
    name,
    source,
    description,
    parameters: schema,
    executor: form.isClient ? 'client' : 'host',
    scope: 'run',
    ...readRuntimeHints(given, form, faults),
    ...readBindingsAndSafeDefaults(given, schema, form, faults),
    ...readProviderNameAndAliases(given, name, form, faults),
    ...readExecutionFields(given, form, faults),
  }
}

function readToolIdentity(given: Fields, { isClient }: Form, faults: Faults): { name: string; source: string } {
  const name = typeof given['name'] === 'string' ? given['name'] : ''
  const namespace = name.length <= maxNameLength ? namePattern.exec(name)?.[1] : undefined
  if (namespace === undefined) faults.set('name', 'must be namespace/name in lower-case letters, digits, _ and -')
  else if (isClient && namespace !== 'client') faults.set('name', 'of a client tool must begin with client/')
  const source = given['source'] ?? namespace ?? ''
  if (isClient && source !== 'client') faults.set('source', 'of a client tool must be client')
  if (!isClient && namespace === 'client') faults.set('source', 'client/ is kept for client tools')
  if (typeof source !== 'string' || !sourcePattern.test(source)) faults.set('source', 'must be a lower-case word')
  return { name, source: String(source) }
}

function checkExecutorAndScope({ executor, scope }: Fields, { isClient, isLenient }: Form, faults: Faults): void {
  const isExecutorFine = isClient
    ? executor === 'client' || (isLenient && executor === undefined)
    : executor !== 'client'
  if (!isExecutorFine)
    faults.set('executor', isClient ? 'must be client' : 'client needs a name that begins with client/')
  const mayBeAbsent = !isClient || isLenient
  if (scope !== 'run' && !(scope === undefined && mayBeAbsent)) faults.set('scope', 'must be run')
}

function readRuntimeHints(given: Fields, { isOutside }: Form, faults: Faults): Pick<ToolDeclaration, 'runtime'> {
  const { runtime } = given
  if (runtime === undefined || runtime === null || isEmptyList(runtime)) return {}
  if (!isPlainObject(runtime)) faults.set('runtime', 'must be an object')
  const hints = normalizeRuntime(runtime)
  if (!isOutside) return { runtime: hints }
  return { runtime: Object.fromEntries(Object.entries(hints).filter(([key]) => outsideRuntime.has(key))) }
}

function readBindingsAndSafeDefaults(
  given: Fields,
  parameters: Fields,
  form: Form,
  faults: Faults,
): Pick<ToolDeclaration, 'parameter_bindings' | 'parameter_defaults'> {
  const bindings = readDeclaredBindings(given, form, faults)
  const sensitivity: Sensitivity = { ...given, parameters, parameter_bindings: bindings }
  const isHiddenDefault = (name: string) => isSensitiveParameter(name, sensitivity)
  const defaults = given['parameter_defaults'] ?? {}
  if (!isPlainObject(defaults) && !isEmptyList(defaults)) faults.set('parameter_defaults', 'must be an object')
  const hiddenDefaults = Object.entries(asFields(toJson(defaults))).map(
    ([name, value]) => [name, isHiddenDefault(name) ? redacted : value] as const,
  )
  const hiddenBindings = Object.entries(bindings).map(
    ([name, binding]) =>
      [
        name,
        binding.default !== undefined && isHiddenDefault(name) ? { ...binding, default: redacted } : binding,
      ] as const,
  )
  return {
    ...(hiddenBindings.length === 0 ? {} : { parameter_bindings: Object.fromEntries(hiddenBindings) }),
    // jsonOf made it so.
    ...(hiddenDefaults.length === 0
      ? {}
      : { parameter_defaults: Object.fromEntries(hiddenDefaults) as ToolDeclaration['parameter_defaults'] & {} }),
  }
}

function readDeclaredBindings(given: Fields, form: Form, faults: Faults): Readonly<Record<string, ParameterBinding>> {
  const long = readBindings(given['parameter_bindings'] ?? {})
  if (long === undefined) faults.set('parameter_bindings', 'must be name to "source.path" or {source, path, …}')
  const short = readContextBindings(
    given['client_context_bindings'] ?? {},
    form.isOutside ? 'client_context' : 'context',
  )
  if (short === undefined) faults.set('client_context_bindings', 'must be a list of names or name to name')
  const bindings = { ...short, ...long }
  const isWithinReach = Object.values(bindings).every((binding) => binding.source === 'client_context')
  // Else a stranger's tool could have our own context sent to it.
  if (form.isOutside && !isWithinReach)
    faults.set('parameter_bindings', 'of a declared client tool may read client_context only')
  return bindings
}

function readProviderNameAndAliases(
  given: Fields,
  name: string,
  { isOutside }: Form,
  faults: Faults,
): Pick<ToolDeclaration, 'provider_safe_name' | 'provider_aliases'> {
  const own = isOutside ? readDeclaredName(given) : undefined
  const chosen = isOutside ? own && clientToolProviderName(name, own) : given['provider_safe_name']
  const safe = chosen ?? toProviderSafeName(name)
  if (!isProviderSafeName(safe)) faults.set('provider_safe_name', 'must be letters, digits, _ and -, 64 at most')
  const aliases = isOutside || !Array.isArray(given['provider_aliases']) ? [] : given['provider_aliases']
  const usable = aliases.filter(isProviderSafeName)
  return { provider_safe_name: String(safe), ...(usable.length === 0 ? {} : { provider_aliases: usable }) }
}

function readExecutionFields(
  { required_capability, idempotent, timeout_ms }: Fields,
  { isOutside }: Form,
  faults: Faults,
): Pick<ToolDeclaration, 'required_capability' | 'idempotent' | 'timeout_ms'> {
  const capability = trimmedText(required_capability)
  const isTimeout = typeof timeout_ms === 'number' && timeout_ms > 0 && Number.isFinite(timeout_ms)
  if (idempotent !== undefined && typeof idempotent !== 'boolean') faults.set('idempotent', 'must be true or false')
  if (timeout_ms !== undefined && !isTimeout) faults.set('timeout_ms', 'must be a positive number')
  return {
    ...(capability === undefined ? {} : { required_capability: capability }),
    ...(typeof idempotent === 'boolean' && !isOutside ? { idempotent } : {}),
    ...(isTimeout && !isOutside ? { timeout_ms } : {}),
  }
}

function extensionFields(given: Fields, { isOutside }: Form): Fields {
  const kept = Object.entries(given).filter(([key]) => (isOutside ? outsideExtensions.has(key) : !ruledFields.has(key)))
  const plain = kept.map(([key, value]) => [key, toJson(value)] as const)
  return Object.fromEntries(plain.filter(([, value]) => value !== undefined && value !== null))
}

function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0
}

// Bindings: parameters filled from what the gateway knows. Nothing is bound that is not declared.

const sources: readonly string[] = ['context', 'client_context', 'caller_context', 'runtime_context']
const bindingKeys = new Set(['source', 'path', 'sensitive', 'default', 'authoritative'])

/** Undefined: something in it is wrong, and the declaration with it. */
function readBindings(value: unknown): Readonly<Record<string, ParameterBinding>> | undefined {
  if (!isPlainObject(value)) return isEmptyArray(value) ? {} : undefined
  return readBindingEntries(Object.entries(value), readBinding)
}

/** The short form: names, or new name to name. It reads the root of the turn's context. */
function readContextBindings(
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
  const flags = readBindingFlags(value)
  if (place === undefined || flags === undefined) return undefined
  const fallback = 'default' in value ? toJson(value['default']) : undefined
  return { ...place, ...flags, ...(fallback === undefined ? {} : { default: fallback }) }
}

function readBindingLocation(source: unknown, path: unknown): ParameterBinding | undefined {
  const read = trimmedText(path)
  if (!isBindingSource(source) || read === undefined || read.split('.').includes('')) return undefined
  return { source, path: read }
}

function readBindingFlags(value: Fields): Pick<ParameterBinding, 'sensitive' | 'authoritative'> | undefined {
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

// `runtime`: neutral hints about how a tool runs, from its declaration and refined by its results.

/** Plain JSON only; nulls go, and what looks like a secret is hidden: hints are shown to every reader. */
function normalizeRuntime(value: unknown): Fields {
  const entries = Object.entries(asFields(toJson(value)))
  return redactParameters(Object.fromEntries(entries.filter(([, hint]) => hint !== null)))
}

/** The result's word wins, key by key. */
export function mergeRuntime(declared: Fields | undefined, returned: unknown): Fields | undefined {
  const merged = { ...declared, ...normalizeRuntime(returned) }
  return Object.keys(merged).length === 0 ? undefined : merged
}

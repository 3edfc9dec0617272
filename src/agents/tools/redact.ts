// Redacted parameters, as they may be stored, shown and hashed. What is executed is never this copy.

import { asFields, isPlainObject, maxJsonDepth, textList } from '../../lib/index.ts'
import type { Fields } from '../../lib/json-value.ts'
import { itemSchemas, listSchemasOfSameValue, propertySchemas } from './json-schema.ts'

/** What a declaration says about secrecy: its schema, its bindings, and the two lists made for it. */
export type Sensitivity = {
  readonly parameters?: Fields
  readonly parameter_bindings?: Fields
  readonly sensitive_parameters?: unknown
  readonly parameter_sensitivity?: unknown
}

type Walk = { readonly root: Fields; readonly patterns: readonly string[] }

/** Keys come out sorted. A value is hidden by the look of its key, by its schema, or because its path is declared. */
export function redactParameters(parameters: Fields, declared: Sensitivity = {}): Fields {
  const root = declared.parameters ?? {}
  const walk = { root, patterns: listSensitivePaths(declared) }
  return redactParameterFields(walk, parameters, [], listSchemasOfSameValue(root, root))
}

/** Whether the parameter as a whole is a secret. */
export function isSensitiveParameter(name: string, declared: Sensitivity): boolean {
  const root = declared.parameters ?? {}
  const walk = { root, patterns: listSensitivePaths(declared) }
  return isSensitivePath(
    walk,
    [name],
    expandSchemaCombinators(walk, propertySchemas(listSchemasOfSameValue(root, root), name)),
  )
}

function redactParameterFields(walk: Walk, value: Fields, path: readonly string[], schemas: readonly Fields[]): Fields {
  const keys = Object.keys(value).toSorted()
  const entries = keys.map((key) => {
    const own = expandSchemaCombinators(walk, propertySchemas(schemas, key))
    return [key, redactValue(walk, value[key], [...path, key], own)] as const
  })
  return Object.fromEntries(entries)
}

function redactValue(walk: Walk, value: unknown, path: readonly string[], schemas: readonly Fields[]): unknown {
  // Too deep to judge is too deep to show.
  if (isSensitivePath(walk, path, schemas) || path.length > maxJsonDepth) return redacted
  if (isPlainObject(value)) return redactParameterFields(walk, value, path, schemas)
  if (!Array.isArray(value)) return value
  return value.map((item, index) =>
    redactValue(walk, item, [...path, '*'], expandSchemaCombinators(walk, itemSchemas(schemas, index))),
  )
}

function expandSchemaCombinators({ root }: Walk, schemas: readonly unknown[]): readonly Fields[] {
  return schemas.flatMap((schema) => listSchemasOfSameValue(root, schema))
}

function isSensitivePath({ patterns }: Walk, path: readonly string[], schemas: readonly Fields[]): boolean {
  const key = path.at(-1) ?? ''
  return (
    isSensitiveKey(key) || schemas.some(isSecretSchema) || patterns.some((pattern) => matchesPathPattern(pattern, path))
  )
}

function isSecretSchema(schema: Fields): boolean {
  const flags = [schema['sensitive'], schema['x-sensitive'], schema['secret'], schema['writeOnly']]
  return flags.includes(true) || schema['format'] === 'password'
}

function matchesPathPattern(pattern: string, path: readonly string[]): boolean {
  if (pattern === path.join('.')) return true
  const segments = pattern.split('.')
  return segments.length === path.length && segments.every((segment, at) => segment === '*' || segment === path[at])
}

function listSensitivePaths(declared: Sensitivity): readonly string[] {
  const graded = Object.entries(asFields(declared.parameter_sensitivity))
  const bindings = Object.entries(declared.parameter_bindings ?? {})
  return [
    ...textList(declared.sensitive_parameters),
    ...graded.filter(([, grade]) => !harmlessGrades.has(grade)).map(([path]) => path),
    ...bindings.filter(([, binding]) => asFields(binding)['sensitive'] === true).map(([path]) => path),
  ]
}

const harmlessGrades: ReadonlySet<unknown> = new Set([false, null, '', 'none', 'public'])

// Names are compared by whole words, so that `max_tokens`, `next_page_token` and `secretary` stay readable.

export const redacted = '[redacted]'

/** Unmistakable also inside a word: `userpassword`. */
const anywhere = /password|passwd|passphrase|api_?key|private_?key|credential|authorization|auth_?token/

const wholeWords =
  /(^|_)(bearer|cookies?|nonces?|secrets?|session_?ids?|(access|signing|encryption|secret)_?keys?|(client|api|app)_?secrets?|(access|refresh|bearer|session|bot|csrf|xsrf|api|oauth|jwt|id)_?tokens?|tokens?_(value|hash))(_|$)/

const endsInToken = /(^|_)token$/
/** Tokens that lead to the next page or mark a place in a text. */
const harmlessToken =
  /(^|_)(page|paging|pagination|next|prev|previous|continuation|continue|cursor|sync|resume|start|end|stop|eos|bos|pad|unk|mask|max|min)_token$/

export function isSensitiveKey(key: string): boolean {
  const words = keyToSnakeCase(key)
  if (anywhere.test(words) || wholeWords.test(words)) return true
  return endsInToken.test(words) && !harmlessToken.test(words)
}

/** `apiKey`, `API-Key` and `api key` are all `api_key`. */
function keyToSnakeCase(key: string): string {
  return key
    .replace(/(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/g, '_')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '_')
}

// Validates a model's arguments against the JSON Schema of a tool. Faults name places and types, never values: they are stored and
// shown. Patterns are not run, because a schema may come from a stranger and a regular expression can take for ever; unknown
// keywords say nothing. Depth, faults and work are bounded.

import { arrayOrEmpty, isPlainObject, ownField, stableStringify } from '../../lib/index.ts'
import type { Fields } from '../../lib/json-value.ts'

export type ArgumentFault = { readonly path: string; readonly message: string }

const maxFaults = 8
const maxDepth = 64
const maxWork = 100_000

type Check = { readonly root: Fields; readonly spent: { work: number } }
type At = { readonly path: string; readonly depth: number }

export function validateArguments(schema: Fields, value: unknown): readonly ArgumentFault[] {
  const check = { root: schema, spent: { work: 0 } }
  return schemaFaults(check, schema, value, { path: '', depth: 0 }).slice(0, maxFaults)
}

function schemaFaults(check: Check, schema: unknown, value: unknown, at: At): readonly ArgumentFault[] {
  if (schema === false) return [argumentFault(at, 'is not allowed here')]
  if (!isPlainObject(schema)) return []
  check.spent.work += 1
  if (at.depth > maxDepth || check.spent.work > maxWork) return [argumentFault(at, 'is too large or too deep to check')]
  const typeFault = typeMismatch(schema, value)
  // Without the right type every further fault is noise.
  if (typeFault !== undefined) return [argumentFault(at, typeFault)]
  return [
    ...choiceFaults(schema, value, at),
    ...combinatorFaults(check, schema, value, at),
    ...(Array.isArray(value) ? arrayItemFaults(check, schema, value, at) : []),
    ...(isPlainObject(value) ? objectFaults(check, schema, value, at) : []),
  ]
}

function typeMismatch({ type, nullable }: Fields, value: unknown): string | undefined {
  const types = [type].flat().filter((name) => typeof name === 'string')
  if (types.length === 0 || (nullable === true && value === null)) return undefined
  const actual = jsonTypeName(value)
  const fits = types.some((name) => name === actual || (name === 'number' && actual === 'integer'))
  return fits ? undefined : `must be ${types.join(' or ')}, not ${actual}`
}

function jsonTypeName(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number'
  return typeof value
}

function choiceFaults(schema: Fields, value: unknown, at: At): readonly ArgumentFault[] {
  const { enum: values } = schema
  const choices = Array.isArray(values) ? values : 'const' in schema ? [schema['const']] : undefined
  if (choices !== undefined && !isOneOfChoices(choices, value)) {
    const shown = choices.slice(0, 20).map((choice) => JSON.stringify(choice))
    return [argumentFault(at, `must be one of ${shown.join(', ')}`)]
  }
  const limit = limitFault(schema, value)
  return limit === undefined ? [] : [argumentFault(at, limit)]
}

function isOneOfChoices(choices: readonly unknown[], value: unknown): boolean {
  const text = stableStringify(value)
  return choices.some((choice) => stableStringify(choice) === text)
}

function combinatorFaults(check: Check, schema: Fields, value: unknown, at: At): readonly ArgumentFault[] {
  const deeper = { ...at, depth: at.depth + 1 }
  const subschemaFaults = (part: unknown) => schemaFaults(check, part, value, deeper)
  const found = [...arrayOrEmpty(schema['allOf'])].flatMap(subschemaFaults)
  if ('$ref' in schema) found.push(...subschemaFaults(resolveReference(check.root, schema['$ref'])))
  const any = arrayOrEmpty(schema['anyOf']).map(subschemaFaults)
  if (any.length > 0 && any.every((faults) => faults.length > 0)) found.push(faultOfClosestAlternative(any, at))
  const one = arrayOrEmpty(schema['oneOf']).map(subschemaFaults)
  const fitting = one.filter((faults) => faults.length === 0).length
  if (one.length > 0 && fitting === 0) found.push(faultOfClosestAlternative(one, at))
  if (fitting > 1) found.push(argumentFault(at, 'fits more than one of the alternatives'))
  if ('not' in schema && subschemaFaults(schema['not']).length === 0)
    found.push(argumentFault(at, 'has a form that is ruled out'))
  return found
}

/** The alternative with the fewest faults is the one the model most likely meant. */
function faultOfClosestAlternative(alternatives: readonly (readonly ArgumentFault[])[], at: At): ArgumentFault {
  const best = alternatives.toSorted((a, b) => a.length - b.length)[0]?.[0]
  return best === undefined ? argumentFault(at, 'fits none of the alternatives') : best
}

function arrayItemFaults(check: Check, schema: Fields, list: readonly unknown[], at: At): readonly ArgumentFault[] {
  const { prefixItems, items } = schema
  const fixed = Array.isArray(prefixItems) ? prefixItems : Array.isArray(items) ? items : []
  const rest = Array.isArray(items) ? schema['additionalItems'] : items
  const found: ArgumentFault[] = []
  for (const [index, item] of list.entries()) {
    if (found.length >= maxFaults) break
    const schemaOf = index < fixed.length ? fixed[index] : rest
    found.push(...schemaFaults(check, schemaOf, item, { path: `${at.path}[${index}]`, depth: at.depth + 1 }))
  }
  return found
}

function objectFaults(check: Check, schema: Fields, value: Fields, at: At): readonly ArgumentFault[] {
  const properties = isPlainObject(schema['properties']) ? schema['properties'] : {}
  const { additionalProperties } = schema
  const found = arrayOrEmpty(schema['required'])
    .filter((name): name is string => typeof name === 'string' && !Object.hasOwn(value, name))
    .map((name) => argumentFault(memberPath(at, name), 'is required'))
  for (const [name, item] of Object.entries(value)) {
    if (found.length >= maxFaults) break
    const own = ownField(properties, name)
    const isPatterned = own === undefined && isPlainObject(schema['patternProperties'])
    if (own === undefined && additionalProperties === false && !isPatterned) {
      found.push(argumentFault(memberPath(at, name), 'is not a parameter'))
    } else found.push(...schemaFaults(check, own ?? additionalProperties, item, memberPath(at, name)))
  }
  return found
}

/** Names of properties may be the model's invention, of any length. */
function memberPath(at: At, given: string): At {
  const name = given.slice(0, 64)
  return { path: at.path === '' ? name : `${at.path}.${name}`, depth: at.depth + 1 }
}

function argumentFault({ path }: At, message: string): ArgumentFault {
  return { path, message }
}

// The sizes a schema may ask for: numbers, texts, lists and objects.

function limitFault(schema: Fields, value: unknown): string | undefined {
  if (typeof value === 'number') return numberFault(schema, value)
  if (typeof value === 'string') return countFault(schema, 'Length', [...value].length, 'characters')
  if (Array.isArray(value)) return countFault(schema, 'Items', value.length, 'items') ?? uniqueItemsFault(schema, value)
  if (isPlainObject(value)) return countFault(schema, 'Properties', Object.keys(value).length, 'properties')
  return undefined
}

function numberFault(schema: Fields, value: number): string | undefined {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema
  if (typeof minimum === 'number' && value < minimum) return `must be at least ${minimum}`
  if (typeof maximum === 'number' && value > maximum) return `must be at most ${maximum}`
  if (typeof exclusiveMinimum === 'number' && value <= exclusiveMinimum) return `must be more than ${exclusiveMinimum}`
  if (typeof exclusiveMaximum === 'number' && value >= exclusiveMaximum) return `must be less than ${exclusiveMaximum}`
  if (typeof multipleOf !== 'number' || multipleOf <= 0) return undefined
  const times = value / multipleOf
  // Decimal fractions are not exact in binary: 0.3 is a multiple of 0.1 all the same.
  return Math.abs(times - Math.round(times)) > 1e-9 ? `must be a multiple of ${multipleOf}` : undefined
}

function countFault(schema: Fields, what: string, count: number, unit: string): string | undefined {
  const least = schema[`min${what}`]
  const most = schema[`max${what}`]
  if (typeof least === 'number' && count < least) return `must have at least ${least} ${unit}`
  return typeof most === 'number' && count > most ? `must have at most ${most} ${unit}` : undefined
}

function uniqueItemsFault(schema: Fields, list: readonly unknown[]): string | undefined {
  if (schema['uniqueItems'] !== true) return undefined
  return new Set(list.map(stableStringify)).size < list.length ? 'must not repeat an item' : undefined
}

// Alternatives and local references are opened without ever running in circles.

const combinators = ['allOf', 'anyOf', 'oneOf', 'if', 'then', 'else'] as const
const maxReferences = 16

/** The target of a reference into the same document; undefined when it leads elsewhere or nowhere. */
export function resolveReference(root: Fields, reference: unknown): unknown {
  if (typeof reference !== 'string' || !reference.startsWith('#')) return undefined
  let found: unknown = root
  for (const segment of reference.slice(1).split('/').slice(1)) {
    const key = segment.replaceAll('~1', '/').replaceAll('~0', '~')
    if (Array.isArray(found)) found = found[Number(key)]
    else found = isPlainObject(found) ? ownField(found, key) : undefined
  }
  return found
}

/** A schema and every schema that speaks about the same value through a combinator or a reference. */
export function listSchemasOfSameValue(root: Fields, schema: unknown): readonly Fields[] {
  const found = new Set<Fields>()
  const collectSchema = (given: unknown, hops: number) => {
    if (!isPlainObject(given) || found.has(given) || hops > maxReferences) return
    found.add(given)
    if ('$ref' in given) collectSchema(resolveReference(root, given['$ref']), hops + 1)
    for (const name of combinators) for (const part of [given[name]].flat()) collectSchema(part, hops + 1)
  }
  collectSchema(schema, 0)
  return [...found]
}

/** The schemas of a property, in every alternative that mentions it. */
export function propertySchemas(schemas: readonly Fields[], key: string): readonly unknown[] {
  return schemas.flatMap((schema) => {
    const { properties, additionalProperties } = schema
    const named = isPlainObject(properties) ? ownField(properties, key) : undefined
    return named ?? additionalProperties ?? []
  })
}

/** The schemas of a list's item. */
export function itemSchemas(schemas: readonly Fields[], index: number): readonly unknown[] {
  return schemas.flatMap(({ items, prefixItems }) => {
    const fixed: unknown = Array.isArray(prefixItems) ? prefixItems[index] : undefined
    const tuple: unknown = Array.isArray(items) ? items[index] : items
    return fixed ?? tuple ?? []
  })
}

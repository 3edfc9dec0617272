// JSON: bytes parsed into an object within limits, so that no payload costs more than its length; untrusted values read, where
// anything but plain JSON counts as absent, and payloads by the rules of their fields; canonical JSON.
import { GatewayError } from './errors.ts'
import type { Fields, Json } from './json-value.ts'

export type JsonRefusal = 'invalid_utf8' | 'invalid_json' | 'too_deep' | 'not_an_object'
export type BoundedJson =
  | { readonly ok: true; readonly value: Fields }
  | { readonly ok: false; readonly reason: JsonRefusal }

/** No known client sends deeper JSON; the bound lets everything behind it recurse safely. */
export const maxJsonDepth = 64

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false })
const quote = 0x22
const backslash = 0x5c
const openBracket = 0x5b
const closeBracket = 0x5d
const openBrace = 0x7b
const closeBrace = 0x7d

export function parseBoundedJson(bytes: Uint8Array): BoundedJson {
  let text: string
  try {
    text = utf8.decode(bytes)
  } catch {
    return { ok: false, reason: 'invalid_utf8' }
  }
  if (isTooDeep(text)) return { ok: false, reason: 'too_deep' }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return { ok: false, reason: 'invalid_json' }
  }
  return isPlainObject(value) ? { ok: true, value } : { ok: false, reason: 'not_an_object' }
}

/** One pass before parsing: whatever walks the value afterwards may then recurse safely. */
function isTooDeep(text: string): boolean {
  let depth = 0
  let isInString = false
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index)
    if (isInString) {
      if (unit === backslash) index += 1
      else if (unit === quote) isInString = false
    } else if (unit === quote) isInString = true
    else if (unit === openBracket || unit === openBrace) {
      depth += 1
      if (depth > maxJsonDepth) return true
    } else if (unit === closeBracket || unit === closeBrace) depth -= 1
  }
  return false
}

/** A plain object, from any realm. Lists, dates and instances of classes are none. */
export function isPlainObject(value: unknown): value is Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

/** What the text says as JSON; undefined where it is none. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** How long a value is as JSON in UTF-8. */
export function jsonByteLength(value: unknown): number {
  return new TextEncoder().encode(JSON.stringify(value)).byteLength
}

/** Any object but a list: hosts hand in instances of their own classes too. */
export function isObjectRecord(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function asFields(value: unknown): Fields {
  return isPlainObject(value) ? value : {}
}

export function arrayOrEmpty(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

export function isEmptyArray(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0
}

/** Own keys only: a path such as `constructor` finds nothing. */
export function ownField(fields: Fields, key: string): unknown {
  return Object.hasOwn(fields, key) ? fields[key] : undefined
}

/** Text without surrounding blanks; undefined when nothing is left. */
export function trimmedText(value: unknown): string | undefined {
  const text = typeof value === 'string' ? value.trim() : ''
  return text === '' ? undefined : text
}

/** The non-blank texts of a list, or of a single text. */
export function textList(value: unknown): readonly string[] {
  const list = Array.isArray(value) ? value : [value]
  return list.map(trimmedText).filter((text) => text !== undefined)
}

/** The JSON in a value; functions, instances, NaN and whatever is too deep are left out. */
export function toJson(value: unknown, depth = maxJsonDepth): Json | undefined {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value
  // Minus zero is zero in JSON.
  if (typeof value === 'number') return Number.isFinite(value) ? value + 0 : undefined
  if (depth === 0) return undefined
  if (Array.isArray(value)) return value.map((item) => toJson(item, depth - 1) ?? null)
  if (!isPlainObject(value)) return undefined
  const entries = Object.entries(value).map(([key, item]) => [key, toJson(item, depth - 1)] as const)
  return Object.fromEntries(entries.filter((entry): entry is [string, Json] => entry[1] !== undefined))
}

/** Whether a value is JSON as it stands: nothing would be left out, nothing is too deep. */
export function isJsonValue(value: unknown, depth = maxJsonDepth): value is Json {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return true
  if (typeof value === 'number') return Number.isFinite(value)
  if (depth === 0) return false
  if (Array.isArray(value)) return value.every((item) => isJsonValue(item, depth - 1))
  return isPlainObject(value) && Object.values(value).every((item) => isJsonValue(item, depth - 1))
}

/** JSON as a database can keep it: without NUL and without halves of surrogate pairs. */
export function toStorableJson(value: unknown): Json {
  const text = JSON.stringify(value, (_key, item: unknown) =>
    typeof item === 'string' ? item.replaceAll('\u0000', '').toWellFormed() : item,
  )
  return text === undefined ? null : (JSON.parse(text) as Json)
}

// Canonical JSON (RFC 8785): one text per value, without blanks, names in the order of their UTF-16 units, lists in their own order.

/** For signatures, which still verify after the value was parsed and written again. Throws where something is no JSON. */
export function canonicalJson(value: unknown): string {
  return writeCanonical(value, writeCanonicalPrimitive)
}

/** Of any value, as JSON makes it: equal values have equal texts. */
export function stableStringify(value: unknown): string {
  // The round trip settles what JSON makes of dates and undefined before anything is sorted.
  const text = JSON.stringify(value)
  return text === undefined ? 'null' : writeCanonical(JSON.parse(text), JSON.stringify)
}

/** The value itself as JSON makes it, its keys in one order: the same for two values whose keys were written differently. */
export function sortedJson(value: unknown): Json {
  return JSON.parse(stableStringify(value))
}

function writeCanonical(value: unknown, writeLeaf: (leaf: unknown) => string): string {
  if (Array.isArray(value)) return `[${value.map((item) => writeCanonical(item, writeLeaf)).join(',')}]`
  if (typeof value !== 'object' || value === null) return writeLeaf(value)
  const entries = Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1))
  return `{${entries.map(([name, item]) => `${writeLeaf(name)}:${writeCanonical(item, writeLeaf)}`).join(',')}}`
}

function writeCanonicalPrimitive(value: unknown): string {
  if (typeof value === 'string') {
    // Half a character has no form in UTF-8: whatever is signed would differ from what is sent.
    if (value.isWellFormed()) return JSON.stringify(value)
    throw new GatewayError('bad_request', 'half a character cannot be put into canonical form; send whole ones')
  }
  if (typeof value === 'number' && Number.isFinite(value)) return JSON.stringify(value)
  if (typeof value === 'boolean' || value === null) return String(value)
  throw new GatewayError('bad_request', 'only JSON can be put into its canonical form; leave out what is none')
}

// Field rules for payloads that come before an acknowledgement, as plain data that one function reads by: a platform's event passes
// dozens of them, and a schema library takes longer for that than the signature and the JSON together. Settings and the rest keep
// their schemas.

/** What reading answers for a value that does not fit its rule. */
export const misfit: unique symbol = Symbol('misfit')
export type Misfit = typeof misfit

/** How a value is read that becomes a T. */
export type WireRule<T> = Rule & { readonly reads?: () => T }
/** What comes out of a rule for a value that fits. */
export type Reading<R> = R extends { readonly reads?: () => infer T } ? T : never

type Rule =
  | { readonly kind: 'anything' | 'boolean' }
  | { readonly kind: 'string'; readonly min: number; readonly max: number; readonly pattern: RegExp | undefined }
  | { readonly kind: 'enum'; readonly words: ReadonlySet<unknown> }
  | { readonly kind: 'integer'; readonly min: number; readonly max: number }
  | { readonly kind: 'array'; readonly item: Rule; readonly max: number }
  | { readonly kind: 'object'; readonly fields: readonly (readonly [string, Rule])[]; readonly isLoose: boolean }
  | { readonly kind: 'mapped'; readonly rule: Rule; readonly change: (item: never) => unknown }
  | Optional

type Optional = {
  readonly kind: 'optional'
  readonly rule: Rule
  readonly fallback: unknown
  /** Null, too, is as if it were not there. */
  readonly isNullable: boolean
  /** And so is what does not fit. */
  readonly isLenient: boolean
}

type WireRules = Readonly<Record<string, WireRule<unknown>>>
type MayLack<S extends WireRules, K extends keyof S> = undefined extends Reading<S[K]> ? K : never
type Read<S extends WireRules> = {
  [K in keyof S as K extends MayLack<S, K> ? never : K]: Reading<S[K]>
} & { [K in keyof S as MayLack<S, K>]?: Reading<S[K]> | undefined }

/** The value as its rule reads it, or `misfit`. */
export function readByWireRule<T>(rule: WireRule<T>, value: unknown): T | Misfit
export function readByWireRule(rule: Rule, value: unknown): unknown {
  switch (rule.kind) {
    case 'anything':
      return value
    case 'boolean':
      return typeof value === 'boolean' ? value : misfit
    case 'string': {
      const { min, max, pattern } = rule
      if (typeof value !== 'string' || value.length < min || value.length > max) return misfit
      return pattern === undefined || pattern.test(value) ? value : misfit
    }
    case 'enum':
      return rule.words.has(value) ? value : misfit
    case 'integer':
      return Number.isSafeInteger(value) && Number(value) >= rule.min && Number(value) <= rule.max ? value : misfit
    case 'optional': {
      if (value === undefined || (rule.isNullable && value === null)) return rule.fallback
      const item = readByWireRule(rule.rule, value)
      return item === misfit && rule.isLenient ? undefined : item
    }
    case 'mapped': {
      const item = readByWireRule(rule.rule, value)
      // What came out of the rule is what the change takes.
      return item === misfit ? misfit : rule.change(item as never)
    }
    case 'array': {
      if (!Array.isArray(value) || value.length > rule.max) return misfit
      const items: unknown[] = []
      for (const each of value) {
        const item = readByWireRule(rule.item, each)
        if (item === misfit) return misfit
        items.push(item)
      }
      return items
    }
    case 'object': {
      if (!isPlainObject(value)) return misfit
      const fields: Record<string, unknown> = rule.isLoose ? { ...value } : {}
      for (const [name, field] of rule.fields) {
        const given = value[name]
        // Most of what may be left out is.
        if (given === undefined && field.kind === 'optional' && field.fallback === undefined) continue
        const item = readByWireRule(field, given)
        if (item === misfit) return misfit
        if (item !== undefined || given !== undefined) fields[name] = item
      }
      return fields
    }
  }
}

export const wireUnknown: WireRule<unknown> = { kind: 'anything' }
export const wireString: WireRule<string> = stringRule(0, Number.POSITIVE_INFINITY)
export const wireBoolean: WireRule<boolean> = { kind: 'boolean' }

export function wireStringOfLength(minLength: number, maxLength: number): WireRule<string> {
  return stringRule(minLength, maxLength)
}

export function wireStringMatching(pattern: RegExp): WireRule<string> {
  return stringRule(0, Number.POSITIVE_INFINITY, pattern)
}

function stringRule(min: number, max: number, pattern?: RegExp): WireRule<string> {
  return { kind: 'string', min, max, pattern }
}

export function wireEnum<T extends string>(...words: readonly T[]): WireRule<T> {
  return { kind: 'enum', words: new Set(words) }
}

export function wireInteger(min = Number.MIN_SAFE_INTEGER, max = Number.MAX_SAFE_INTEGER): WireRule<number> {
  return { kind: 'integer', min, max }
}

export function wireArray<T>(item: WireRule<T>, max = Number.POSITIVE_INFINITY): WireRule<readonly T[]> {
  return { kind: 'array', item, max }
}

/** May be left out. */
export function wireOptional<T>(rule: WireRule<T>): WireRule<T | undefined> {
  return { kind: 'optional', rule, fallback: undefined, isNullable: false, isLenient: false }
}

/** May be left out, or be null. */
export function wireNullish<T>(rule: WireRule<T>): WireRule<T | undefined> {
  return { kind: 'optional', rule, fallback: undefined, isNullable: true, isLenient: false }
}

/** What is only shown or compared may be anything; then it is as if it were not there. */
export function wireLenient<T>(rule: WireRule<T>): WireRule<T | undefined> {
  return { kind: 'optional', rule, fallback: undefined, isNullable: true, isLenient: true }
}

export function wireDefault<T>(rule: WireRule<T>, fallback: T): WireRule<T> {
  return { kind: 'optional', rule, fallback, isNullable: false, isLenient: false }
}

export function wireMapped<T, U>(rule: WireRule<T>, change: (item: T) => U): WireRule<U> {
  return { kind: 'mapped', rule, change }
}

/** The fields of these names, and no others. */
export function wireObject<S extends WireRules>(rules: S): WireRule<Read<S>> {
  return { kind: 'object', fields: Object.entries(rules), isLoose: false }
}

/** The same beside all other fields, which stay as they came. */
export function wireLooseObject<S extends WireRules>(rules: S): WireRule<Read<S> & { [name: string]: unknown }> {
  return { kind: 'object', fields: Object.entries(rules), isLoose: true }
}

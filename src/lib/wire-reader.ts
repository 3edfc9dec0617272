// Field readers for payloads that come before an acknowledgement, as plain functions: a platform's event passes dozens of them,
// and a schema library takes longer for that than the signature and the JSON together. Settings and the rest keep their schemas.
import { isPlainObject } from './json.ts'
import type { Fields } from './json-value.ts'

/** What a rule answers for a value that does not fit it. */
export const misfit: unique symbol = Symbol('misfit')
export type Misfit = typeof misfit
export type WireRule<T> = (value: unknown) => T | Misfit
/** What comes out of a rule for a value that fits. */
export type Reading<R> = R extends (value: unknown) => infer T ? Exclude<T, Misfit> : never

type WireRules = Readonly<Record<string, WireRule<unknown>>>
type MayLack<S extends WireRules, K extends keyof S> = undefined extends Reading<S[K]> ? K : never
type Read<S extends WireRules> = {
  [K in keyof S as K extends MayLack<S, K> ? never : K]: Reading<S[K]>
} & { [K in keyof S as MayLack<S, K>]?: Reading<S[K]> | undefined }

export const wireUnknown: WireRule<unknown> = (value) => value
export const wireString: WireRule<string> = (value) => (typeof value === 'string' ? value : misfit)
export const wireBoolean: WireRule<boolean> = (value) => (typeof value === 'boolean' ? value : misfit)

export function wireStringOfLength(minLength: number, maxLength: number): WireRule<string> {
  return (value) =>
    typeof value === 'string' && value.length >= minLength && value.length <= maxLength ? value : misfit
}

export function wireStringMatching(pattern: RegExp): WireRule<string> {
  return (value) => (typeof value === 'string' && pattern.test(value) ? value : misfit)
}

export function wireEnum<T extends string>(...words: readonly T[]): WireRule<T> {
  const known: ReadonlySet<unknown> = new Set(words)
  // Only the words themselves are in the set.
  return (value) => (known.has(value) ? (value as T) : misfit)
}

export function wireInteger(min = Number.MIN_SAFE_INTEGER, max = Number.MAX_SAFE_INTEGER): WireRule<number> {
  return (value) =>
    typeof value === 'number' && Number.isSafeInteger(value) && value >= min && value <= max ? value : misfit
}

export function wireArray<T>(rule: WireRule<T>, maxLength = Number.POSITIVE_INFINITY): WireRule<readonly T[]> {
  return (value) => {
    if (!Array.isArray(value) || value.length > maxLength) return misfit
    const items: T[] = []
    for (const each of value) {
      const item = rule(each)
      if (item === misfit) return misfit
      items.push(item)
    }
    return items
  }
}

/** May be left out. */
export function wireOptional<T>(rule: WireRule<T>): WireRule<T | undefined> {
  return (value) => (value === undefined ? undefined : rule(value))
}

/** May be left out, or be null. */
export function wireNullish<T>(rule: WireRule<T>): WireRule<T | undefined> {
  return (value) => (value === undefined || value === null ? undefined : rule(value))
}

/** What is only shown or compared may be anything; then it is as if it were not there. */
export function wireLenient<T>(rule: WireRule<T>): WireRule<T | undefined> {
  return (value) => {
    if (value === undefined || value === null) return undefined
    const item = rule(value)
    return item === misfit ? undefined : item
  }
}

export function wireDefault<T>(rule: WireRule<T>, fallback: T): WireRule<T> {
  return (value) => (value === undefined ? fallback : rule(value))
}

export function wireMapped<T, U>(rule: WireRule<T>, change: (item: T) => U): WireRule<U> {
  return (value) => {
    const item = rule(value)
    return item === misfit ? misfit : change(item)
  }
}

/** The fields of these names, and no others. */
export function wireObject<S extends WireRules>(rules: S): WireRule<Read<S>> {
  const readInto = createFieldReader(rules)
  // What was read, field by field, is what the type says of it.
  return (value) => (isPlainObject(value) ? (readInto(value, {}) as Read<S> | Misfit) : misfit)
}

/** The same beside all other fields, which stay as they came. */
export function wireLooseObject<S extends WireRules>(rules: S): WireRule<Read<S> & { [name: string]: unknown }> {
  const readInto = createFieldReader(rules)
  return (value) =>
    isPlainObject(value) ? (readInto(value, { ...value }) as (Read<S> & { [name: string]: unknown }) | Misfit) : misfit
}

function createFieldReader(rules: WireRules) {
  const entries = Object.entries(rules)
  return (value: Fields, into: Record<string, unknown>): Record<string, unknown> | Misfit => {
    for (const [name, rule] of entries) {
      const given = value[name]
      const item = rule(given)
      if (item === misfit) return misfit
      if (item !== undefined || given !== undefined) into[name] = item
    }
    return into
  }
}

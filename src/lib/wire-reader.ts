// Field rules for payloads that come before an acknowledgement, as plain data that one function reads by: a platform's event passes
// dozens of them, and a schema library takes longer for that than the signature and the JSON together. Settings and the rest keep
// their schemas.
import { isPlainObject } from './json.ts'

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
export function readWire<T>(rule: WireRule<T>, value: unknown): T | Misfit
export function readWire(rule: Rule, value: unknown): unknown {
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
      const item = readWire(rule.rule, value)
      return item === misfit && rule.isLenient ? undefined : item
    }
    case 'mapped': {
      const item = readWire(rule.rule, value)
      // What came out of the rule is what the change takes.
      return item === misfit ? misfit : rule.change(item as never)
    }
    case 'array': {
      if (!Array.isArray(value) || value.length > rule.max) return misfit
      const items: unknown[] = []
      for (const each of value) {
        const item = readWire(rule.item, each)
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
        const item = readWire(field, given)
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

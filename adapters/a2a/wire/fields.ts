// Reads members of a request with the path of whatever is wrong. Both spellings of a name are taken, unknown members are
// ignored, and null stands for absent (ProtoJSON).
import { isPlainId, type Json, type JsonObject } from '../../../src/contract/index.ts'
import type { FieldViolation } from './faults.ts'

export type Fields = Readonly<Record<string, unknown>>

/** An object on its way to being read: where it stands, and what was found wrong so far. */
export type Scope = { readonly of: Fields; readonly at: string; readonly problems: FieldViolation[] }

export type Reading<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly violations: readonly FieldViolation[] }

const maxIdLength = 256
const wholeNumber = /^-?\d{1,10}$/

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function scopeOf(of: Fields, at = '', problems: FieldViolation[] = []): Scope {
  return { of, at, problems }
}

export function settled<T>({ problems }: Scope, value: T | undefined): Reading<T> {
  return value === undefined || problems.length > 0 ? { ok: false, violations: problems } : { ok: true, value }
}

function pathTo({ at }: Scope, name: string): string {
  return at === '' || name === '' ? at + name : `${at}.${name}`
}

export function wrong(scope: Scope, name: string, description: string): undefined {
  scope.problems.push({ field: pathTo(scope, name), description })
  return undefined
}

/** The member under its own name, else under the one it has in the proto. */
export function memberOf(of: Fields, name: string): unknown {
  return Object.hasOwn(of, name) ? of[name] : of[snakeCase(name)]
}

export function hasMember(of: Fields, name: string): boolean {
  return Object.hasOwn(of, name) || Object.hasOwn(of, snakeCase(name))
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

type TextRule = { readonly isRequired?: boolean; readonly maxLength?: number }

/** Without control characters; an empty one is an absent one. */
export function readText(scope: Scope, name: string, rule: TextRule = {}): string | undefined {
  const { isRequired = false, maxLength = maxIdLength } = rule
  const value = memberOf(scope.of, name)
  if (value === undefined || value === null || value === '')
    return isRequired ? wrong(scope, name, 'is required and must not be empty') : undefined
  const text = plainTextIn(value, maxLength)
  return 'problem' in text ? wrong(scope, name, text.problem) : text.is
}

function plainTextIn(value: unknown, maxLength: number): { readonly is: string } | { readonly problem: string } {
  if (typeof value !== 'string') return { problem: 'must be a string' }
  if (value.trim() === '') return { problem: 'must not be blank' }
  if (value.length > maxLength) return { problem: `must have at most ${maxLength} characters` }
  return isPlainId(value)
    ? { is: value }
    : { problem: 'must not contain control characters, changes of direction or half a character' }
}

type NumberRule = { readonly min: number; readonly max: number }

export function readNumber(scope: Scope, name: string, { min, max }: NumberRule): number | undefined {
  const value = memberOf(scope.of, name)
  if (value === undefined || value === null) return undefined
  const number = typeof value === 'string' && wholeNumber.test(value) ? Number(value) : value
  if (typeof number !== 'number' || !Number.isInteger(number)) return wrong(scope, name, 'must be a whole number')
  return number < min || number > max ? wrong(scope, name, `must be from ${min} to ${max}`) : number
}

export function readFlag(scope: Scope, name: string): boolean | undefined {
  const value = memberOf(scope.of, name)
  if (value === undefined || value === null) return undefined
  if (value === true || value === 'true') return true
  return value === false || value === 'false' ? false : wrong(scope, name, 'must be true or false')
}

export function readObject(scope: Scope, name: string, isRequired = false): Scope | undefined {
  const value = memberOf(scope.of, name)
  if (value === undefined || value === null) return isRequired ? wrong(scope, name, 'is required') : undefined
  if (!isFields(value)) return wrong(scope, name, 'must be an object')
  return scopeOf(value, pathTo(scope, name), scope.problems)
}

/** An object that is carried without being read. It came as JSON, so JSON is all it holds. */
export function readStruct(scope: Scope, name: string): JsonObject | undefined {
  return readObject(scope, name)?.of as JsonObject | undefined
}

type ListRule = { readonly isRequired?: boolean; readonly max: number }

export function readList<T>(
  scope: Scope,
  name: string,
  read: (item: Scope, index: number) => T | undefined,
  { isRequired = false, max }: ListRule,
): readonly T[] | undefined {
  const value = memberOf(scope.of, name)
  if (value === undefined || value === null) return isRequired ? wrong(scope, name, 'is required') : undefined
  if (!Array.isArray(value)) return wrong(scope, name, 'must be a list')
  if (isRequired && value.length === 0) return wrong(scope, name, 'must have at least one element')
  if (value.length > max) return wrong(scope, name, `must have at most ${max} elements`)
  return value.flatMap((item: unknown, index) => {
    const place = `${name}[${index}]`
    if (!isFields(item)) {
      wrong(scope, place, 'must be an object')
      return []
    }
    const got = read(scopeOf(item, pathTo(scope, place), scope.problems), index)
    return got === undefined ? [] : [got]
  })
}

export function readTexts(scope: Scope, name: string, max = 64): readonly string[] | undefined {
  const value = memberOf(scope.of, name)
  if (value === undefined || value === null) return undefined
  if (!Array.isArray(value) || value.length > max) return wrong(scope, name, `must be a list of at most ${max} strings`)
  return value.flatMap((item: unknown, index) => {
    const text = plainTextIn(item, maxIdLength)
    if ('is' in text) return [text.is]
    wrong(scope, `${name}[${index}]`, text.problem)
    return []
  })
}

/** Any JSON at all; for values that only their sender reads. */
export function jsonOf(value: unknown): Json {
  // It was parsed from JSON: the compiler cannot know.
  return value as Json
}

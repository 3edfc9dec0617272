// Reads members of a request with the path of whatever is wrong. Both spellings of a name are taken, unknown members are
// ignored, and null stands for absent (ProtoJSON).
import { isPlainId, type Json, type JsonObject } from '../../../src/contract/index.ts'
import { isPlainObject } from '../../../src/lib/index.ts'
import type { FieldViolation } from './faults.ts'

export type Fields = Readonly<Record<string, unknown>>

/** An object on its way to being read: where it stands, and what was found wrong so far. */
export type FieldScope = { readonly of: Fields; readonly at: string; readonly problems: FieldViolation[] }

export type ReadResult<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly violations: readonly FieldViolation[] }

const maxIdLength = 256
const wholeNumber = /^-?\d{1,10}$/

export function createFieldScope(of: Fields, at = '', problems: FieldViolation[] = []): FieldScope {
  return { of, at, problems }
}

export function finishReading<T>({ problems }: FieldScope, value: T | undefined): ReadResult<T> {
  return value === undefined || problems.length > 0 ? { ok: false, violations: problems } : { ok: true, value }
}

function pathTo({ at }: FieldScope, name: string): string {
  return at === '' || name === '' ? at + name : `${at}.${name}`
}

export function reportViolation(scope: FieldScope, name: string, description: string): undefined {
  scope.problems.push({ field: pathTo(scope, name), description })
  return undefined
}

/** The member under its own name, else under the one it has in the proto. */
export function getMember(of: Fields, name: string): unknown {
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
export function readTextField(scope: FieldScope, name: string, rule: TextRule = {}): string | undefined {
  const { isRequired = false, maxLength = maxIdLength } = rule
  const value = getMember(scope.of, name)
  if (value === undefined || value === null || value === '')
    return isRequired ? reportViolation(scope, name, 'is required and must not be empty') : undefined
  const text = checkPlainText(value, maxLength)
  return 'problem' in text ? reportViolation(scope, name, text.problem) : text.is
}

function checkPlainText(value: unknown, maxLength: number): { readonly is: string } | { readonly problem: string } {
  if (typeof value !== 'string') return { problem: 'must be a string' }
  if (value.trim() === '') return { problem: 'must not be blank' }
  if (value.length > maxLength) return { problem: `must have at most ${maxLength} characters` }
  return isPlainId(value)
    ? { is: value }
    : { problem: 'must not contain control characters, changes of direction or half a character' }
}

type NumberRule = { readonly min: number; readonly max: number }

export function readNumberField(scope: FieldScope, name: string, { min, max }: NumberRule): number | undefined {
  const value = getMember(scope.of, name)
  if (value === undefined || value === null) return undefined
  const number = typeof value === 'string' && wholeNumber.test(value) ? Number(value) : value
  if (typeof number !== 'number' || !Number.isInteger(number))
    return reportViolation(scope, name, 'must be a whole number')
  return number < min || number > max ? reportViolation(scope, name, `must be from ${min} to ${max}`) : number
}

export function readFlagField(scope: FieldScope, name: string): boolean | undefined {
  const value = getMember(scope.of, name)
  if (value === undefined || value === null) return undefined
  if (value === true || value === 'true') return true
  return value === false || value === 'false' ? false : reportViolation(scope, name, 'must be true or false')
}

export function readObjectField(scope: FieldScope, name: string, isRequired = false): FieldScope | undefined {
  const value = getMember(scope.of, name)
  if (value === undefined || value === null) return isRequired ? reportViolation(scope, name, 'is required') : undefined
  if (!isPlainObject(value)) return reportViolation(scope, name, 'must be an object')
  return createFieldScope(value, pathTo(scope, name), scope.problems)
}

/** An object that is carried without being read. It came as JSON, so JSON is all it holds. */
export function readStructField(scope: FieldScope, name: string): JsonObject | undefined {
  return readObjectField(scope, name)?.of as JsonObject | undefined
}

type ListRule = { readonly isRequired?: boolean; readonly max: number }

export function readListField<T>(
  scope: FieldScope,
  name: string,
  read: (item: FieldScope, index: number) => T | undefined,
  { isRequired = false, max }: ListRule,
): readonly T[] | undefined {
  const value = getMember(scope.of, name)
  if (value === undefined || value === null) return isRequired ? reportViolation(scope, name, 'is required') : undefined
  if (!Array.isArray(value)) return reportViolation(scope, name, 'must be a list')
  if (isRequired && value.length === 0) return reportViolation(scope, name, 'must have at least one element')
  if (value.length > max) return reportViolation(scope, name, `must have at most ${max} elements`)
  return value.flatMap((item: unknown, index) => {
    const place = `${name}[${index}]`
    if (!isPlainObject(item)) {
      reportViolation(scope, place, 'must be an object')
      return []
    }
    const got = read(createFieldScope(item, pathTo(scope, place), scope.problems), index)
    return got === undefined ? [] : [got]
  })
}

export function readTextsField(scope: FieldScope, name: string, max = 64): readonly string[] | undefined {
  const value = getMember(scope.of, name)
  if (value === undefined || value === null) return undefined
  if (!Array.isArray(value) || value.length > max)
    return reportViolation(scope, name, `must be a list of at most ${max} strings`)
  return value.flatMap((item: unknown, index) => {
    const text = checkPlainText(item, maxIdLength)
    if ('is' in text) return [text.is]
    reportViolation(scope, `${name}[${index}]`, text.problem)
    return []
  })
}

/** Any JSON at all; for values that only their sender reads. */
export function asParsedJson(value: unknown): Json {
  // It was parsed from JSON: the compiler cannot know.
  return value as Json
}

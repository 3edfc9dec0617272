// The sizes a schema may ask for: numbers, texts, lists and objects.
import type { Fields } from '../../contract/index.ts'
import { isPlainObject } from '../fields.ts'
import { canonicalJson } from './canonical-json.ts'

export function limitFault(schema: Fields, value: unknown): string | undefined {
  if (typeof value === 'number') return numberFault(schema, value)
  if (typeof value === 'string') return countFault(schema, 'Length', [...value].length, 'characters')
  if (Array.isArray(value)) return countFault(schema, 'Items', value.length, 'items') ?? repeatFault(schema, value)
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

function repeatFault(schema: Fields, list: readonly unknown[]): string | undefined {
  if (schema['uniqueItems'] !== true) return undefined
  return new Set(list.map(canonicalJson)).size < list.length ? 'must not repeat an item' : undefined
}

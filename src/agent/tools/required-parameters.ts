// Which parameters a call must have and has not: absent, null or empty.
import type { Fields } from '../../contract/index.ts'
import { fieldOf, fieldsOf, isFields, textsOf } from '../fields.ts'

export function missingParameters(schema: Fields, parameters: Fields): readonly string[] {
  const { properties } = schema
  const required = new Set([...textsOf(schema['required'] ?? []), ...requiredByProperties(properties)])
  return [...required].filter((name) => isMissing(fieldOf(parameters, name), fieldsOf(properties)[name]))
}

/** The old way to say it: `required: true` beside the type. A list there speaks of the property's own properties. */
export function requiredByProperties(properties: unknown): readonly string[] {
  return Object.entries(fieldsOf(properties)).flatMap(([name, schema]) =>
    fieldsOf(schema)['required'] === true ? [name] : [],
  )
}

/** Null and the empty text are missing, unless the schema takes them on purpose. */
function isMissing(value: unknown, schema: unknown): boolean {
  if (value === undefined) return true
  if (value === '') return fieldsOf(schema)['minLength'] !== 0
  return value === null && !takesNull(schema)
}

function takesNull(schema: unknown): boolean {
  if (!isFields(schema)) return false
  const { type, nullable, enum: values } = schema
  const isNamed =
    [type].flat().includes('null') || nullable === true || (Array.isArray(values) && values.includes(null))
  return isNamed || [schema['anyOf'], schema['oneOf']].flat().some(takesNull)
}

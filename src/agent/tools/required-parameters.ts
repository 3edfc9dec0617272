// Which parameters a call must have and has not: absent, null or empty.
import type { Fields } from '../../contract/index.ts'
import { asFields, isPlainObject, ownField, textList } from '../fields.ts'

export function missingParameters(schema: Fields, parameters: Fields): readonly string[] {
  const { properties } = schema
  const required = new Set([...textList(schema['required'] ?? []), ...requiredByProperties(properties)])
  return [...required].filter((name) => isParameterMissing(ownField(parameters, name), asFields(properties)[name]))
}

/** The old way to say it: `required: true` beside the type. A list there speaks of the property's own properties. */
export function requiredByProperties(properties: unknown): readonly string[] {
  return Object.entries(asFields(properties)).flatMap(([name, schema]) =>
    asFields(schema)['required'] === true ? [name] : [],
  )
}

/** Null and the empty text are missing, unless the schema takes them on purpose. */
function isParameterMissing(value: unknown, schema: unknown): boolean {
  if (value === undefined) return true
  if (value === '') return asFields(schema)['minLength'] !== 0
  return value === null && !takesNull(schema)
}

function takesNull(schema: unknown): boolean {
  if (!isPlainObject(schema)) return false
  const { type, nullable, enum: values } = schema
  const isNamed =
    [type].flat().includes('null') || nullable === true || (Array.isArray(values) && values.includes(null))
  return isNamed || [schema['anyOf'], schema['oneOf']].flat().some(takesNull)
}

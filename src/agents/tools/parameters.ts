// Parameters of a tool call: from the model's arguments to what is executed, and the schema a model is shown. Later wins:
// defaults, what the context offers, the model's own word, and last what the model has no say in.

import { arrayOrEmpty, asFields, isPlainObject, ownField, textList, toJson } from '../../lib/index.ts'
import type { Fields, Json } from '../../lib/json-value.ts'
import { resolveReference } from './json-schema.ts'
import { isSensitiveParameter, redacted } from './redact.ts'
import type { ParameterBinding, ToolDeclaration } from './tool.ts'

export function fillBoundParameters(declaration: ToolDeclaration, given: Fields, context: Fields): Fields {
  const bindings = Object.entries(declaration.parameter_bindings ?? {})
  const defaults = omitRedactedDefaults(declaration)
  const offered = bindings.flatMap(([name, binding]) => {
    const value = binding.authoritative === true ? undefined : resolveBinding(declaration, name, binding, context)
    return value === undefined ? [] : [[name, value] as const]
  })
  const bound = new Map<string, unknown>([...Object.entries(defaults), ...offered, ...Object.entries(given)])
  for (const [name, binding] of bindings) {
    if (binding.authoritative !== true) continue
    // Null is a value here, and the last word.
    const choices = [
      lookUpBinding(binding, context),
      omitRedactedDefault(declaration, name, binding.default),
      defaults[name],
    ]
    const value = choices.find((choice) => choice !== undefined)
    if (value === undefined) bound.delete(name)
    else bound.set(name, value)
  }
  return Object.fromEntries(bound)
}

/** Names the model neither sees nor decides. */
export function listHiddenParameters({
  parameter_bindings,
}: Pick<ToolDeclaration, 'parameter_bindings'>): ReadonlySet<string> {
  const entries = Object.entries(parameter_bindings ?? {})
  return new Set(entries.flatMap(([name, binding]) => (binding.authoritative === true ? [name] : [])))
}

/** What the context has is offered unless it is empty; the binding's default only where the context has nothing. */
function resolveBinding(
  declaration: ToolDeclaration,
  name: string,
  binding: ParameterBinding,
  context: Fields,
): Json | undefined {
  const found = lookUpBinding(binding, context)
  if (found === undefined) return omitRedactedDefault(declaration, name, binding.default)
  return found === null || found === '' ? undefined : found
}

function lookUpBinding({ source, path }: ParameterBinding, context: Fields): Json | undefined {
  let found: unknown = source === 'context' ? context : ownField(context, source)
  for (const segment of path.split('.')) found = isPlainObject(found) ? ownField(found, segment) : undefined
  return toJson(found)
}

/** The declaration shows `[redacted]` in place of a secret default; that word must never be executed. */
function omitRedactedDefault(declaration: ToolDeclaration, name: string, value: Json | undefined): Json | undefined {
  return value === redacted && isSensitiveParameter(name, declaration) ? undefined : value
}

function omitRedactedDefaults(declaration: ToolDeclaration): Fields {
  const entries = Object.entries(asFields(declaration.parameter_defaults))
  return Object.fromEntries(
    entries.filter(([name, value]) => omitRedactedDefault(declaration, name, toJson(value)) !== undefined),
  )
}

// Required parameters are missing when they are absent, null or empty.

export function missingParameters(schema: Fields, parameters: Fields): readonly string[] {
  const { properties } = schema
  const required = new Set([...textList(schema['required'] ?? []), ...listPropertiesMarkedRequired(properties)])
  return [...required].filter((name) => isParameterMissing(ownField(parameters, name), asFields(properties)[name]))
}

/** The old way to say it: `required: true` beside the type. A list there speaks of the property's own properties. */
export function listPropertiesMarkedRequired(properties: unknown): readonly string[] {
  return Object.entries(asFields(properties)).flatMap(([name, schema]) =>
    asFields(schema)['required'] === true ? [name] : [],
  )
}

/** Null and the empty text are missing, unless the schema takes them on purpose. */
function isParameterMissing(value: unknown, schema: unknown): boolean {
  if (value === undefined) return true
  if (value === '') return asFields(schema)['minLength'] !== 0
  return value === null && !isNullAllowed(schema)
}

function isNullAllowed(schema: unknown): boolean {
  if (!isPlainObject(schema)) return false
  const { type, nullable, enum: values } = schema
  const isNamed =
    [type].flat().includes('null') || nullable === true || (Array.isArray(values) && values.includes(null))
  return isNamed || [schema['anyOf'], schema['oneOf']].flat().some(isNullAllowed)
}

// The schema that a model is shown lacks authoritative parameters, wherever it mentions them, and the defaults of secrets.

const combinators = ['allOf', 'anyOf', 'oneOf'] as const
const branches = ['if', 'then', 'else'] as const
const maxReferences = 16

type Cut = { readonly root: Fields; readonly hidden: ReadonlySet<string>; readonly declaration: ToolDeclaration }

export function modelParametersSchema(declaration: ToolDeclaration): Fields {
  const root = declaration.parameters
  const cut = { root, hidden: listHiddenParameters(declaration), declaration }
  return { type: 'object', properties: {}, ...removeHiddenParameters(cut, root, 0) }
}

/** What the model is given instead of the declaration itself. */
export function declarationForModel(declaration: ToolDeclaration): ToolDeclaration {
  return { ...declaration, parameters: modelParametersSchema(declaration) }
}

/** Only schemas of the parameter object itself: a property of the same name further inside is another thing. */
function removeHiddenParameters(cut: Cut, given: Fields, hops: number): Fields {
  if (hops > maxReferences) return {}
  const schema = { ...inlineReference(cut, given, hops) }
  const { properties } = schema
  const required = [...arrayOrEmpty(schema['required']), ...listPropertiesMarkedRequired(properties)]
  delete schema['required']
  const visible = [...new Set(required)].filter((name) => !cut.hidden.has(String(name)))
  if (visible.length > 0) schema['required'] = visible
  if (isPlainObject(properties)) schema['properties'] = visibleProperties(cut, properties)
  // Examples of the whole would give hidden parameters away.
  if (cut.hidden.size > 0) for (const key of ['default', 'examples']) delete schema[key]
  for (const name of combinators) {
    if (Array.isArray(schema[name])) schema[name] = schema[name].map((part) => removeHiddenInSubschema(cut, part, hops))
  }
  for (const name of branches)
    if (isPlainObject(schema[name])) schema[name] = removeHiddenInSubschema(cut, schema[name], hops)
  return schema
}

function removeHiddenInSubschema(cut: Cut, part: unknown, hops: number): unknown {
  return isPlainObject(part) ? removeHiddenParameters(cut, part, hops + 1) : part
}

/** A reference is replaced by what it means, because its target may serve other places as well. */
function inlineReference(cut: Cut, schema: Fields, hops: number): Fields {
  const target = '$ref' in schema ? resolveReference(cut.root, schema['$ref']) : undefined
  if (cut.hidden.size === 0 || !isPlainObject(target)) return schema
  const { $ref: _, ...own } = schema
  return { ...removeHiddenParameters(cut, target, hops + 1), ...own }
}

function visibleProperties(cut: Cut, properties: Fields): Fields {
  const entries = Object.entries(properties).filter(([name]) => !cut.hidden.has(name))
  return Object.fromEntries(entries.map(([name, schema]) => [name, schemaForModel(cut, name, schema)]))
}

function schemaForModel({ declaration }: Cut, name: string, schema: unknown): unknown {
  if (!isPlainObject(schema)) return schema
  const { required, ...rest } = schema
  // `required: true` on a property is the old way to say it; providers take the list only.
  const plain = typeof required === 'boolean' ? rest : schema
  if (!isSensitiveParameter(name, declaration)) return plain
  const { default: _default, examples: _examples, const: _const, ...harmless } = asFields(plain)
  return harmless
}

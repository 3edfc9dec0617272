// The schema a model is shown: authoritative parameters are gone, wherever the schema mentions them, and so are the defaults
// of secrets.
import type { Fields } from '../../contract/index.ts'
import { asFields, isPlainObject } from '../fields.ts'
import { authoritativeNames } from './bind-parameters.ts'
import { isSensitiveParameter } from './redact.ts'
import { requiredByProperties } from './required-parameters.ts'
import { resolveReference } from './schema-walk.ts'
import type { ToolDeclaration } from './tool.ts'

const combinators = ['allOf', 'anyOf', 'oneOf'] as const
const branches = ['if', 'then', 'else'] as const
const maxReferences = 16

type Cut = { readonly root: Fields; readonly hidden: ReadonlySet<string>; readonly declaration: ToolDeclaration }

export function modelSchema(declaration: ToolDeclaration): Fields {
  const root = declaration.parameters
  const cut = { root, hidden: authoritativeNames(declaration), declaration }
  return { type: 'object', properties: {}, ...removeHiddenParameters(cut, root, 0) }
}

/** What the model is given instead of the declaration itself. */
export function modelDeclaration(declaration: ToolDeclaration): ToolDeclaration {
  return { ...declaration, parameters: modelSchema(declaration) }
}

/** Only schemas of the parameter object itself: a property of the same name further inside is another thing. */
function removeHiddenParameters(cut: Cut, given: Fields, hops: number): Fields {
  if (hops > maxReferences) return {}
  const schema = { ...openReference(cut, given, hops) }
  const { properties } = schema
  const required = [...arrayOrEmpty(schema['required']), ...requiredByProperties(properties)]
  delete schema['required']
  const visible = [...new Set(required)].filter((name) => !cut.hidden.has(String(name)))
  if (visible.length > 0) schema['required'] = visible
  if (isPlainObject(properties)) schema['properties'] = visibleProperties(cut, properties)
  // Examples of the whole would give hidden parameters away.
  if (cut.hidden.size > 0) for (const key of ['default', 'examples']) delete schema[key]
  for (const name of combinators) {
    if (Array.isArray(schema[name])) schema[name] = schema[name].map((part) => cutPart(cut, part, hops))
  }
  for (const name of branches) if (isPlainObject(schema[name])) schema[name] = cutPart(cut, schema[name], hops)
  return schema
}

function cutPart(cut: Cut, part: unknown, hops: number): unknown {
  return isPlainObject(part) ? removeHiddenParameters(cut, part, hops + 1) : part
}

/** A reference is replaced by what it means, because its target may serve other places as well. */
function openReference(cut: Cut, schema: Fields, hops: number): Fields {
  const target = '$ref' in schema ? resolveReference(cut.root, schema['$ref']) : undefined
  if (cut.hidden.size === 0 || !isPlainObject(target)) return schema
  const { $ref: _, ...own } = schema
  return { ...removeHiddenParameters(cut, target, hops + 1), ...own }
}

function visibleProperties(cut: Cut, properties: Fields): Fields {
  const entries = Object.entries(properties).filter(([name]) => !cut.hidden.has(name))
  return Object.fromEntries(entries.map(([name, schema]) => [name, shownSchema(cut, name, schema)]))
}

function shownSchema({ declaration }: Cut, name: string, schema: unknown): unknown {
  if (!isPlainObject(schema)) return schema
  const { required, ...rest } = schema
  // `required: true` on a property is the old way to say it; providers take the list only.
  const plain = typeof required === 'boolean' ? rest : schema
  if (!isSensitiveParameter(name, declaration)) return plain
  const { default: _default, examples: _examples, const: _const, ...harmless } = asFields(plain)
  return harmless
}

function arrayOrEmpty(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

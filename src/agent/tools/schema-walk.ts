// Finding one's way in a JSON Schema: alternatives and local references opened, without ever running in circles.
import type { Fields } from '../../contract/index.ts'
import { isPlainObject, ownField } from '../fields.ts'

const combinators = ['allOf', 'anyOf', 'oneOf', 'if', 'then', 'else'] as const
const maxReferences = 16

/** The target of a reference into the same document; undefined when it leads elsewhere or nowhere. */
export function resolveReference(root: Fields, reference: unknown): unknown {
  if (typeof reference !== 'string' || !reference.startsWith('#')) return undefined
  let found: unknown = root
  for (const segment of reference.slice(1).split('/').slice(1)) {
    const key = segment.replaceAll('~1', '/').replaceAll('~0', '~')
    if (Array.isArray(found)) found = found[Number(key)]
    else found = isPlainObject(found) ? ownField(found, key) : undefined
  }
  return found
}

/** A schema and every schema that speaks about the same value through a combinator or a reference. */
export function schemasOfSameValue(root: Fields, schema: unknown): readonly Fields[] {
  const found = new Set<Fields>()
  const visit = (given: unknown, hops: number) => {
    if (!isPlainObject(given) || found.has(given) || hops > maxReferences) return
    found.add(given)
    if ('$ref' in given) visit(resolveReference(root, given['$ref']), hops + 1)
    for (const name of combinators) for (const part of [given[name]].flat()) visit(part, hops + 1)
  }
  visit(schema, 0)
  return [...found]
}

/** The schemas of a property, in every alternative that mentions it. */
export function propertySchemas(schemas: readonly Fields[], key: string): readonly unknown[] {
  return schemas.flatMap((schema) => {
    const { properties, additionalProperties } = schema
    const named = isPlainObject(properties) ? ownField(properties, key) : undefined
    return named ?? additionalProperties ?? []
  })
}

/** The schemas of a list's item. */
export function itemSchemas(schemas: readonly Fields[], index: number): readonly unknown[] {
  return schemas.flatMap(({ items, prefixItems }) => {
    const fixed: unknown = Array.isArray(prefixItems) ? prefixItems[index] : undefined
    const tuple: unknown = Array.isArray(items) ? items[index] : items
    return fixed ?? tuple ?? []
  })
}

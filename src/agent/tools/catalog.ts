// The tools of one run, found by any of their spellings. Two tools that a provider could not tell apart are never both in.
import { asFields, isPlainObject } from '../fields.ts'
import { type DeclarationForm, type DeclarationReading, readDeclaration } from './declaration.ts'
import { providerSafeName } from './provider-names.ts'
import type { RejectedDeclaration, ToolDeclaration } from './tool.ts'

export type ToolCatalog = {
  readonly tools: ReadonlyMap<string, ToolDeclaration>
  readonly rejected: readonly RejectedDeclaration[]
  /** By canonical name, provider-safe name or alias. */
  readonly find: (called: string) => ToolDeclaration | undefined
}

/** The first of two declarations that share a name or a spelling stays; the other is reported. */
export function createToolCatalog(declarations: Iterable<ToolDeclaration>): ToolCatalog {
  const tools = new Map<string, ToolDeclaration>()
  const owners = new Map<string, string>()
  const rejected: RejectedDeclaration[] = []
  for (const declaration of declarations) {
    const { name } = declaration
    const taken = toolSpellings(declaration).find((spelling) => owners.has(spelling))
    if (taken !== undefined) {
      rejected.push({ name, reason: nameCollision(name, taken, owners.get(taken) ?? '') })
      continue
    }
    tools.set(name, declaration)
    for (const spelling of toolSpellings(declaration)) owners.set(spelling, name)
  }
  return { tools, rejected, find: (called) => tools.get(owners.get(called) ?? '') }
}

export type NormalizedDeclarations = {
  readonly accepted: ReadonlyMap<string, ToolDeclaration>
  readonly rejected: readonly RejectedDeclaration[]
}

/** A list of declarations, or a map from name to declaration. A bad one is reported and does not spoil the others. */
export function normalizeDeclarations(input: unknown, form: DeclarationForm = 'request'): NormalizedDeclarations {
  const readings = Array.isArray(input)
    ? input.map((entry) => readDeclaration(entry, form))
    : Object.entries(asFields(input)).map(([key, value]) => readNamedDeclaration(key, value, form))
  const catalog = createToolCatalog(readings.flatMap((reading) => (reading.ok ? [reading.declaration] : [])))
  const bad = readings.flatMap((reading) => (reading.ok ? [] : [reading.rejected]))
  return { accepted: catalog.tools, rejected: [...bad, ...catalog.rejected] }
}

function readNamedDeclaration(key: string, value: unknown, form: DeclarationForm): DeclarationReading {
  const own = asFields(value)['name'] ?? key
  if (own === key) return readDeclaration(isPlainObject(value) ? { ...value, name: key } : value, form)
  const rejected = { name: key, reason: 'ambiguous_tool_name: name differs from its key' }
  return { ok: false, rejected, fields: ['name'] }
}

function toolSpellings({ name, provider_safe_name, provider_aliases }: ToolDeclaration): readonly string[] {
  return [name, provider_safe_name ?? providerSafeName(name), ...(provider_aliases ?? [])]
}

function nameCollision(name: string, spelling: string, owner: string): string {
  if (owner === name) return 'duplicate_tool_name: declared twice; the first one stays'
  return `provider_name_collision: ${spelling} also means ${owner}; rename one or set provider_safe_name`
}

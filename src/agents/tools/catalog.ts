// The tool catalog of one run: its sources, its tiers, and look-up by any spelling of a name. Two tools that a provider could not
// tell apart are never both in.

import { asFields, isPlainObject, textList, trimmedText } from '../../lib/index.ts'
import type { Fields } from '../../lib/json-value.ts'
import { type DeclarationForm, type DeclarationReading, readDeclaration } from './declaration.ts'
import { listPropertiesMarkedRequired } from './parameters.ts'
import type { RejectedDeclaration, ToolDeclaration } from './tool.ts'
import { toProviderSafeName } from './tool-names.ts'

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
    const taken = listToolNamesAndAliases(declaration).find((spelling) => owners.has(spelling))
    if (taken !== undefined) {
      rejected.push({ name, reason: describeNameCollision(name, taken, owners.get(taken) ?? '') })
      continue
    }
    tools.set(name, declaration)
    for (const spelling of listToolNamesAndAliases(declaration)) owners.set(spelling, name)
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

function listToolNamesAndAliases({ name, provider_safe_name, provider_aliases }: ToolDeclaration): readonly string[] {
  return [name, provider_safe_name ?? toProviderSafeName(name), ...(provider_aliases ?? [])]
}

function describeNameCollision(name: string, spelling: string, owner: string): string {
  if (owner === name) return 'duplicate_tool_name: declared twice; the first one stays'
  return `provider_name_collision: ${spelling} also means ${owner}; rename one or set provider_safe_name`
}

// Sources are asked in the order of their priority. The first to declare a name has it; what is refused is reported, never dropped
// in silence.

export type ToolSource = {
  readonly slug: string
  /** A list of declarations, or a map from name to declaration. */
  readonly declare: (context: Fields) => unknown
  /** Lower is asked first; 10 unless told. */
  readonly priority?: number
}

const defaultPriority = 10

export async function collectToolCatalog(sources: readonly ToolSource[], context: Fields): Promise<ToolCatalog> {
  const ordered = sources.toSorted((a, b) => (a.priority ?? defaultPriority) - (b.priority ?? defaultPriority))
  const declarations: ToolDeclaration[] = []
  const rejected: RejectedDeclaration[] = []
  for (const source of ordered) {
    for (const entry of await readSourceEntries(source, context, rejected)) {
      const reading = readDeclaration(addDefaultDescriptionAndSource(entry, source.slug), 'server')
      if (reading.ok) declarations.push(reading.declaration)
      else rejected.push(reading.rejected)
    }
  }
  const catalog = createToolCatalog(declarations)
  return { ...catalog, rejected: [...rejected, ...catalog.rejected] }
}

/** A source that fails has no tools this time; the others are not to suffer for it. */
async function readSourceEntries(
  source: ToolSource,
  context: Fields,
  rejected: RejectedDeclaration[],
): Promise<readonly unknown[]> {
  try {
    const declared = await source.declare(context)
    if (Array.isArray(declared)) return declared
    return Object.entries(asFields(declared)).map(([name, entry]) =>
      isPlainObject(entry) ? { name, ...entry } : entry,
    )
  } catch {
    rejected.push({ name: source.slug, reason: 'tool_source_failed: the source could not say which tools it has' })
    return []
  }
}

/** Sources that know no more than a name still have usable tools. */
function addDefaultDescriptionAndSource(entry: unknown, slug: string): unknown {
  if (!isPlainObject(entry)) return entry
  const description = trimmedText(entry['description']) ?? entry['name']
  return { ...entry, description, source: entry['source'] ?? slug }
}

// Many tools, few slots: the first tier is shown in full, the second as a list of names and summaries.

export type ToolTiers = {
  readonly tier_1: readonly ToolDeclaration[]
  readonly tier_2: readonly ToolDeclaration[]
  readonly manifest: readonly {
    readonly name: string
    readonly summary: string
    readonly required_fields: readonly string[]
  }[]
}

export type TierChoice = {
  readonly curated?: readonly string[]
  /** Names, most used first. */
  readonly mostUsed?: readonly string[]
  readonly cap?: number
}

const defaultCap = 15

/** Mandatory tools come first and never make room for others, whatever the cap. */
export function splitToolsByTier(tools: ReadonlyMap<string, ToolDeclaration>, choice: TierChoice = {}): ToolTiers {
  const cap = Math.max(1, Math.trunc(choice.cap ?? defaultCap))
  const mandatory = [...tools.values()].filter((tool) => tool['mandatory'] === true).map((tool) => tool.name)
  const candidates = [...mandatory, ...(choice.curated ?? []), ...(choice.mostUsed ?? []), ...tools.keys()]
  const order = [...new Set(candidates)].map((name) => tools.get(name)).filter((tool) => tool !== undefined)
  const first = Math.max(cap, mandatory.length)
  const tier2 = order.slice(first)
  return { tier_1: order.slice(0, first), tier_2: tier2, manifest: tier2.map(manifestEntry) }
}

function manifestEntry({ name, description, parameters }: ToolDeclaration): ToolTiers['manifest'][number] {
  const required = [
    ...textList(parameters['required'] ?? []),
    ...listPropertiesMarkedRequired(parameters['properties']),
  ]
  return { name, summary: description.split('\n')[0] ?? '', required_fields: [...new Set(required)] }
}

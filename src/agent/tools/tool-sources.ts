// Where tools come from: named sources, asked in the order of their priority. The first to declare a name has it;
// what is refused is reported, never dropped in silence.
import type { Fields } from '../../contract/index.ts'
import { asFields, isPlainObject, trimmedText } from '../fields.ts'
import { createToolCatalog, type ToolCatalog } from './catalog.ts'
import { readDeclaration } from './declaration.ts'
import type { RejectedDeclaration, ToolDeclaration } from './tool.ts'

export type ToolSource = {
  readonly slug: string
  /** A list of declarations, or a map from name to declaration. */
  readonly declare: (context: Fields) => unknown
  /** Lower is asked first; 10 unless told. */
  readonly priority?: number
}

const defaultPriority = 10

export async function gatherTools(sources: readonly ToolSource[], context: Fields): Promise<ToolCatalog> {
  const ordered = sources.toSorted((a, b) => (a.priority ?? defaultPriority) - (b.priority ?? defaultPriority))
  const declarations: ToolDeclaration[] = []
  const rejected: RejectedDeclaration[] = []
  for (const source of ordered) {
    for (const entry of await sourceEntries(source, context, rejected)) {
      const reading = readDeclaration(completeDeclaration(entry, source.slug), 'server')
      if (reading.ok) declarations.push(reading.declaration)
      else rejected.push(reading.rejected)
    }
  }
  const catalog = createToolCatalog(declarations)
  return { ...catalog, rejected: [...rejected, ...catalog.rejected] }
}

/** A source that fails has no tools this time; the others are not to suffer for it. */
async function sourceEntries(
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
function completeDeclaration(entry: unknown, slug: string): unknown {
  if (!isPlainObject(entry)) return entry
  const description = trimmedText(entry['description']) ?? entry['name']
  return { ...entry, description, source: entry['source'] ?? slug }
}

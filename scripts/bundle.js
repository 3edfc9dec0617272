// One way to bundle, used by build.js, chaos.js and worker-size.js. Skips the work when no input has changed since.
import { createHash } from 'node:crypto'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { builtinModules } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = join(dirname(fileURLToPath(import.meta.url)), '..')

/** What a gateway loads in threads, from beside its own bundle (adapters/email/offload/offload.ts). */
export const emailThread = { entry: 'adapters/email/offload/thread.ts', outfile: 'dist/email-thread.js' }

// Files that are no input and still decide what the bundle contains.
const steering = ['package-lock.json', 'package.json', 'tsconfig.json', 'scripts/bundle.js']

// A bundled CommonJS dependency may still call require() for a Node built-in; ESM output has none of its own.
const banner =
  "import { createRequire as parleyCreateRequire } from 'node:module'; const require = parleyCreateRequire(import.meta.url);"

// A CommonJS dependency requires Node's modules, by their old names too, which Workers have as imports only. Of cryptography it
// gets a module that knows the names it uses, of character sets one without their tables.
const nodeModulesAsImports = {
  name: 'node modules as imports',
  setup(build) {
    const old = new RegExp(`^(?:${builtinModules.filter((name) => /^[a-z/_]+$/.test(name)).join('|')})$`)
    build.onResolve({ filter: /^(?:node:)?crypto$/ }, ({ kind }) =>
      kind === 'require-call' ? { path: join(root, 'scripts/worker-crypto.js') } : undefined,
    )
    build.onResolve({ filter: /^(?:iconv-lite|encoding-japanese)$/ }, () => ({
      path: join(root, 'scripts/worker-charsets.js'),
    }))
    build.onResolve({ filter: /^node:/ }, ({ kind, path }) =>
      kind === 'require-call' ? { path, namespace: 'node-module' } : { path, external: true },
    )
    build.onResolve({ filter: old }, ({ kind, path }) =>
      kind === 'require-call'
        ? { path: `node:${path}`, namespace: 'node-module' }
        : { path: `node:${path}`, external: true },
    )
    build.onLoad({ filter: /.*/, namespace: 'node-module' }, ({ path }) => ({
      contents: `export * from '${path}'; export { default } from '${path}'`,
    }))
  },
}

/** Hundreds of milliseconds that only models need: a configuration is read without them. */
const sdkAtFirstUse = {
  name: 'model SDK at first use',
  setup(build) {
    build.onLoad({ filter: /[/\\]models[/\\]load-sdk\.ts$/ }, () => ({
      contents: "export const loadAiSdk = () => import('./sdk.ts')",
      loader: 'ts',
    }))
  },
}

const forWorkerd = {
  platform: 'neutral',
  mainFields: ['module', 'main'],
  target: 'es2024',
  conditions: ['workerd', 'worker', 'browser'],
  external: ['node:*', 'cloudflare:*'],
}

/** What entry points of the library share, and what they load at first use. */
const chunks = 'dist/chunks'

/**
 * Paths are relative to the checkout; `runtime` is node (default), portable or workerd. `rowVersionBy` makes it an older or
 * a newer release, `beside` adds entry points that share code with it, by name. Answers 'built' or 'unchanged'.
 */
export async function bundle({ entry, outfile, runtime = 'node', rowVersionBy = 0, beside = {} }) {
  const stampFile = join(root, `${outfile}.inputs.json`)
  const { plugins = [], ...rest } = settingsFor({ entry, outfile, runtime, beside })
  const settings = { ...rest, plugins: [...plugins, rowVersionPlugin(rowVersionBy)] }
  if (await isUnchanged(stampFile, outfile, settings)) return 'unchanged'
  await rm(stampFile, { force: true })
  const { build } = await import('esbuild').catch((error) => {
    throw error.code === 'ERR_MODULE_NOT_FOUND' ? new MissingBundler() : error
  })
  if (settings.splitting === true) await rm(join(root, chunks), { recursive: true, force: true })
  const result = await build(settings)
  const files = {}
  const read = Object.keys(result.metafile.inputs).filter((path) => !path.startsWith('node-module:'))
  const written = Object.keys(result.metafile.outputs).filter((path) => path.endsWith('.js'))
  const inputs = [...read, ...steering, ...written]
  for (const path of inputs) files[path] = await hashOf(join(root, path))
  const imports = listExternalPackages(result.metafile)
  await writeFile(stampFile, JSON.stringify({ settings: fingerprint(settings), imports, files }))
  return 'built'
}

/** The development packages were left out, as with `npm install --omit=dev`: what is built can be used, nothing can be built. */
export class MissingBundler extends Error {
  constructor() {
    super('the development packages are missing: run npm install --include=dev')
    this.name = 'MissingBundler'
  }
}

/** The packages that the bundle leaves to node_modules, by name and without Node's and Cloudflare's own modules. */
function listExternalPackages(metafile) {
  const imports = Object.values(metafile.outputs).flatMap((output) => output.imports)
  const names = imports
    .filter(({ external, path }) => external && !/^(?:node|cloudflare):/.test(path) && !builtinModules.includes(path))
    .map(({ path }) => /^(?:@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? path)
  return [...new Set(names)].sort()
}

export function settingsFor({ entry, outfile, runtime, beside = {} }) {
  const name = /([^/]+)\.js$/.exec(outfile)?.[1]
  const isSplit = Object.keys(beside).length > 0
  return {
    absWorkingDir: root,
    ...(isSplit
      ? {
          entryPoints: { [name]: entry, ...beside },
          outdir: dirname(outfile),
          splitting: true,
          chunkNames: 'chunks/[hash]',
        }
      : { entryPoints: [entry], outfile }),
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node22',
    jsx: 'automatic',
    jsxImportSource: 'hono/jsx',
    // The MCP client is imported at its first use and shares zod with us: bundled, it would make zod wait for that use too.
    external: ['@modelcontextprotocol/*'],
    sourcemap: true,
    metafile: true,
    logLevel: 'warning',
    ...(runtime === 'node' ? { banner: { js: banner } } : {}),
    // The library is imported on every runtime, so it takes the variants of its dependencies that need none of them.
    ...(runtime === 'node' ? {} : forWorkerd),
    // The library leaves to its host what needs Node.
    ...(runtime === 'portable' ? { external: [...forWorkerd.external, '@slack/*', 'mailauth/*'] } : {}),
    ...(runtime === 'workerd' ? { plugins: [nodeModulesAsImports] } : {}),
    ...(isSplit ? { plugins: [sdkAtFirstUse] } : {}),
  }
}

/** A release to come, or one of the past, as far as the version of its rows goes: for the crash test of upgrades. */
function rowVersionPlugin(by) {
  return {
    name: `row version by ${by}`,
    setup(build) {
      build.onLoad({ filter: /[/\\]src[/\\]db[/\\]client\.ts$/ }, async ({ path }) => {
        const text = await readFile(path, 'utf8')
        const contents = text.replace(
          /(export const rowVersion = )(\d+)/,
          (_, start, version) => start + (Number(version) + by),
        )
        if (by !== 0 && contents === text) throw new Error('src/db/client.ts has no version of rows to change')
        return { contents, loader: 'ts' }
      })
    },
  }
}

/** The list of inputs is the last build's: a file can only join it by an edit to a file that is already on it. */
async function isUnchanged(stampFile, outfile, settings) {
  try {
    const stamp = JSON.parse(await readFile(stampFile, 'utf8'))
    if (stamp.settings !== fingerprint(settings) || stamp.files[outfile] === undefined) return false
    const checks = Object.entries(stamp.files).map(async ([path, hash]) => (await hashOf(join(root, path))) === hash)
    return (await Promise.all(checks)).every(Boolean)
  } catch {
    return false
  }
}

function fingerprint(settings) {
  return createHash('sha256').update(JSON.stringify(settings)).digest('hex')
}

async function hashOf(path) {
  return createHash('sha256')
    .update(await readFile(path))
    .digest('hex')
}

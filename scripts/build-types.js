// Run when the package is built: the declarations of its entry points, and of what these name, in dist/types.
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { root } from './bundle.js'

const target = join(root, 'dist', 'types')
const emitted = join(root, 'dist', '.types')
const specifier = /((?:\bfrom |\bimport |\bimport\()["'])([^"']+)(["'])/g

// Packages that are bundled, and named by declarations inside of ours alone: none of their types is one of an entry point.
const bundledInside = /^import (?:type )?\{([^}]*)\} from ["'](?:hono|markdown-it)["'];$/gm

/** The Worker has Cloudflare's types, which contradict Node's: a program of its own. */
const programs = [
  { config: 'tsconfig.node.json', entries: ['src/index.ts', 'src/testing.ts', 'src/client.ts'] },
  { config: 'tsconfig.worker.json', entries: ['src/worker.ts'] },
]

export async function buildTypes() {
  await rm(target, { recursive: true, force: true })
  for (const { config, entries } of programs) {
    await emitDeclarations(config, entries)
    for (const entry of entries) await copyReachable(declarationOf(join(emitted, entry)))
    await rm(emitted, { recursive: true, force: true })
  }
}

async function emitDeclarations(config, entries) {
  const project = join(root, 'dist', 'tsconfig.types.json')
  const compilerOptions = {
    noEmit: false,
    declaration: true,
    emitDeclarationOnly: true,
    rootDir: root,
    outDir: emitted,
  }
  const files = entries.map((entry) => join(root, entry))
  await mkdir(dirname(project), { recursive: true })
  await writeFile(project, JSON.stringify({ extends: join(root, config), compilerOptions, include: [], files }))
  try {
    await promisify(execFile)(process.execPath, [join(root, 'node_modules', 'typescript', 'bin', 'tsc'), '-p', project])
  } catch (error) {
    throw new Error(`the declarations cannot be made: ${error.stdout ?? error.message}`)
  } finally {
    await rm(project, { force: true })
  }
}

/** Every declaration that this one leads to, with imports that a resolver finds: `./x.ts` is there as `./x.js` alone. */
async function copyReachable(path) {
  const copy = join(target, relative(emitted, path))
  if (existsSync(copy)) return
  const text = (await readFile(path, 'utf8')).replace(bundledInside, (_, names) => untypedNames(names))
  await mkdir(dirname(copy), { recursive: true })
  await writeFile(
    copy,
    text.replace(specifier, (_, start, name, end) => start + runtimeName(name) + end),
  )
  // Examples in comments import too.
  for (const [, , name] of text.replace(/\/\*[\s\S]*?\*\//g, '').matchAll(specifier)) {
    if (name.startsWith('.')) await copyReachable(declarationOf(join(dirname(path), name)))
  }
}

/** Whatever is asked of it; the rules of a parser are functions. */
const untyped = '{ [name: string]: any; block: { ruler: { push(name: any, rule: (...given: any) => any): any } } }'

function untypedNames(names) {
  const all = names.split(',').map((each) =>
    each
      .trim()
      .replace(/^type /, '')
      .split(' as ')
      .at(-1),
  )
  return all.map((name) => (name === '' ? '' : `type ${name} = ${untyped};`)).join('\n')
}

function runtimeName(name) {
  return name.startsWith('.') ? name.replace(/\.tsx?$/, '.js') : name
}

function declarationOf(path) {
  return path.replace(/\.tsx?$/, '.d.ts')
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await buildTypes()
  console.log('dist/types built')
}

// `npm run house`: figures about the code itself, to read before and after a change of its shape. Figures, not limits.
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import process from 'node:process'
import { parseSync } from 'oxc-parser'
import { onModernNode } from '../bin/modern-node.js'
import { root } from './bundle.js'

const usage = `Usage: npm run house [-- --walk] [-- --verbose] [-- --functions SEED]

Prints figures about the code, each with its aim: files, lines, exports, names, words, duplicated runs.
  --walk             also the files and functions that a Slack mention, a mail and an A2A message pass (starts a gateway)
  --verbose          with the lists behind the figures
  --functions SEED   30 functions drawn by this seed, as path and name alone, for a reader to guess their purpose`

const files = execFileSync('git', ['ls-files', '-z'], { cwd: root, encoding: 'utf8', maxBuffer: 1 << 26 })
  .split('\0')
  .filter((path) => path !== '')
const textOf = (path) => readFileSync(join(root, path), 'utf8')
const isProduct = (path) => /^(src|adapters)\/.*\.tsx?$/.test(path)
const product = new Map(files.filter(isProduct).map((path) => [path, textOf(path)]))
const trees = new Map([...product].map(([path, text]) => [path, parseSync(path, text).program]))

function walkTree(node, visit, parent) {
  visit(node, parent)
  for (const value of Object.values(node)) {
    for (const child of Array.isArray(value) ? value : [value]) {
      if (typeof child === 'object' && child !== null && typeof child.type === 'string') walkTree(child, visit, node)
    }
  }
}

function nodesOf(path, types) {
  const found = []
  walkTree(trees.get(path), (node, parent) => {
    if (types.has(node.type)) found.push({ node, parent })
  })
  return found
}

const functionTypes = new Set(['FunctionDeclaration', 'ArrowFunctionExpression', 'FunctionExpression'])

/** Declared functions and constants that are functions; members of object literals have the name of their contract. */
function namedFunctions(path) {
  return nodesOf(path, functionTypes).flatMap(({ node, parent }) => {
    if (node.type === 'FunctionDeclaration') return node.id === null ? [] : [node.id.name]
    if (parent?.type === 'VariableDeclarator' && parent.id.type === 'Identifier') return [parent.id.name]
    return []
  })
}

const functions = [...product.keys()].flatMap((path) => namedFunctions(path).map((name) => ({ path, name })))

function countBy(values) {
  const counts = new Map()
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1)
  return counts
}

function importers() {
  const found = new Map()
  for (const path of product.keys()) {
    for (const { node } of nodesOf(
      path,
      new Set(['ImportDeclaration', 'ExportNamedDeclaration', 'ExportAllDeclaration']),
    )) {
      const specifier = node.source?.value
      if (typeof specifier !== 'string' || !specifier.startsWith('.')) continue
      const to = posix.join(posix.dirname(path), specifier)
      if (!found.has(to)) found.set(to, new Set())
      found.get(to).add(path)
    }
  }
  return found
}

/** The names that a module exports, also through `export *`. */
function exportedNames(path, seen = new Set()) {
  if (seen.has(path) || !product.has(path)) return new Set()
  seen.add(path)
  const names = new Set()
  for (const { node } of nodesOf(path, new Set(['ExportAllDeclaration', 'ExportNamedDeclaration']))) {
    if (node.type === 'ExportAllDeclaration') {
      const from = posix.join(posix.dirname(path), node.source.value)
      for (const name of exportedNames(from, seen)) names.add(name)
      continue
    }
    for (const specifier of node.specifiers) names.add(specifier.exported.name)
    const { declarations, id } = node.declaration ?? {}
    for (const each of declarations ?? []) if (each.id.type === 'Identifier') names.add(each.id.name)
    if (id !== undefined && id !== null) names.add(id.name)
  }
  return names
}

/**
 * Types of functions alone that exactly one function of the product makes, in another file: a layer without a second implementation.
 * Public ports are those of the contract and of the package's exports: hosts and tests bring their own.
 */
function singleImplementations() {
  const publicNames = new Set(['src/index.ts', 'src/worker.ts'].flatMap((path) => [...exportedNames(path)]))
  const ports = new Map()
  for (const path of product.keys()) {
    for (const { node } of nodesOf(path, new Set(['TSTypeAliasDeclaration', 'TSInterfaceDeclaration']))) {
      const members = node.type === 'TSInterfaceDeclaration' ? node.body.body : node.typeAnnotation?.members
      if (members === undefined || members.length < 2) continue
      const isCallable = (member) =>
        member.type === 'TSMethodSignature' || member.typeAnnotation?.typeAnnotation?.type === 'TSFunctionType'
      if (members.every(isCallable)) ports.set(node.id.name, path)
    }
  }
  const makers = new Map()
  for (const path of product.keys()) {
    for (const { node } of nodesOf(path, functionTypes)) {
      const annotation = node.returnType?.typeAnnotation
      const name = annotation?.type === 'TSTypeReference' ? annotation.typeName.name : undefined
      if (name === undefined || !ports.has(name)) continue
      makers.set(name, (makers.get(name) ?? new Set()).add(`${path}:${node.id?.name ?? node.start}`))
    }
  }
  const single = [...ports].flatMap(([name, path]) => {
    const [maker, ...others] = makers.get(name) ?? []
    if (maker === undefined || others.length > 0 || maker.startsWith(`${path}:`)) return []
    return [
      {
        isPublic: path.startsWith('src/contract/') || publicNames.has(name),
        text: `${path} ${name}, made by ${maker}`,
      },
    ]
  })
  return {
    internal: single.filter(({ isPublic }) => !isPublic).map(({ text }) => text),
    ports: single.filter(({ isPublic }) => isPublic).map(({ text }) => text),
  }
}

const runLength = 6
const maxPlaces = 8

/** Lines that say something, each with its number: no blank lines, imports, comments or lone brackets. */
function sayingLines(path) {
  return product
    .get(path)
    .split('\n')
    .map((line, at) => ({ line: line.trim(), number: at + 1 }))
    .filter(({ line }) => /\w/.test(line) && !/^(import|export \{|export type \{|\/\/|\/?\*|\} from )/.test(line))
}

/** Pairs of places that share six or more lines, letter by letter; what stands in more than eight places is a pattern, not a copy. */
function duplicatedRuns() {
  const places = new Map()
  for (const path of product.keys()) {
    const lines = sayingLines(path)
    for (let at = 0; at + runLength <= lines.length; at += 1) {
      const run = lines.slice(at, at + runLength)
      const key = run.map(({ line }) => line).join('\n')
      if (!places.has(key)) places.set(key, [])
      places.get(key).push({ path, at, number: run[0].number })
    }
  }
  const found = []
  const seen = new Set()
  for (const shared of places.values()) {
    if (shared.length < 2 || shared.length > maxPlaces) continue
    for (const [index, one] of shared.entries()) {
      for (const other of shared.slice(index + 1)) {
        const pair = (back) => `${one.path}:${one.at - back} ${other.path}:${other.at - back}`
        const isNew = !seen.has(pair(1))
        seen.add(pair(0))
        if (isNew) found.push(`${one.path}:${one.number} ~ ${other.path}:${other.number}`)
      }
    }
  }
  return found
}

function literalSpreads() {
  return [...product.keys()].flatMap((path) =>
    nodesOf(path, new Set(['SpreadElement'])).filter(({ node }) =>
      ['ObjectExpression', 'ArrayExpression'].includes(node.argument.type),
    ),
  ).length
}

function grep(pattern, paths) {
  return paths.reduce((sum, path) => sum + (textOf(path).match(pattern)?.length ?? 0), 0)
}

const spoken = files.filter((path) => /^(src|adapters|docs)\/.*\.(ts|tsx|md)$|^README\.md$/.test(path))
const written = files.filter((path) => /\.(ts|tsx|js|md|sql)$/.test(path) && !path.startsWith('drizzle/meta/'))
const indefinite = /\b(nobody|somebody|whoever|whomever)\b/gi
const outsideReferences =
  /\b(rulings?|traps?) [0-9]+|\((mail|msg|slack|loop|spec|a2a|runtime) [0-9]+(\.[0-9]+)*[),; ]|\((loop|msg|slack|mail|a2a):[A-Z]{1,3}-?[0-9]+\)/g

function drawFunctions(seed, count) {
  const rank = ({ path, name }, index) => createHash('sha256').update(`${seed} ${path} ${name} ${index}`).digest('hex')
  return functions
    .map((each, index) => ({ ...each, rank: rank(each, index) }))
    .sort((one, other) => (one.rank < other.rank ? -1 : 1))
    .slice(0, count)
}

async function main() {
  const args = process.argv.slice(2)
  if (args.includes('--help')) return console.log(usage)
  const at = args.indexOf('--functions')
  if (at !== -1) {
    const seed = args[at + 1]
    if (seed === undefined) throw new Error(`a seed is missing\n${usage}`)
    for (const { path, name } of drawFunctions(seed, 30)) console.log(`${path}  ${name}`)
    return
  }
  const lines = [...product.values()].reduce((sum, text) => sum + text.split('\n').length - 1, 0)
  const counts = countBy(functions.map(({ name }) => name))
  const repeated = [...counts].filter(([, count]) => count > 1).map(([name, count]) => `${name} (${count})`)
  const { internal, ports } = singleImplementations()
  const duplicates = duplicatedRuns()
  const oneImporter = [...importers()].filter(([, from]) => from.size === 1).map(([to, [from]]) => `${to} <- ${from}`)
  const rows = [
    ['product files (src and adapters)', product.size, '<= 700'],
    ['product lines', lines, '<= 80000'],
    ['functions with a name', functions.length, ''],
    ['interfaces with one implementation', internal.length, '0', internal],
    ['  and public ports with one, apart from those', ports.length, '', ports],
    ['names exported by src/contract/index.ts', exportedNames('src/contract/index.ts').size, '<= 110'],
    ['function names defined more than once', repeated.length, '<= 150', repeated],
    ['nobody, somebody, whoever, whomever (src, adapters, docs, README)', grep(indefinite, spoken), '<= 40'],
    ['references to documents outside the repository', grep(outsideReferences, written), '0'],
    ['spreads of a literal without a condition', literalSpreads(), '0'],
    ['files with one importer', oneImporter.length, '', oneImporter],
    ['pairs of duplicated runs of six lines or more', duplicates.length, '', duplicates],
    ['named types that a hello passes', 'by reading', '<= 18'],
    ['purpose of 30 random functions clear (--functions SEED)', 'by reading', '28'],
    ['files / functions that a Slack mention passes', args.includes('--walk') ? 'below' : '--walk', '<= 70 / <= 380'],
    ['npm test on two quiet cores', 'by clock', '<= 5 min'],
  ]
  const isVerbose = args.includes('--verbose')
  console.log(`${'figure'.padEnd(68)}${'now'.padStart(10)}  aim`)
  for (const [what, value, aim, items = []] of rows) {
    console.log(`${what.padEnd(68)}${String(value).padStart(10)}  ${aim}`.trimEnd())
    if (isVerbose) for (const item of items) console.log(`    ${item}`)
  }
  if (args.includes('--walk')) {
    const { printWalks } = await import('../bench/walk.ts')
    await printWalks(args.includes('--verbose'))
  }
}

await onModernNode(main)

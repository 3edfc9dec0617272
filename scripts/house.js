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

Prints figures about the code: files, lines, exports, names, words.
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

function exportedNames(folder) {
  const names = new Set()
  for (const path of product.keys()) {
    if (!path.startsWith(`${folder}/`)) continue
    for (const { node } of nodesOf(path, new Set(['ExportNamedDeclaration']))) {
      for (const specifier of node.specifiers) names.add(specifier.exported.name)
      const declaration = node.declaration
      if (declaration === null) continue
      if (declaration.declarations !== undefined) {
        for (const each of declaration.declarations) if (each.id.type === 'Identifier') names.add(each.id.name)
      } else if (declaration.id !== undefined && declaration.id !== null) names.add(declaration.id.name)
    }
  }
  return names
}

/** Types of functions alone that exactly one function of the product makes, in another file: a layer without a second implementation. */
function singleImplementations() {
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
  return [...ports].flatMap(([name, path]) => {
    const [maker, ...others] = makers.get(name) ?? []
    if (maker === undefined || others.length > 0 || maker.startsWith(`${path}:`)) return []
    return [`${path} ${name}, made by ${maker}`]
  })
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
  /\b(rulings?|traps?) [0-9]+|\((mail|msg|slack|loop|spec|a2a|runtime) [0-9]+(\.[0-9]+)*[),; ]|\b(loop|msg|slack|mail|a2a):[A-Z]{1,3}-?[0-9]+(?![\w/])/g

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
  const names = countBy(functions.map(({ name }) => name))
  const repeated = [...names.values()].filter((count) => count > 1)
  const rows = [
    ['product files', product.size],
    ['product lines', lines],
    ['functions with a name', functions.length],
    ['function names defined more than once', repeated.length],
    ['  definitions of these', repeated.reduce((sum, count) => sum + count, 0)],
    ['files with exactly one importer', [...importers()].filter(([, from]) => from.size === 1).length],
    ['types of functions with one implementation', singleImplementations().length],
    ['names exported in src/contract', exportedNames('src/contract').size],
    ['nobody, somebody, whoever, whomever (src, adapters, docs, README)', grep(indefinite, spoken)],
    ['references to documents outside the repository', grep(outsideReferences, written)],
    ['spreads of a literal without a condition', literalSpreads()],
  ]
  for (const [what, value] of rows) console.log(`${String(value).padStart(8)}  ${what}`)
  if (args.includes('--verbose')) for (const each of singleImplementations()) console.log(`          ${each}`)
  if (args.includes('--walk')) {
    const { printWalks } = await import('../bench/walk.ts')
    await printWalks(args.includes('--verbose'))
  }
}

await onModernNode(main)

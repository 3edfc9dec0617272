// Source files as text and as syntax trees: the ground that every architecture check stands on.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseSync } from 'oxc-parser'

/** Paths from the root of the checkout, with the text of each file. A planted tree is simply a map. */
export type SourceTree = ReadonlyMap<string, string>

/** One thing that breaks a rule, where it is. */
export type Violation = { readonly rule: string; readonly file: string; readonly line: number; readonly what: string }

/** A node of the syntax tree, as far as a scan needs to know it. */
export type SyntaxNode = { readonly type: string; readonly start: number; readonly [key: string]: unknown }

export const checkoutRoot = join(import.meta.dirname, '..', '..')

const skippedFolders = new Set(['node_modules', 'dist', '.git', '.parley', '.wrangler'])

/** Every file below the given folders, sorted. */
export function listFiles(folders: readonly string[], root = checkoutRoot): readonly string[] {
  const found: string[] = []
  const visit = (folder: string) => {
    for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`
      if (entry.isDirectory() && !skippedFolders.has(entry.name)) visit(path)
      else if (entry.isFile()) found.push(path)
    }
  }
  for (const folder of folders) if (existsSync(join(root, folder))) visit(folder)
  return found.sort()
}

export function readSources(folders: readonly string[]): SourceTree {
  const sources = listFiles(folders).filter((path) => /\.tsx?$/.test(path))
  return new Map(sources.map((path) => [path, readFileSync(join(checkoutRoot, path), 'utf8')]))
}

/** Throws when the file is not valid TypeScript: a scan that skips what it cannot read proves nothing. */
export function parseSource(path: string, text: string): SyntaxNode {
  const { program, errors } = parseSync(path, text)
  if (errors[0] !== undefined) throw new Error(`${path} cannot be parsed: ${errors[0].message}`)
  // The typed tree has hundreds of node types; the scans look at nodes by name and need only this view of them.
  return program as unknown as SyntaxNode
}

/** Calls `visit` for every node, parents first; `ancestors` ends with the direct parent. */
export function walk(
  node: SyntaxNode,
  visit: (node: SyntaxNode, ancestors: readonly SyntaxNode[]) => void,
  ancestors: readonly SyntaxNode[] = [],
): void {
  visit(node, ancestors)
  const line = [...ancestors, node]
  for (const child of childrenOf(node)) walk(child, visit, line)
}

export function childrenOf(node: SyntaxNode): readonly SyntaxNode[] {
  return Object.values(node)
    .flatMap((value) => (Array.isArray(value) ? value : [value]))
    .filter(isNode)
}

export function isNode(value: unknown): value is SyntaxNode {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string'
}

export function lineOf(text: string, offset: number): number {
  return text.slice(0, offset).split('\n').length
}

/** Violations as lines, so that a failing expectation reads like a compiler. */
export function report(violations: readonly Violation[]): readonly string[] {
  return violations.map(({ rule, file, line, what }) => `${file}:${line} ${rule}: ${what}`)
}

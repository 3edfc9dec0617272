// Rules that imports cannot show: what an expression may ask (msg NM-14), and what a pure file may touch.
import {
  childrenOf,
  isNode,
  lineOf,
  parseSource,
  type SourceTree,
  type SyntaxNode,
  type Violation,
  walk,
} from './source-tree.ts'

const decidingFiles = /^src\/((agents|sessions|identity|inbound|turns|outbound)\/|gateway(\.ts$|\/))/
const pureFiles = /^adapters\/[^/]+\/(normalize|render)(\.ts$|\/)/

const comparisons = new Set(['==', '===', '!=', '!==', '<', '<=', '>', '>=', 'in', 'instanceof'])
const askingMethods = new Set([
  'has',
  'get',
  'includes',
  'indexOf',
  'startsWith',
  'endsWith',
  'match',
  'test',
  'search',
])
const impureGlobals = new Set(['fetch', 'process', 'performance', 'crypto', 'setTimeout', 'setInterval', 'globalThis'])
const impureMembers = new Set(['Date.now', 'Math.random'])

/** `received_via` is for telemetry and keys; a decision taken by it is knowledge about channels in the core. */
export function branchingViolations(tree: SourceTree): readonly Violation[] {
  return scan(tree, decidingFiles, 'no-branching-on-received-via', (program) => {
    const aliases = aliasesOf(program)
    const reads = (node: SyntaxNode): boolean => isRead(node, aliases) || valuesIn(node).some(reads)
    return (node) => (decidingParts(node).some(reads) ? 'decides by received_via' : undefined)
  })
}

/** normalize and render give the same answer for the same input, everywhere and at any time. */
export function purityViolations(tree: SourceTree): readonly Violation[] {
  return scan(tree, pureFiles, 'pure-normalize-and-render', () => (node, ancestors) => {
    if (node.type === 'NewExpression' && nameOf(node['callee']) === 'Date' && isEmpty(node['arguments']))
      return 'asks for the current time: new Date()'
    if (node.type === 'CallExpression' && nameOf(node['callee']) === 'Date') return 'asks for the current time: Date()'
    if (node.type === 'MemberExpression') {
      const member = `${nameOf(node['object'])}.${nameOf(node['property'])}`
      return impureMembers.has(member) ? `uses ${member}` : undefined
    }
    const name = nameOf(node)
    if (name === undefined || !impureGlobals.has(name) || isOnlyALabel(node, ancestors.at(-1))) return undefined
    return `uses ${name}`
  })
}

type Judge = (node: SyntaxNode, ancestors: readonly SyntaxNode[]) => string | undefined

function scan(
  tree: SourceTree,
  files: RegExp,
  rule: string,
  judgeFor: (program: SyntaxNode) => Judge,
): readonly Violation[] {
  const violations = new Map<string, Violation>()
  for (const [file, text] of tree) {
    if (!files.test(file)) continue
    const program = parseSource(file, text)
    const judge = judgeFor(program)
    walk(program, (node, ancestors) => {
      const what = judge(node, ancestors)
      const line = lineOf(text, node.start)
      // An if with a comparison inside is one fault, not two.
      if (what !== undefined) violations.set(`${file}:${line}:${what}`, { rule, file, line, what })
    })
  }
  return [...violations.values()]
}

/** The parts of a node whose value decides what happens next. Copying, assigning and passing on are not among them. */
function decidingParts(node: SyntaxNode): readonly SyntaxNode[] {
  switch (node.type) {
    case 'IfStatement':
    case 'ConditionalExpression':
    case 'WhileStatement':
    case 'DoWhileStatement':
    case 'ForStatement':
    case 'SwitchCase':
      return nodes(node['test'])
    case 'SwitchStatement':
      return nodes(node['discriminant'])
    case 'BinaryExpression':
      return comparisons.has(String(node['operator'])) ? nodes(node['left'], node['right']) : []
    case 'LogicalExpression':
      return node['operator'] === '??' ? [] : nodes(node['left'])
    case 'UnaryExpression':
      return node['operator'] === '!' ? nodes(node['argument']) : []
    case 'MemberExpression':
      // A table indexed by it is a switch in disguise.
      return node['computed'] === true ? nodes(node['property']).filter((key) => key.type !== 'Literal') : []
    case 'CallExpression':
      return isQuestion(node) ? nodes(node['callee'], ...[node['arguments']].flat()) : []
    default:
      return []
  }
}

function isQuestion(call: SyntaxNode): boolean {
  const callee = call['callee']
  return isNode(callee) && callee.type === 'MemberExpression' && askingMethods.has(nameOf(callee['property']) ?? '')
}

function isRead(node: SyntaxNode, aliases: ReadonlySet<string>): boolean {
  if (node.type === 'Identifier') return aliases.has(String(node['name']))
  if (node.type !== 'MemberExpression') return false
  const property = node['property']
  return nameOf(property) === 'received_via' || (isNode(property) && property['value'] === 'received_via')
}

/** Names that a file gives to the value: `const via = message.received_via`, `const { received_via: via } = message`. */
function aliasesOf(program: SyntaxNode): ReadonlySet<string> {
  const names = new Set(['received_via'])
  walk(program, (node, ancestors) => {
    const init = node['init']
    if (node.type === 'VariableDeclarator' && isNode(init) && isRead(init, names)) names.add(nameOf(node['id']) ?? '')
    const isTakenApart = node.type === 'Property' && ancestors.at(-1)?.type === 'ObjectPattern'
    if (isTakenApart && nameOf(node['key']) === 'received_via') names.add(nameOf(node['value']) ?? '')
  })
  names.delete('')
  return names
}

/** Children that are evaluated: the name behind a dot or before a colon is not. */
function valuesIn(node: SyntaxNode): readonly SyntaxNode[] {
  return childrenOf(node).filter((child) => child.type !== 'Identifier' || !isOnlyALabel(child, node))
}

function isOnlyALabel(node: SyntaxNode, parent: SyntaxNode | undefined): boolean {
  if (parent === undefined) return false
  const isMember = parent.type === 'MemberExpression' && parent['property'] === node && parent['computed'] !== true
  const isKey = 'key' in parent && parent['key'] === node && parent['computed'] !== true && parent['shorthand'] !== true
  return isMember || isKey || parent.type.startsWith('TS')
}

function nameOf(node: unknown): string | undefined {
  return isNode(node) && node.type === 'Identifier' ? String(node['name']) : undefined
}

function nodes(...values: readonly unknown[]): readonly SyntaxNode[] {
  return values.filter(isNode)
}

function isEmpty(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0
}

// People read sentences of the catalogues only: a literal where one is expected does not compile (`Sentence`), and is found here.
import { describe, expect, test } from 'vitest'
import {
  lineOf,
  parseSource,
  readSources,
  report,
  type SourceTree,
  type SyntaxNode,
  type Violation,
  walk,
} from './source-tree.ts'

/** Catalogues themselves; the demo agent, whose words are its own; and the kit for tests of adapters. */
const catalogues = /^src\/(locales|testing)\/|^src\/agents\/demo-agent\.ts$|^adapters\/[^/]+\/sentences\.ts$/
/** What these say is read by agents: what came in, and how far a chain of agents may go on. */
const readByAgents = /^adapters\/[^/]+\/normalize(\.ts$|\/)|^src\/identity\/call-chain\.ts$/
const mayTell = /\b(textPart|normalizeAgentReply|joinSentences|as Sentence)\b/
/** Where what people read on channels is made. Commands, pages of the API, logs and settings speak to operators. */
const speaking =
  /^src\/(turns|outbound|identity|markdown|inbound|sessions|tasks)\/|^src\/agents\/(reply|remote-agents|paused-run)\.ts$|^src\/agents\/approvals\/|^adapters\/[^/]+\/(render|deliver|live|presence|approval-links|oauth|client)(\.ts$|\/)/

/** Calls whose words reach a person, or a transcript that is shown to one. */
const telling = new Set(['textPart', 'normalizeAgentReply', 'joinSentences'])
/** What an agent is told stands in brackets: `[file report.pdf: too large]`. */
const isNote = (text: string) => text.startsWith('[') || text.startsWith('…')
/** Three words or more, from a capital letter to the end of a sentence. */
const isSentence = (text: string) => /^["*]?[A-Z][\w'’]*,? .*\S .*[.!?:]$/s.test(text.trim()) && !/[={}<>]/.test(text)

function spokenLiterals(tree: SourceTree): readonly Violation[] {
  const found: Violation[] = []
  for (const [file, text] of tree) {
    if (catalogues.test(file) || readByAgents.test(file)) continue
    if (!speaking.test(file) && !mayTell.test(text)) continue
    const add = (node: SyntaxNode, what: string) =>
      found.push({ rule: 'sentences', file, line: lineOf(text, node.start), what })
    walk(parseSource(file, text), (node, ancestors) => {
      if (node.type === 'TSAsExpression' && typeName(node['typeAnnotation']) === 'Sentence')
        add(node, 'makes a Sentence of another text')
      const words = literalText(node)
      if (words === undefined || !/[a-z]/i.test(words)) return
      const call = ancestors.at(-1)
      const isFirst = call?.type === 'CallExpression' && (call['arguments'] as readonly unknown[])[0] === node
      if (isFirst && telling.has(calleeName(call)) && !isNote(words))
        add(node, `${calleeName(call)} is given a literal`)
      else if (speaking.test(file) && isSentence(words) && !isForOperators(ancestors))
        add(node, 'a sentence in the code')
    })
  }
  return found
}

function literalText(node: SyntaxNode): string | undefined {
  if (node.type === 'Literal') return typeof node['value'] === 'string' ? node['value'] : undefined
  if (node.type !== 'TemplateLiteral') return undefined
  const quasis = node['quasis'] as readonly { readonly value: { readonly raw: string } }[]
  return quasis.map(({ value }) => value.raw).join('…')
}

/** Errors and their remedies, and what an agent's own tools or hooks are told. */
function isForOperators(ancestors: readonly SyntaxNode[]): boolean {
  return ancestors.some(
    (each) =>
      each.type === 'ThrowStatement' || (each.type === 'NewExpression' && /(Error|Fault)$/.test(calleeName(each))),
  )
}

function calleeName(call: SyntaxNode): string {
  const callee = call['callee'] as SyntaxNode | undefined
  return typeof callee?.['name'] === 'string' ? callee['name'] : ''
}

function typeName(annotation: unknown): string {
  const name = (annotation as { readonly typeName?: { readonly name?: string } } | undefined)?.typeName?.name
  return name ?? ''
}

describe('sentences to people', () => {
  const seen = (text: string, file = 'src/turns/end-turn.ts') =>
    spokenLiterals(new Map([[file, text]])).map(({ what }) => what)

  test.each([
    ["textPart('Stopped.')", 'textPart is given a literal'],
    ['normalizeAgentReply(`Done now`, facts)', 'normalizeAgentReply is given a literal'],
    ["const stopped = 'I stopped here, as you asked.'", 'a sentence in the code'],
    ['const text = `Approved by them: go on with it.`', 'a sentence in the code'],
    ["const told = 'Stopped.' as Sentence", 'makes a Sentence of another text'],
  ])('%s is found', (text, what) => {
    expect(seen(text)).toContain(what)
  })

  test.each([
    "textPart(say('run.stopped'))",
    'textPart(content)',
    'textPart(`[file a.pdf: too large]`)',
    "throw new GatewayError('not_found', 'There is no such run; list them.')",
    "const reason = 'no_such_run'",
    '// I stopped here, as you asked.',
  ])('%s is no violation', (text) => {
    expect(seen(text)).toEqual([])
  })

  test('stand in catalogues, and nowhere else in this tree', () => {
    expect(report(spokenLiterals(readSources(['src', 'adapters'])))).toEqual([])
  })
})

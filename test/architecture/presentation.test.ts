// Names, addresses and profiles are for people's eyes: nothing in src/identity reads them.
import { describe, expect, test } from 'vitest'
import {
  isNode,
  lineOf,
  parseSource,
  readSources,
  report,
  type SourceTree,
  type SyntaxNode,
  type Violation,
  walk,
} from './source-tree.ts'

const presentation = new Set(['profile', 'display_name', 'username', 'avatar', 'provider_subject', 'address'])

/** A member that is read, by dot or by text, and one that is taken out of an object. */
function presentationViolations(tree: SourceTree): readonly Violation[] {
  const found: Violation[] = []
  for (const [file, text] of tree) {
    walk(parseSource(file, text), (node, ancestors) => {
      const name = nameRead(node, ancestors.at(-1))
      if (name === undefined || !presentation.has(name)) return
      found.push({ rule: 'no-presentation', file, line: lineOf(text, node.start), what: `reads ${name}` })
    })
  }
  return found
}

function nameRead(node: SyntaxNode, parent: SyntaxNode | undefined): string | undefined {
  if (node.type === 'MemberExpression') return textOf(node['property'])
  return node.type === 'Property' && parent?.type === 'ObjectPattern' ? textOf(node['key']) : undefined
}

function textOf(node: unknown): string | undefined {
  if (!isNode(node)) return undefined
  const text = node['name'] ?? node['value']
  return typeof text === 'string' ? text : undefined
}

describe('no-presentation', () => {
  const seen = (text: string) => presentationViolations(new Map([['src/identity/x.ts', text]])).map(({ what }) => what)

  test.each([
    ["if (sender.profile?.username === 'boss') go()", ['reads username', 'reads profile']],
    ['allow.has(sender.display_name)', ['reads display_name']],
    ["const name = sender['address']", ['reads address']],
    ['const { profile } = message.sender', ['reads profile']],
    ['function f({ display_name: name }: Sender) { return name }', ['reads display_name']],
    ['const { sender: { provider_subject } } = message', ['reads provider_subject']],
  ])('sees %s', (text, what) => {
    expect(seen(text)).toEqual(what)
  })

  test.each([
    'allow.has(evidence.subject)',
    '// the profile is never read\nconst a = 1',
    'type Shown = { readonly display_name: string }',
    "const what = 'no profile counts'",
    'mayMention(policy, participants, address)',
  ])('allows %s', (text) => {
    expect(seen(text)).toEqual([])
  })

  test('holds for identity', () => {
    expect(report(presentationViolations(readSources(['src/identity'])))).toEqual([])
  })
})

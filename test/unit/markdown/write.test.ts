// The Markdown we write: read again, by us and by a parser without our changes, it says the same.
import * as fc from 'fast-check'
import createMarkdownIt from 'markdown-it'
import { describe, expect, test } from 'vitest'
import { parseMarkdown, renderMarkdown, writeMarkdown } from '../../../src/markdown/index.ts'
import type { Block, Inline, Root } from '../../../src/markdown/tree.ts'
import { scaled } from '../../setup/scale.ts'
import { readHtml } from './read-html.ts'
import { letters, plainOf } from './shown.ts'
import { anyTree, lostWords } from './tree-arbitrary.ts'

const again = (markdown: string) => writeMarkdown(parseMarkdown(markdown))

describe('written Markdown', () => {
  test.each([
    ['# A *b*\n\n1. x\n2. y\n   - z', '# A _b_\n\n1. x\n2. y\n   - z'],
    ['* a\n* b\n\n- c', '- a\n- b\n\n* c'],
    ['**Status:**OK', '**Status:**&#79;K'],
    ['snake_case and 2 * 3 < 4 & [1] or ~5', 'snake_case and 2 \\* 3 < 4 & [1] or ~5'],
    ['\\# no, 1\\. no', '\\# no, 1. no'],
    ['1\\. no\n\\- no\n\\> no', '1\\. no  \n\\- no  \n\\> no'],
    ['a\nb', 'a  \nb'],
    ['```js\na\n````', '```js\na\n```'],
    ['~~~\n```\n~~~', '````\n```\n````'],
    ['`` a`b ``', '``a`b``'],
    ['wow\\![x](https://e.com)', 'wow\\![x](https://e.com/)'],
    ['[a\\]b](<https://e.com/(x>)', '[a\\]b](https://e.com/\\(x)'],
    ['https://e.com/a_b', '<https://e.com/a_b>'],
    ['| a\\|b |\n|:-:|\n| `c\\|d` |', '| a\\|b |\n| :-: |\n| `c\\|d` |'],
    ['- [x] **done**', '- [x] **done**'],
    ['@everyone and @ada', '&#64;everyone and @ada'],
    ['<script>&amp;lt;', '\\<script>\\&lt;'],
    ['[x](javascript:alert(1))', 'x'],
  ])('%j becomes %j', (markdown, expected) => {
    expect(again(markdown)).toBe(expected)
  })

  const bits = [
    '*',
    '**',
    '_',
    '__',
    '~~',
    '~',
    '`',
    '``',
    '```',
    '\n',
    '\n\n',
    ' ',
    '  ',
    '    ',
    'a',
    'word',
    'é',
    '😀',
    '。',
    '.',
    '!',
    '![',
    '[',
    '](',
    '](https://e.com/a(b)?x=1&y;z)',
    ')',
    '](javascript:x)',
    '<',
    '>',
    '&',
    '&amp;',
    '&#32;',
    '&nbsp;',
    '\\',
    '|',
    '\n|-|-|\n',
    '\n---\n',
    '\n- ',
    '\n  - ',
    '\n1. ',
    '\n7) ',
    '# ',
    '\n# ',
    '\n> ',
    '> > ',
    'https://e.com/x',
    '[^1]',
    '\n[^1]: ',
    '\n[x]: https://q.com\n',
    '[x]',
    '- [x] ',
    '\n```ts\n',
    '@everyone',
    '@ada',
    '1.',
    '-',
    '+',
    '=',
    '\n===\n',
    '#',
    '\t',
    ':',
    '(',
    '“',
    '”',
    '\n* ',
    '\n\n    ',
    '<https://z.de>',
    '<me@x.de>',
    '"',
  ]
  const markdown = fc
    .array(fc.oneof(fc.constantFrom(...bits), fc.string({ maxLength: 4 })), { maxLength: 30 })
    .map((parts) => parts.join(''))

  test('gives the same tree when it is read again', () => {
    const mayNotify = new Set(['@ada'])
    fc.assert(
      fc.property(markdown, (said) => {
        const tree = parseMarkdown(said, { mayNotify })
        expect(parseMarkdown(writeMarkdown(tree), { mayNotify })).toEqual(tree)
      }),
      { numRuns: scaled(1000) },
    )
  })

  test('shows the same words and links to a reader of plain CommonMark with tables', () => {
    const reader = createMarkdownIt({ html: false })
    const labels = (html: string) => letters(readHtml(html).text)
    fc.assert(
      fc.property(markdown, (said) => {
        const tree = parseMarkdown(said)
        // Boxes are an extension of their own.
        fc.pre(!/"checked":(?:true|false)/.test(JSON.stringify(tree)))
        const html = reader.render(writeMarkdown(tree))
        const marks = new Set(
          [...JSON.stringify(tree).matchAll(/"type":"(strong|emphasis|delete|inlineCode)"/g)].map(([, type]) => type),
        )
        const { used } = readHtml(html)
        const tags = { strong: 'strong', emphasis: 'em', delete: 's', inlineCode: 'code' } as const
        for (const [type, tag] of Object.entries(tags)) if (marks.has(type)) expect(used).toContain(tag)
        // The plain face numbers, bullets and adds addresses; here only what it says counts.
        expect(labels(html)).toBe(letters(wordsOf(tree)))
      }),
      { numRuns: scaled(500) },
    )
  })

  test('in pieces is within the limit where a quoted list follows links that could not be cut', () => {
    const link = (child: Inline): Inline => ({ type: 'link', url: 'https://e.example/a?b=1&c=2', children: [child] })
    const words = ' word10  word10  word10  word10 <!channel> word10  word10  word10  word10 ``` '
    const ann: Inline = { type: 'mention', name: '@ann' }
    const first = [
      ann,
      link({ type: 'inlineCode', value: words }),
      link({ type: 'text', value: ' word10 From  word10 ' }),
      link(ann),
    ]
    const paragraph = (...children: Inline[]): Block => ({ type: 'paragraph', children })
    const last = paragraph(link({ type: 'text', value: ' word0 ' }))
    const list: Block = {
      type: 'list',
      ordered: false,
      start: 0,
      children: [{ type: 'listItem', checked: null, children: [last] }],
    }
    const inner: Block = {
      type: 'blockquote',
      children: [paragraph(...first), paragraph({ type: 'text', value: ' word0 ' })],
    }
    const root: Root = { type: 'root', children: [{ type: 'blockquote', children: [inner, list] }] }
    for (const piece of renderMarkdown(root, 120)) expect(piece.length).toBeLessThanOrEqual(120)
  })

  test('in pieces is within the limit and loses no word', () => {
    fc.assert(
      fc.property(anyTree, fc.constantFrom(4000, 300, 120), (root, limit) => {
        const pieces = renderMarkdown(root, limit)
        for (const piece of pieces) expect(piece.length).toBeLessThanOrEqual(limit)
        expect(
          lostWords(
            root,
            plainOf({ type: 'root', children: pieces.flatMap((piece) => parseMarkdown(piece).children) }),
          ),
        ).toEqual([])
      }),
      { numRuns: 30 },
    )
  })
})

function wordsOf(node: object): string {
  if ('value' in node) return String(node.value)
  if ('name' in node) return String(node.name)
  return 'children' in node && Array.isArray(node.children) ? node.children.map(wordsOf).join(' ') : ' '
}

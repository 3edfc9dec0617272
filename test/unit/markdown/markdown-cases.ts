// Cases M01 to M18: Markdown as models write it, as a tree and as text with ranges.
import { expect } from 'vitest'
import { chunkTree, parseMarkdown, writeMarkdown } from '../../../src/markdown/index.ts'
import type { Case } from '../../conformance/conform.ts'
import { asHtml, fastest, piecesAsHtml, plainOf } from './shown.ts'

const text = (value: string) => ({ type: 'text', value })
const mayNotify = new Set(['@ada', '@scope'])
const html = (id: string, claim: string, markdown: string, equals: string): Case => ({
  id,
  claim,
  run: () => asHtml(markdown),
  equals,
})

export const markdownCases: readonly Case[] = [
  html('M01', 'bold with a colon before a letter is bold', '**Status:**OK', '<b>Status:</b>OK'),
  html('M02', 'bold between letters without spaces is bold, nothing added', '这是**重点**内容', '这是<b>重点</b>内容'),
  html('M02', 'bold around quotation marks too', '**“重点”**内容', '<b>“重点”</b>内容'),
  html('M03', 'bold inside a word is bold', 'mid**dle**word', 'mid<b>dle</b>word'),
  html('M04', 'marks nest', '***both*** **bold _it_**', '<b><i>both</i></b> <b>bold <i>it</i></b>'),
  html('M05', 'a heading is bold once', '## A **b** `c`', '<b>A b</b> <code>c</code>'),
  html(
    'M06',
    'nested lists keep indentation and numbers',
    '7. a\n8. b\n   - c\n     1. d\n        - e',
    '7. a\n8. b\n  • c\n    1. d\n      • e',
  ),
  html('M07', 'tasks have boxes, also before bold', '- [x] done\n- [ ] **todo**', '☑ done\n☐ <b>todo</b>'),
  html(
    'M08',
    'a table is aligned, its links listed below',
    '| a | b | c |\n|---|:-:|--:|\n| **1** | [l](https://e.com/x) | 3 |\n| 4 | 5 | 678 |',
    '<pre>a  b    c\n-  -  ---\n1  l    3\n4  5  678</pre>\n\n<a href="https://e.com/x">l</a>',
  ),
  {
    id: 'M09',
    claim: 'a table of 25 columns becomes lines of names and values',
    run() {
      const row = (cell: (column: number) => string) => `|${Array.from({ length: 25 }, (_, at) => cell(at)).join('|')}|`
      const [first = ''] = piecesAsHtml([row((at) => `h${at}`), row(() => '-'), row((at) => `v${at}`)].join('\n'))
      expect(first).toMatch(/^• h0: v0\n {2}h1: v1\n/)
      expect(first).toMatch(/h24: v24$/)
    },
  },
  html(
    'M10',
    'footnotes and reference links are resolved, the first definition counts',
    'A[^n] and [site][s].\n\n[^n]: The *note*.\n\n[s]: https://one.example/\n[s]: https://two.example/',
    'A[1] and <a href="https://one.example/">site</a>.\n\n[1] The <i>note</i>.',
  ),
  html('M10', 'what is not defined stays as it is written', 'A[^x] and [y][z]', 'A[^x] and [y][z]'),
  html(
    'M10',
    'an address nobody uses is shown, and a sentence with a colon is no definition',
    '[Answer]: yes\n\n[1]: https://e.com/a',
    '[Answer]: yes\n\n[1]: <a href="https://e.com/a">https://e.com/a</a>',
  ),
  html('M11', 'raw HTML is words', '<b>x</b><script>', '&lt;b&gt;x&lt;/b&gt;&lt;script&gt;'),
  html(
    'M12',
    'a bare address is a link as it stands',
    'see https://e.com/@user/a_b*c, and www.e.com',
    'see <a href="https://e.com/@user/a_b*c">https://e.com/@user/a_b*c</a>, and www.e.com',
  ),
  {
    id: 'M13',
    claim: 'only a name that may be called is a mention: no mail address, package, code or link',
    run: () =>
      parseMarkdown('me@ada.example @scope/name `@ada` [@ada](https://e.com) @ada @bob', { mayNotify }).children,
    equals: [
      {
        type: 'paragraph',
        children: [
          text('me@ada.example @scope/name '),
          { type: 'inlineCode', value: '@ada' },
          text(' '),
          { type: 'link', url: 'https://e.com/', children: [text('@ada')] },
          text(' '),
          { type: 'mention', name: '@ada' },
          text(' @bob'),
        ],
      },
    ],
  },
  html('M14', 'an open fence is closed', '```py\nx = 1', '<pre><code class="language-py">x = 1</code></pre>'),
  html(
    'M15',
    'the word behind a fence is cleaned',
    '```ts title="a b"\nx\n```',
    '<pre><code class="language-ts">x</code></pre>',
  ),
  html(
    'M15',
    'and kept short',
    `\`\`\`${'x"<'.repeat(40)}\ny\n\`\`\``,
    `<pre><code class="language-${'x'.repeat(32)}">y</code></pre>`,
  ),
  ...[
    '>',
    '[',
    '*',
    '_',
    '`',
    '![',
    '<a x="',
    '- ',
    '&#64;',
    '[^1]',
    '> - ',
    '|a|b|\n|-|-|\n',
    '- a\n',
    '](',
    '~~',
    '\\',
    'a*b_',
  ].map(
    (flood): Case => ({
      id: 'M16',
      claim: `100 KB of ${JSON.stringify(flood)} are read in time, nested no deeper than the cap, and no sign is lost`,
      run() {
        const markdown = flood.repeat(100_000 / flood.length)
        parseMarkdown(markdown)
        // 200 ms are meant for a machine of our own.
        expect(fastest(() => parseMarkdown(markdown))).toBeLessThan(1000)
        const tree = parseMarkdown(markdown)
        expect(depthOf(tree)).toBeLessThanOrEqual(28)
        const signs = new Set(plainOf(tree))
        expect([...flood].filter((sign) => /[a-l[\]!]/.test(sign) && !signs.has(sign))).toEqual([])
      },
    }),
  ),
  {
    id: 'M16',
    claim: 'words below 10,000 quotes, items or brackets are still there',
    run: () =>
      ['> ', '- ', '[', '1. ', '**', '*a _b '].map((mark) =>
        plainOf(parseMarkdown(`${mark.repeat(10_000)}deep words`)).endsWith('deep words'),
      ),
    equals: [true, true, true, true, true, true],
  },
  {
    id: 'M17',
    claim: 'controls, overrides and isolates are removed, half a pair is replaced, marks upon marks do no harm',
    run: () =>
      asHtml(`a\u0000\u0007b \u202ec\u2066d &#8238;e \ud800f g${'\u0301'.repeat(500)} \`x\u202ey\``).replace(
        /[\u0301\u034f]{400,}/,
        '…',
      ),
    equals: 'ab cd e \ufffdf ǵ… <code>xy</code>',
  },
  {
    id: 'M18',
    claim: 'CRLF gives the same tree and the same pieces',
    run() {
      const markdown = '# a\n\n- b\n- c\n\n```ts\nd\n\ne\n```\n\n| f | g |\n|---|---|\n| h | i |\n\nj\nk'
      const [lf, crlf] = [parseMarkdown(markdown), parseMarkdown(markdown.replaceAll('\n', '\r\n'))]
      expect(crlf).toEqual(lf)
      const fit = {
        limit: 12,
        sizeOf: (blocks: typeof lf.children) => writeMarkdown({ type: 'root', children: blocks }).length,
      }
      expect(chunkTree(crlf, fit)).toEqual(chunkTree(lf, fit))
    },
  },
]

function depthOf(node: object): number {
  const children: readonly object[] = 'children' in node && Array.isArray(node.children) ? node.children : []
  return 1 + Math.max(0, ...children.slice(0, 2000).map(depthOf))
}

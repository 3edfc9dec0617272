// Cases M01 to M18, Markdown, on blocks, and where it differs on the old markup and the Markdown field.
import { describe, expect, test } from 'vitest'
import { renderBlocks } from '../../../../../adapters/slack/render/blocks.ts'
import { renderMarkdownText, renderMrkdwn } from '../../../../../adapters/slack/render/mrkdwn.ts'
import type { Json, JsonObject } from '../../../../../src/lib/json-value.ts'
import { parseMarkdown } from '../../../../../src/markdown/index.ts'
import { nodesIn, refusals } from './acceptable-blocks.ts'

const blocksOf = (markdown: string) => renderBlocks(parseMarkdown(markdown)).flatMap(({ blocks }) => blocks)
const mrkdwn = (markdown: string) => renderMrkdwn(parseMarkdown(markdown), 3000).join('\n')
const words = (text: string, ...marks: readonly string[]) =>
  marks.length === 0
    ? { type: 'text', text }
    : { type: 'text', text, style: Object.fromEntries(marks.map((mark) => [mark, true])) }
const link = (url: string, text: string) => ({ type: 'link', url, text })
const leaves = (markdown: string) =>
  nodesIn(blocksOf(markdown)).filter(({ type, text }) => typeof text === 'string' && type !== 'plain_text')

type Case = {
  readonly id: string
  readonly markdown: string
  readonly blocks: readonly JsonObject[]
  readonly mrkdwn: string
}

const cases: readonly Case[] = [
  { id: 'M01', markdown: '**Status:**OK', blocks: [words('Status:', 'bold'), words('OK')], mrkdwn: '*Status:* OK' },
  {
    id: 'M02',
    markdown: '这是**重点**内容',
    blocks: [words('这是'), words('重点', 'bold'), words('内容')],
    mrkdwn: '这是重点内容',
  },
  {
    id: 'M03',
    markdown: 'mid**dle**word',
    blocks: [words('mid'), words('dle', 'bold'), words('word')],
    mrkdwn: 'middleword',
  },
  {
    id: 'M04',
    markdown: '***both*** **bold _it_**',
    blocks: [words('both', 'italic', 'bold'), words(' '), words('bold ', 'bold'), words('it', 'bold', 'italic')],
    mrkdwn: '_*both*_ *bold _it_*',
  },
  {
    id: 'M07',
    markdown: '- [x] done\n- [ ] open',
    blocks: [words('☑ '), words('done'), words('☐ '), words('open')],
    mrkdwn: '• ☑ done\n• ☐ open',
  },
  {
    id: 'M10',
    markdown: 'See [it][a] and [^1].\n\n[a]: https://a.example\n[a]: https://b.example\n[^1]: a note',
    blocks: [words('See '), link('https://a.example/', 'it'), words(' and [1].'), words('\n\n'), words('[1] a note')],
    mrkdwn: 'See <https://a.example/|it> and [1].\n\n[1] a note',
  },
  {
    id: 'M11',
    markdown: '<b>x</b><script>',
    blocks: [words('<b>x</b><script>')],
    mrkdwn: '&lt;b&gt;x&lt;/b&gt;&lt;script&gt;',
  },
  {
    id: 'M12',
    markdown: 'https://e.com/@user/a_b*c',
    blocks: [link('https://e.com/@user/a_b*c', 'https://e.com/@user/a_b*c')],
    mrkdwn: '<https://e.com/@user/a_b*c>',
  },
  {
    id: 'M13',
    markdown: 'Write `@scope/name`, @scope/name or me@example.com',
    blocks: [words('Write '), words('@scope/name', 'code'), words(', @scope/name or me@example.com')],
    mrkdwn: 'Write `@scope/name`, @scope/name or me@example.com',
  },
]

describe.each(cases)('$id', ({ markdown, blocks, mrkdwn: expected }) => {
  test('as blocks', () => expect(leaves(markdown)).toEqual(blocks))
  test('in the old markup', () => expect(mrkdwn(markdown)).toBe(expected))
})

describe('M05', () => {
  test('a heading with bold and code is one header without marks', () => {
    expect(blocksOf('# The **bold** `code`')).toEqual([
      { type: 'header', text: { type: 'plain_text', text: 'The bold code', emoji: false } },
    ])
    expect(mrkdwn('# The **bold** `code`')).toBe('*The bold `code`*')
  })

  test.each([`# ${'long '.repeat(40)}`, '# With a [link](https://e.example)', '#### Deep'])(
    'what a header cannot hold is bold text: %s',
    (markdown) => {
      const [block] = blocksOf(markdown)
      expect(block?.['type']).toBe('rich_text')
      expect(leaves(markdown).every(({ style }) => JSON.stringify(style) === '{"bold":true}')).toBe(true)
    },
  )
})

test('M06 four levels keep their indent, and numbers go on after what stands between them', () => {
  const markdown = '7. a\n   - b\n     1. c\n        - d\n8. e\n\n   ```\n   code\n   ```\n9. f'
  const lists = nodesIn(blocksOf(markdown)).filter(({ type }) => type === 'rich_text_list')
  expect(lists.map(({ style, indent, offset }) => [style, indent, offset])).toEqual([
    ['ordered', 0, 6],
    ['bullet', 1, undefined],
    ['ordered', 2, undefined],
    ['bullet', 3, undefined],
    ['ordered', 0, 7],
    ['ordered', 0, 8],
  ])
  expect(mrkdwn(markdown)).toBe('7. a\n    • b\n        1. c\n            • d\n8. e\n    ```\n    code\n    ```\n9. f')
  expect(mrkdwn('0. zero\n1. one')).toBe('0. zero\n1. one')
  expect(leaves('0. zero\n1. one')).toEqual([words('0. '), words('zero'), words('1. '), words('one')])
})

test('M08 a table with bold and links is the platform’s own, aligned text in the old markup', () => {
  const markdown = '| A | B | C |\n|:--|:-:|--:|\n| **b** | [x](https://x.example) | 1 |\n| 中文 | y | 22 |'
  const [table] = blocksOf(markdown)
  expect(table?.['column_settings']).toEqual(['left', 'center', 'right'].map((align) => ({ align, is_wrapped: true })))
  expect(leaves(markdown)).toContainEqual(link('https://x.example/', 'x'))
  expect(leaves(markdown)).toContainEqual(words('b', 'bold'))
  expect(mrkdwn(markdown)).toBe('```\nA     B   C\n----  -  --\nb     x   1\n中文  y  22\n```\n<https://x.example/|x>')
})

test('M09 a table of 25 columns becomes text that is accepted', () => {
  const row = (cell: string) => `|${` ${cell} |`.repeat(25)}`
  const messages = renderBlocks(parseMarkdown([row('h'), row('---'), row('x')].join('\n')))
  expect(messages.flatMap(refusals)).toEqual([])
  const types = nodesIn(messages.flatMap(({ blocks }) => blocks)).map(({ type }) => type)
  expect(types).toContain('rich_text_preformatted')
  expect(types).not.toContain('table')
})

test('M14 M15 a fence that was never closed is closed, its language plain', () => {
  const root = parseMarkdown('```js title="a b"\nlet a = `1 < 2`')
  expect(renderMarkdownText(root)).toEqual(['```js\nlet a = `1 < 2`\n```'])
  expect(renderMrkdwn(root, 3000)).toEqual(['```\nlet a = `1 &lt; 2`\n```'])
})

test.each(['>', '[', '*', '- '])('M16 ten thousand %j are bounded in time and depth', (mark) => {
  const root = parseMarkdown(`${mark.repeat(10_000)}x`)
  const started = process.cpuUsage().user / 1000
  const messages = renderBlocks(root)
  // The bound of the case is 200 ms for parsing and rendering; a loaded machine gets ten times that.
  expect(process.cpuUsage().user / 1000 - started).toBeLessThan(2000)
  expect(messages.flatMap(refusals)).toEqual([])
})

test('M17 control characters and overrides are gone, broken pairs replaced', () => {
  const text = JSON.stringify(blocksOf(`a\u0000b\u202ec\ud800d${'\u0301'.repeat(500)}`))
  expect(text).toContain('abc\ufffdd')
  expect(text).not.toMatch(/\\u0000|\u202e/)
})

test('M18 line ends of either kind give the same messages', () => {
  const markdown = '# a\n\n- b\n- c\n\n```\nd\n```\n'
  expect(renderBlocks(parseMarkdown(markdown.replaceAll('\n', '\r\n')))).toEqual(renderBlocks(parseMarkdown(markdown)))
})

test('quotes keep lists and code beside their bar', () => {
  const elements = (blocksOf('> said\n>\n> - item\n>\n> ```\n> code\n> ```')[0] as { elements?: Json } | undefined)
    ?.elements
  expect(elements).toEqual([
    { type: 'rich_text_quote', elements: [words('said')] },
    {
      type: 'rich_text_list',
      style: 'bullet',
      indent: 0,
      elements: [{ type: 'rich_text_section', elements: [words('item')] }],
      border: 1,
    },
    { type: 'rich_text_preformatted', elements: [words('code')], border: 1 },
  ])
})

test('somebody who may be notified is called by their id, anybody else is a name', () => {
  const root = parseMarkdown('Ask @ann and @bob', { mayNotify: new Set(['@ann', '@bob']) })
  const options = { userIdOf: (name: string) => ({ '@ann': 'U0ANN', '@bob': 'U1>|<!channel' })[name] }
  expect(nodesIn(renderBlocks(root, options)[0]?.blocks ?? []).filter(({ type }) => type === 'user')).toEqual([
    { type: 'user', user_id: 'U0ANN' },
  ])
  expect(renderMrkdwn(root, 3000, options)).toEqual(['Ask <@U0ANN> and @bob'])
  expect(renderMarkdownText(root, 12_000, options)).toEqual(['Ask <@U0ANN> and @bob'])
  expect(renderMrkdwn(root, 3000)).toEqual(['Ask @ann and @bob'])
})

test('words that look like the characters behind a token are not one', () => {
  expect(renderMarkdownText(parseMarkdown('\ue000U0ANN\ue002 `\ue001channel\ue002`'))).toEqual(['U0ANN `channel`'])
})

test.each([
  ['\\*not bold\\* and 2 * 3 * 4', '*\u200bnot bold* and 2 * 3 * 4'],
  ['snake_case_name and \\_x\\_', 'snake_case_name and _\u200bx_'],
  ['a \\`b\\` c', 'a ˋbˋ c'],
  ['\\> no quote', '\u200b&gt; no quote'],
  ['``a`b``', '`aˋb`'],
])('words that look like marks stay words in the old markup: %s', (markdown, expected) => {
  expect(mrkdwn(markdown)).toBe(expected)
})

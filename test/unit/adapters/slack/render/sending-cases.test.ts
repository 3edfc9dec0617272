// Cases S70 to S77: what reaches the platform is what it accepts, and notifies no person it should not.
import { describe, expect, test } from 'vitest'
import { renderBlocks } from '../../../../../adapters/slack/render/blocks.ts'
import { renderMarkdownText, renderMrkdwn } from '../../../../../adapters/slack/render/mrkdwn.ts'
import { parseMarkdown } from '../../../../../src/markdown/index.ts'
import { nodesIn, refusals, wordsIn } from './acceptable-blocks.ts'

const paragraphs = (length: number) => {
  const one = `${'word '.repeat(19)}end.`
  const count = Math.ceil((length + 2) / (one.length + 2))
  return Array.from({ length: count }, () => one)
    .join('\n\n')
    .slice(0, length)
}
const blocksOf = (markdown: string, options = {}) => renderBlocks(parseMarkdown(markdown), options)
const wordsOf = (markdown: string) => wordsIn(blocksOf(markdown).flatMap(({ blocks }) => blocks))
const nodesOf = (markdown: string, options = {}) => nodesIn(blocksOf(markdown, options).flatMap(({ blocks }) => blocks))

describe('S70', () => {
  test('11,900 characters of Markdown are one post', () => {
    const markdown = paragraphs(11_900)
    expect(markdown).toHaveLength(11_900)
    expect(renderMarkdownText(parseMarkdown(markdown))).toEqual([markdown])
  })

  test('12,100 are two, cut between two blocks', () => {
    const markdown = paragraphs(12_100)
    const pieces = renderMarkdownText(parseMarkdown(markdown))
    expect(pieces).toHaveLength(2)
    expect(pieces.join('\n\n')).toBe(markdown)
  })
})

describe('S71', () => {
  const markdown =
    'Hello <!channel> <!here> <!everyone> <@U0123> <!subteam^S1> @channel @here @everyone `<!channel>` bob@here.com'

  test('blocks show broadcasts as words', () => {
    const nodes = nodesOf(markdown)
    expect(nodes.filter(({ type }) => type === 'broadcast' || type === 'user')).toEqual([])
    expect(wordsOf(markdown)).toContain(
      '<!channel> <!here> <!everyone> <@U0123> <!subteam^S1> @channel @here @everyone',
    )
  })

  test('the old markup escapes them, in code as well', () => {
    const [text = ''] = renderMrkdwn(parseMarkdown(markdown), 3000)
    expect(text).not.toMatch(/[<>]|(?<![a-z])@(?:channel|here|everyone)/)
    expect(text).toContain('bob@here.com')
    expect(text).toContain('&lt;!channel&gt; &lt;!here&gt; &lt;!everyone&gt; &lt;@U0123&gt;')
    expect(text).toContain('`&lt;!channel&gt;`')
  })

  test('the Markdown field breaks them, also where a backslash would not count', () => {
    const [text = ''] = renderMarkdownText(parseMarkdown(markdown))
    expect(text).not.toMatch(/<[!@]|(?<![a-z])@(?:channel|here|everyone)/)
    expect(text).toContain('&lt;!channel>')
    expect(text).toContain('bob@here.com')
  })

  test('a grant sends one as a broadcast, and only as it is written for that', () => {
    const options = { broadcasts: true }
    expect(
      nodesOf('# To <!channel>\n\nand @here `<!here>`', options).filter(({ type }) => type === 'broadcast'),
    ).toEqual([{ type: 'broadcast', range: 'channel' }])
    expect(renderMrkdwn(parseMarkdown('Hi <!channel>, not `<!here>`'), 3000, options)).toEqual([
      'Hi <!channel>, not `&lt;!here&gt;`',
    ])
    expect(renderMarkdownText(parseMarkdown('Hi <!channel>, not <@U1>'), 12_000, options)).toEqual([
      'Hi <!channel>, not &lt;@U1>',
    ])
  })
})

test('S72 an address that runs a program leaves its label and no link', () => {
  const markdown = '[pay](javascript:alert(1))'
  expect(nodesOf(markdown).filter(({ type }) => type === 'link')).toEqual([])
  expect(wordsOf(markdown)).toBe('pay')
  expect(renderMrkdwn(parseMarkdown(markdown), 3000)).toEqual(['pay'])
  expect(renderMarkdownText(parseMarkdown(markdown))).toEqual(['pay'])
})

test('S73 a label with | and > stays whole and its address too', () => {
  const markdown = '[a|b>c](https://e.example/x|y?q=%3E&z=1)'
  expect(nodesOf(markdown).filter(({ type }) => type === 'link')).toEqual([
    { type: 'link', url: 'https://e.example/x|y?q=%3E&z=1', text: 'a|b>c' },
  ])
  expect(renderMrkdwn(parseMarkdown(markdown), 3000)).toEqual(['<https://e.example/x%7Cy?q=%3E&amp;z=1|a¦b&gt;c>'])
})

test('S74 sixty blocks become messages of at most fifty, each with a text', () => {
  const markdown = Array.from({ length: 30 }, (_, index) => `# Title ${index}\n\n---`).join('\n\n')
  const messages = blocksOf(markdown)
  expect(messages.map(({ blocks }) => blocks.length)).toEqual([50, 10])
  expect(messages.flatMap(refusals)).toEqual([])
  expect(messages.map(({ text }) => text.startsWith('*Title'))).toEqual([true, true])
})

test('S75 blocks of 13,500 characters are split before they are sent', () => {
  const messages = blocksOf(paragraphs(13_500))
  expect(messages.length).toBe(2)
  expect(messages.flatMap(refusals)).toEqual([])
})

test('S76 an empty cell is a single space', () => {
  const [table] = nodesOf('| a | b |\n|---|---|\n|  | x |').filter(({ type }) => type === 'table')
  expect(table?.['rows']).toEqual([['a', 'b'].map((text) => cell(text)), [' ', 'x'].map((text) => cell(text))])
})

test.each(['', '   \n\n ', '\u200b'])('S77 nothing is posted for %j', (markdown) => {
  const root = parseMarkdown(markdown)
  expect([renderBlocks(root), renderMrkdwn(root, 3000), renderMarkdownText(root)]).toEqual([[], [], []])
})

function cell(text: string) {
  return { type: 'rich_text', elements: [{ type: 'rich_text_section', elements: [{ type: 'text', text }] }] }
}

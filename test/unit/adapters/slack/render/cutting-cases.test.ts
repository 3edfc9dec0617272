// Cases C01 to C11, cutting, on blocks and on the two texts beside them.
import { describe, expect, test } from 'vitest'
import { renderBlocks } from '../../../../../adapters/slack/render/blocks.ts'
import { renderMarkdownText, renderMrkdwn } from '../../../../../adapters/slack/render/mrkdwn.ts'
import { parseMarkdown } from '../../../../../src/markdown/index.ts'
import { nodesIn, refusals, wordsIn } from './acceptable-blocks.ts'

const messagesOf = (markdown: string) => {
  const messages = renderBlocks(parseMarkdown(markdown))
  expect(messages.flatMap(refusals)).toEqual([])
  return messages
}
const filler = (length: number) =>
  'word '
    .repeat(Math.ceil(length / 5))
    .slice(0, length)
    .trim()

describe('C01', () => {
  const lines = Array.from({ length: 800 }, (_, index) => `line ${index} of the code ;`)
  const markdown = `\`\`\`ts\n${lines.join('\n')}\n\`\`\``

  test('20 KB of code are parts of whole lines', () => {
    const messages = messagesOf(markdown)
    expect(messages.length).toBeGreaterThan(1)
    const parts = messages
      .flatMap(({ blocks }) => nodesIn(blocks))
      .filter(({ type }) => type === 'rich_text_preformatted')
    expect(parts.map((part) => wordsIn(part)).join('\n')).toBe(lines.join('\n'))
  })

  test('in the Markdown field each part has its fences and its language', () => {
    const pieces = renderMarkdownText(parseMarkdown(markdown))
    expect(pieces.every((piece) => piece.startsWith('```ts\n') && piece.endsWith('\n```'))).toBe(true)
    expect(pieces.map((piece) => piece.slice(6, -4)).join('\n')).toBe(lines.join('\n'))
  })
})

test('C02 one line of 9,000 characters is cut where no character is', () => {
  const line = '👩‍👩‍👧‍👦x'.repeat(750)
  const pieces = renderMrkdwn(parseMarkdown(`\`\`\`\n${line}\n\`\`\``), 3000)
  const parts = pieces.map((piece) => piece.slice(4, -4))
  expect(pieces.every((piece) => piece.length <= 3000)).toBe(true)
  expect(parts.join('')).toBe(line)
  expect(parts.every((part) => /^(?:👩‍👩‍👧‍👦|x)/u.test(part))).toBe(true)
})

test('C03 a bold passage over the limit is bold in both', () => {
  const messages = messagesOf(`**${filler(14_000)}**`)
  expect(messages.length).toBe(2)
  const leaves = messages.flatMap(({ blocks }) => nodesIn(blocks)).filter(({ type }) => type === 'text')
  expect(leaves.every(({ style }) => JSON.stringify(style) === '{"bold":true}')).toBe(true)
})

test('C04 a link over the limit goes whole into the next', () => {
  const messages = messagesOf(`${filler(11_990)} [a label of some words](https://e.example/)`)
  const links = messages.map(({ blocks }) => nodesIn(blocks).filter(({ type }) => type === 'link'))
  expect(links.map((each) => each.map(({ text }) => text))).toEqual([[], ['a label of some words']])
})

test('C05 a family and a flag at the limit are not split', () => {
  for (let length = 11_975; length <= 12_000; length += 1) {
    const words = messagesOf(`${'x'.repeat(length)}👩‍👩‍👧‍👦🇩🇪`).map(({ blocks }) => wordsIn(blocks))
    expect(words.some((text) => text.includes('👩‍👩‍👧‍👦'))).toBe(true)
    expect(words.some((text) => text.includes('🇩🇪'))).toBe(true)
  }
})

test('C06 numbers go on in the next message', () => {
  const items = Array.from({ length: 12 }, (_, index) => `${index + 1}. ${filler(1200)}`)
  const messages = messagesOf(items.join('\n'))
  const lists = messages.flatMap(({ blocks }) => nodesIn(blocks)).filter(({ type }) => type === 'rich_text_list')
  const counts = lists.map(({ offset, elements }) => [offset ?? 0, Array.isArray(elements) ? elements.length : 0])
  expect(counts).toHaveLength(2)
  expect(counts[1]?.[0]).toBe(counts[0]?.[1])
})

test('C07 two hundred rows repeat their header', () => {
  const rows = Array.from({ length: 200 }, (_, index) => `| row${index} | x |`)
  const messages = messagesOf(['| Name | Value |', '|---|---|', ...rows].join('\n'))
  expect(messages.length).toBeGreaterThan(1)
  const words = messages.map(({ blocks }) => wordsIn(blocks))
  expect(words.every((text) => text.startsWith('Name Value row'))).toBe(true)
  expect(words.join(' ').match(/row\d+/g)).toEqual(rows.map((_, index) => `row${index}`))
})

test('C08 a heading before the limit goes on with what it is the heading of', () => {
  const messages = messagesOf(`${filler(11_900)}\n\n# Heading\n\n${filler(500)}`)
  expect(messages.map(({ blocks }) => blocks.map(({ type }) => type))).toEqual([['rich_text'], ['header', 'rich_text']])
})

test('a second table starts a message of its own with its heading', () => {
  const table = '| a | b |\n|---|---|\n| 1 | 2 |'
  const messages = messagesOf(`${table}\n\ntext\n\n# Second\n\n${table}`)
  expect(messages.map(({ blocks }) => blocks.map(({ type }) => type))).toEqual([
    ['table', 'rich_text'],
    ['header', 'table'],
  ])
})

test('C09 the same input gives the same bytes', () => {
  const markdown = `# a\n\n${filler(9000)}\n\n- ${filler(9000)}\n\n\`\`\`\n${filler(9000)}\n\`\`\``
  expect(JSON.stringify(messagesOf(markdown))).toBe(JSON.stringify(messagesOf(markdown)))
})

test.each(['   ', '![](https://e.example/a.png)', '---'])('C10 no message is blank: %j', (markdown) => {
  for (const { text } of messagesOf(markdown)) expect(text.trim()).not.toBe('')
})

test('C11 a limit of one character ends', () => {
  const pieces = renderMrkdwn(parseMarkdown('# ab\n\n- **c** & `d`'), 1)
  expect(pieces.join('').replaceAll('&amp;', '&')).toMatch(/a.*b.*c.*&.*d/)
})

describe('the text beside the blocks', () => {
  const textOf = (markdown: string) => messagesOf(markdown).map(({ text }) => text)

  test('is the same words where they are short', () => {
    expect(textOf('# Hi\n\n**you** & [me](https://e.example/)')).toEqual([
      '*Hi*\n\n*you* &amp; <https://e.example/|me>',
    ])
  })

  test('is the beginning of them where they are long, with no token torn', () => {
    for (let length = 2940; length < 3000; length += 1) {
      const [text = ''] = textOf(`${'x'.repeat(length)}[a](https://e.example/path)<<<<<<<< ${filler(200)}`)
      expect(text.length).toBeLessThanOrEqual(3000)
      expect(text).toMatch(/ …$/)
      expect(text.replace(/<https:\/\/e\.example\/path\|a>|&lt;/g, '')).not.toMatch(/[<>&]/)
    }
  })
})

test.each(['*a', '(* ', '[', '<!channel> ', '`', '| '])(
  '100 KB of %j take time that grows with their length',
  (mark) => {
    const timeOf = (length: number) => {
      const root = parseMarkdown(mark.repeat(length / mark.length))
      const started = process.cpuUsage().user / 1000
      const messages = renderBlocks(root)
      const time = process.cpuUsage().user / 1000 - started
      expect(messages.flatMap(refusals)).toEqual([])
      return time
    }
    timeOf(20_000)
    // Five times as long; quadratic would be twenty-five times the time.
    expect(timeOf(100_000)).toBeLessThan(Math.max(500, timeOf(20_000) * 15))
  },
)

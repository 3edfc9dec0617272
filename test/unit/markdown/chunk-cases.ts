// Cases C01 to C11: cutting on the tree, measured as text with ranges.
import { expect } from 'vitest'
import { renderEntityPieces } from '../../../adapters/telegram/render/entities.ts'
import { parseMarkdown, renderMarkdown } from '../../../src/markdown/index.ts'
import type { Case } from '../../conformance/conform.ts'
import { piecesAsHtml } from './shown.ts'

const family = '👩‍👩‍👧‍👦'
const flag = '🇩🇪'
const pieces = (markdown: string, limit: number) =>
  renderEntityPieces(parseMarkdown(markdown), { limit, maxRanges: 100, maxBytes: 32_768 })
const texts = (markdown: string, limit: number) => pieces(markdown, limit).map(({ text }) => text)

export const chunkCases: readonly Case[] = [
  {
    id: 'C01',
    claim: '20 KB of code come in fenced parts of the same language, no line lost',
    run() {
      const lines = Array.from({ length: 700 }, (_, index) => `  line ${index} of some code();`)
      const parts = renderMarkdown(parseMarkdown(['```ts', ...lines, '```'].join('\n')), 4000)
      expect(parts.length).toBeGreaterThan(4)
      for (const part of parts) expect(part).toMatch(/^```ts\n[^`]*\n```$/)
      expect(parts.flatMap((part) => part.split('\n').slice(1, -1))).toEqual(lines)
    },
  },
  {
    id: 'C02',
    claim: 'a line of 9,000 characters of code is cut between characters',
    run() {
      const line = `${family}x`.repeat(750)
      const parts = pieces(`\`\`\`\n${line}\n\`\`\``, 1000)
      expect(parts.map(({ text }) => text).join('')).toBe(line)
      for (const { text, entities } of parts) {
        expect(text.replaceAll(family, '').replaceAll('x', '')).toBe('')
        expect(entities).toEqual([{ type: 'pre', offset: 0, length: text.length }])
      }
    },
  },
  {
    id: 'C03',
    claim: 'bold across the limit is bold on both sides',
    run: () => piecesAsHtml(`**${'word '.repeat(6)}end**`, { limit: 16 }),
    equals: ['<b>word word word</b>', '<b>word word word</b>', '<b>end</b>'],
  },
  {
    id: 'C04',
    claim: 'a link whose label crosses the limit moves whole',
    run: () => piecesAsHtml('Some words before [the label of it](https://e.com/x) after', { limit: 30 }),
    equals: ['Some words before', '<a href="https://e.com/x">the label of it</a> after'],
  },
  {
    id: 'C04',
    claim: 'code in a sentence moves whole too, unless it is longer than a message',
    run: () => [
      ...piecesAsHtml('Please run `npm install` now', { limit: 20 }),
      ...piecesAsHtml(`x \`${'y'.repeat(25)}\``, { limit: 20 }),
    ],
    equals: [
      'Please run',
      '<code>npm install</code> now',
      'x',
      `<code>${'y'.repeat(20)}</code>`,
      `<code>${'y'.repeat(5)}</code>`,
    ],
  },
  {
    id: 'C05',
    claim: 'families and flags at the limit are not split',
    run() {
      const parts = texts(`${family}${flag}`.repeat(40), 33)
      expect(parts.join('')).toBe(`${family}${flag}`.repeat(40))
      for (const part of parts) expect(part.replaceAll(family, '').replaceAll(flag, '')).toBe('')
    },
  },
  {
    id: 'C06',
    claim: 'a list cut after item 9 goes on with 10',
    run() {
      const list = Array.from({ length: 20 }, (_, index) => `${index + 1}. item`).join('\n')
      expect(texts(list, 72).map((part) => part.split('\n')[0])).toEqual(['1. item', '10. item', '18. item'])
    },
  },
  {
    id: 'C06',
    claim: 'nested items move with theirs, and what is left of a long item has no second number',
    run: () => [
      ...texts('1. one\n2. two\n   - deep\n   - deeper\n3. three', 28),
      ...texts('1. one two three four five\n2. six', 16),
    ],
    equals: ['1. one', '2. two\n  • deep\n  • deeper', '3. three', '1. one two three', 'four five', '2. six'],
  },
  {
    id: 'C07',
    claim: 'a table of 200 rows repeats its header',
    run() {
      const rows = Array.from({ length: 200 }, (_, index) => `| row ${index} | value |`)
      const parts = texts(['| name | what |', '|---|---|', ...rows].join('\n'), 500)
      for (const part of parts) expect(part).toMatch(/^name +what\n-+ +-+\nrow/)
      expect(parts.join('\n').match(/^row \d+/gm)).toHaveLength(200)
    },
  },
  {
    id: 'C07',
    claim: 'a row longer than a message becomes lines of names and values',
    run() {
      const parts = texts(`| a | b |\n|---|---|\n| ${'x '.repeat(40)} | y |`, 50)
      expect(parts[0]).toMatch(/^• a: x x/)
      expect(parts.at(-1)).toMatch(/b: y$/)
    },
  },
  {
    id: 'C08',
    claim: 'a heading before the limit moves to what it stands above',
    run: () => piecesAsHtml('Some first words\n\n## Title\n\nmore words here', { limit: 28 }),
    equals: ['Some first words', '<b>Title</b>\n\nmore words here'],
  },
  {
    id: 'C09',
    claim: 'the same text gives the same pieces',
    run() {
      const markdown = `# a\n\n${'Some **bold** words. '.repeat(80)}\n\n- x\n- y\n\n\`\`\`\n${'code\n'.repeat(90)}\`\`\``
      expect(JSON.stringify(pieces(markdown, 200))).toBe(JSON.stringify(pieces(markdown, 200)))
    },
  },
  {
    id: 'C10',
    claim: 'white space is no message, and a picture is its description or its address',
    run: () =>
      ['', ' \n\t\n ', '\u200b', '***', '![](https://e.com/a.png)', '![A cat](cat.png)', '![](cat.png)'].map((said) =>
        texts(said, 100),
      ),
    equals: [[], [], [], [], ['https://e.com/a.png'], ['A cat'], ['cat.png']],
  },
  {
    id: 'C11',
    claim: 'a limit of one ends',
    run: () => texts('# a\n\n- b😀\n\n> `c`\n\n| d |\n|---|\n| e |', 1).join(''),
    equals: 'ab😀cd:e',
  },
]

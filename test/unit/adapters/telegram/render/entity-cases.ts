// Cases T50 to T55, T66 and T67: what goes out as text with ranges.
import { expect } from 'vitest'
import { entitiesHtml, renderEntityPieces } from '../../../../../adapters/telegram/render/entities.ts'
import { parseMarkdown, plainTree, type Root } from '../../../../../src/markdown/index.ts'
import type { Case } from '../../../../conformance/conform.ts'
import { readHtml } from '../../../markdown/read-html.ts'
import { asHtml, piecesAsHtml } from '../../../markdown/shown.ts'

const limits = { limit: 4096, maxRanges: 100, maxBytes: 32_768 }
const sizes = (root: Root) => renderEntityPieces(root, limits).map(({ text }) => text.length)
const punctuation = '!"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~'

export const entityCases: readonly Case[] = [
  {
    id: 'T50',
    claim: '4096 letters are one message, 4097 two, and no pair is split',
    run: () =>
      ['x'.repeat(4096), 'x'.repeat(4097), '😀'.repeat(2048), '😀'.repeat(4096)].map((said) =>
        sizes(parseMarkdown(said)),
      ),
    equals: [[4096], [4096, 1], [4096], [4096, 4096]],
  },
  {
    id: 'T51',
    claim: 'thousands of angle brackets are text, and bytes are counted as well',
    run() {
      expect(renderEntityPieces(parseMarkdown('<'.repeat(3000)), limits)).toEqual([
        { text: '<'.repeat(3000), entities: [] },
      ])
      const parts = renderEntityPieces(plainTree('字'.repeat(9000)), { limit: 10_000, maxRanges: 100, maxBytes: 9000 })
      expect(parts.map(({ text }) => text).join('')).toBe('字'.repeat(9000))
      for (const { text } of parts) expect(new TextEncoder().encode(text).length).toBeLessThanOrEqual(9000)
    },
  },
  {
    id: 'T52',
    claim: '150 ranges are spread over messages and no link is lost',
    run() {
      const links = Array.from({ length: 150 }, (_, index) => `[l${index}](https://e.com/${index})`)
      const parts = renderEntityPieces(parseMarkdown(links.join(' ')), limits)
      expect(parts.length).toBeGreaterThan(1)
      for (const { entities } of parts) expect(entities.length).toBeLessThanOrEqual(100)
      const urls = parts.flatMap(({ entities }) =>
        entities.flatMap((each) => (each.type === 'text_link' ? [each.url] : [])),
      )
      expect(urls).toEqual(links.map((_, index) => `https://e.com/${index}`))
    },
  },
  {
    id: 'T53',
    claim: 'every ASCII punctuation goes out verbatim, also as HTML',
    run() {
      const [piece] = renderEntityPieces(plainTree(`a ${punctuation} b`), limits)
      expect(piece).toEqual({ text: `a ${punctuation} b`, entities: [] })
      expect(readHtml(entitiesHtml({ text: `a ${punctuation} b`, entities: [] })).text).toBe(`a ${punctuation} b`)
      const escaped = punctuation.replace(/./g, '\\$&')
      expect(renderEntityPieces(parseMarkdown(`a ${escaped} b`), limits)).toEqual([piece])
    },
  },
  {
    id: 'T54',
    claim: 'code with backticks and tags is verbatim',
    run: () => renderEntityPieces(parseMarkdown('````\n```\n</code>\n````'), limits),
    equals: [{ text: '```\n</code>', entities: [{ type: 'pre', offset: 0, length: 11 }] }],
  },
  {
    id: 'T55',
    claim: 'quotes in quotes, lists in quotes and code in lists are readable, quotes never nested',
    run: () => asHtml('> a\n> > b\n>\n> - c\n>   ```\n>   d\n>   ```\n>\n> e `f`'),
    equals: '<blockquote>a\n\n&gt; b\n\n• c\n<pre>d</pre>\n\ne <code>f</code></blockquote>',
  },
  {
    id: 'T66',
    claim: 'commands and names cannot be tapped, wherever marks stand in them',
    run: () => ['/delete_all **@ad**min', '`@admin` [@x1](https://e.com) a@b.example'].map(asHtml),
    equals: [
      '<code>/delete_all</code> <code>@admin</code>',
      '<code>@admin</code> <a href="https://e.com/">@x1</a> a@b.example',
    ],
  },
  {
    id: 'T67',
    claim: 'a picture is a link that nobody follows by himself',
    run: () => piecesAsHtml('![A cat](https://beacon.example/p.png) [![x](https://a.example/i)](https://b.example)'),
    equals: ['<a href="https://beacon.example/p.png">A cat</a> <a href="https://b.example/">x</a>'],
  },
]

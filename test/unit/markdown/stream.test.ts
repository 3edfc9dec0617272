// A text that is still growing: nothing flashes, and nothing that was sealed changes.
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Block, type Fit, parseMarkdown, sealChunks, streamTree } from '../../../src/markdown/index.ts'
import { letters, plainOf } from './shown.ts'

const answer = `# A title

Some **bold text**, *italic*, \`code\` and [a link](https://e.com/x) with ~~gone~~ words.
***Both*** ![picture](https://e.com/p.png) &amp; done, snake_case too. 👩‍👩‍👧

- one **b**
- two
  - nested \`x\`

1. first
1. second
1. third

| a | b |
|---|---|
| 1 | **2** |

\`\`\`ts
const a = 1

const b = 2
\`\`\`

> quoted **words**
`

const shown = (text: string) => plainOf(streamTree(text, { isFinal: false }))
const prefixes = (text: string) => Array.from({ length: text.length + 1 }, (_, end) => text.slice(0, end))

describe('a growing text', () => {
  test('never shows a mark that will vanish, a half link, a half row or a half fence', () => {
    const flashes = prefixes(answer).filter((prefix) => /\*|\[|\]|~~|`|\||amp|#|!/.test(shown(prefix)))
    expect(flashes.map((prefix) => `${prefix.slice(-20)} => ${shown(prefix).slice(-20)}`)).toEqual([])
  })

  test.each([
    ['bold', 'a **bo', 'a <strong>bo</strong>'],
    ['both', 'a ***bo', 'a <emphasis><strong>bo</strong></emphasis>'],
    ['half a closing mark', 'a **bo*', 'a <strong>bo</strong>'],
    ['code', 'a `b **c', 'a <inlineCode>b **c</inlineCode>'],
    ['a link as its label', 'a [la](https://e.co', 'a la'],
    ['a label', 'a [la', 'a la'],
    ['an open fence', '```ts\na', '<code>a</code>'],
    ['no list before its words', 'a\n\n- ', 'a'],
    ['marks that are closed', '**a** `b`', '<strong>a</strong> <inlineCode>b</inlineCode>'],
    ['a product', '2 * 3 * 4', '2 * 3 * 4'],
  ])('closes or holds back: %s', (_, text, expected) => {
    expect(tagged(streamTree(text, { isFinal: false }).children)).toBe(expected)
  })

  test('holds back half a character, and says all in the end', () => {
    expect(shown('a \ud83d')).toBe('a')
    expect(streamTree(answer, { isFinal: true })).toEqual(parseMarkdown(answer))
    expect(plainOf(streamTree('a **b', { isFinal: true }))).toBe('a **b')
  })

  test('never loses a word that was followed by another', () => {
    for (const prefix of prefixes(answer)) {
      const words = prefix.match(/[a-z]{4,}(?= [a-z])/g)?.filter((word) => !prefix.includes(`(${word}`)) ?? []
      expect(words.filter((word) => !shown(prefix).includes(word))).toEqual([])
    }
  })
})

describe('sealed chunks', () => {
  const fitOf = (limit: number): Fit => ({
    limit,
    sizeOf: (blocks: readonly Block[]) => plainOf({ type: 'root', children: blocks }).length,
  })
  const long = `${answer}\n`.repeat(3)
  const code = `\`\`\`js\n${'let x = 1\n'.repeat(120)}\`\`\`\n\n${Array.from({ length: 40 }, (_, at) => `${at + 1}. item ${at}`).join('\n')}`

  test.each([
    ['an answer', long, 200],
    ['long code and a list', code, 150],
    ['both', `${long}\n${code}\n\n${long}`, 300],
    ['words without end', 'Some words. '.repeat(100), 100],
  ])('only grow and stay equal: %s', (_, text, limit) => {
    const fit = fitOf(limit)
    let before = sealChunks('', fit, false).sealed
    for (let end = 0; end <= text.length; end += 7) {
      const { sealed, open } = sealChunks(text.slice(0, end), fit, false)
      expect(sealed.slice(0, before.length)).toEqual(before)
      expect(open === undefined || open.children.length > 0).toBe(true)
      before = sealed
    }
    const { sealed, open } = sealChunks(text, fit, true)
    expect(open).toBeUndefined()
    expect(sealed.slice(0, before.length)).toEqual(before)
    for (const { children } of sealed) expect(fit.sizeOf(children)).toBeLessThanOrEqual(limit)
    const numberless = (shownText: string) => letters(shownText.replace(/^\s*\d+\. /gm, ''))
    expect(numberless(sealed.map(plainOf).join('\n'))).toBe(numberless(plainOf(parseMarkdown(text))))
  })

  test('only grow and stay equal, whatever is written and however it arrives', () => {
    const bits = fc.constantFrom(
      'word ',
      'more words. ',
      '**',
      '`',
      '\n',
      '\n\n',
      '\n\n- ',
      '\n- ',
      '\n1. ',
      '\n2) ',
      '\n```\n',
      '\n\n# ',
      '\n> ',
      '  ',
      '[x](https://e.com) ',
      '\n| a | b |\n|---|---|\n| c | d |\n',
      '\n\n    ',
      '😀',
      '字。',
      '\n\n---\n\n',
      '\r\n',
      '\n  - ',
    )
    fc.assert(
      fc.property(
        fc.array(bits, { minLength: 10, maxLength: 80, size: 'max' }),
        fc.constantFrom(20, 60, 200),
        (parts, limit) => {
          const fit = fitOf(limit)
          let text = ''
          let before = sealChunks('', fit, false).sealed
          for (const part of parts) {
            text += part
            const { sealed } = sealChunks(text, fit, false)
            expect(sealed.slice(0, before.length)).toEqual(before)
            before = sealed
          }
          expect(sealChunks(text, fit, true).sealed.slice(0, before.length)).toEqual(before)
        },
      ),
      { numRuns: 40 },
    )
  })

  test('are sealed while the text still grows, and go on counting', () => {
    const list = Array.from({ length: 40 }, (_, at) => `1. item ${at}`).join('\n')
    const { sealed, open } = sealChunks(list, fitOf(100), false)
    expect(sealed.length).toBeGreaterThan(2)
    expect([...sealed, ...(open === undefined ? [] : [open])].map(plainOf).join('\n')).toMatch(
      /^1\. item 0\n2\. item 1\n[\s\S]*\n40\. item 39$/,
    )
  })
})

function tagged(nodes: readonly object[]): string {
  return nodes
    .map((node) => {
      const type = 'type' in node ? String(node.type) : ''
      const inside =
        'value' in node
          ? String(node.value)
          : 'children' in node && Array.isArray(node.children)
            ? tagged(node.children)
            : ''
      return type === 'text' || type === 'paragraph' || type === 'link' ? inside : `<${type}>${inside}</${type}>`
    })
    .join('')
}

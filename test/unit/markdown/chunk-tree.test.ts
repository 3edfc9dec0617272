// Cutting on the tree, for any tree and any platform's unit.
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Block, chunkTree, type Fit, parseMarkdown, renderPlain } from '../../../src/markdown/index.ts'
import { fastest, plainOf } from './shown.ts'
import { anyTree, lostWords } from './tree-arbitrary.ts'

const written = (blocks: readonly Block[]) => plainOf({ type: 'root', children: blocks })
const units: Readonly<Record<string, (text: string) => number>> = {
  'UTF-16 units': (text) => text.length,
  'code points': (text) => [...text].length,
  bytes: (text) => new TextEncoder().encode(text).length,
}
const fitOf = (unit: string, limit: number): Fit => ({
  limit,
  sizeOf: (blocks) => units[unit]?.(written(blocks)) ?? 0,
})

describe.each(Object.keys(units))('measured in %s', (unit) => {
  test('every piece fits and says something, no word is lost, no pair is split, twice is the same', () => {
    fc.assert(
      fc.property(anyTree, fc.constantFrom(2000, 300, 90), (root, limit) => {
        const fit = fitOf(unit, limit)
        const pieces = chunkTree(root, fit)
        for (const { children } of pieces) {
          expect(fit.sizeOf(children)).toBeLessThanOrEqual(limit)
          expect(written(children).trim()).not.toBe('')
          expect(written(children).isWellFormed()).toBe(true)
        }
        expect(lostWords(root, pieces.map(({ children }) => written(children)).join('\n'))).toEqual([])
        expect(chunkTree(root, fit)).toEqual(pieces)
      }),
      { numRuns: 40 },
    )
  })
})

test('a tree that fits is one piece, as it is', () => {
  const root = parseMarkdown('# a\n\n- b\n\n```\nc\n```')
  expect(chunkTree(root, fitOf('bytes', 100))).toEqual([root])
})

test('a heading is never the last of a piece that has more to come', () => {
  const markdown = Array.from(
    { length: 60 },
    (_, index) => `## Title ${index}\n\n${'word '.repeat(index % 17)}end.`,
  ).join('\n\n')
  for (const limit of [60, 100, 137]) {
    for (const { children } of chunkTree(parseMarkdown(markdown), fitOf('UTF-16 units', limit)).slice(0, -1)) {
      expect(children.at(-1)?.type).not.toBe('heading')
    }
  }
})

test('a costly tree is cut by its cost as well', () => {
  const marks = (blocks: readonly Block[]) => JSON.stringify(blocks).match(/"strong"/g)?.length ?? 0
  const fit: Fit = { ...fitOf('bytes', 100_000), costOf: marks, maxCost: 10 }
  const pieces = chunkTree(parseMarkdown('**a** b '.repeat(95)), fit)
  for (const { children } of pieces) expect(marks(children)).toBeLessThanOrEqual(10)
  expect(pieces.length).toBe(10)
})

test.each([
  ['code', (size: number) => `\`\`\`\n${'a line of code();\n'.repeat(size / 18)}\`\`\``],
  ['one paragraph', (size: number) => 'Some words. '.repeat(size / 12)],
  ['one endless word', (size: number) => 'x'.repeat(size)],
  ['many paragraphs', (size: number) => 'a b c\n\n'.repeat(size / 7)],
  ['one list', (size: number) => '- an item of it\n'.repeat(size / 16)],
])('twice as much takes about twice the time: %s', (_, make) => {
  const [half, whole] = [parseMarkdown(make(200_000)), parseMarkdown(make(400_000))]
  const short = fastest(() => renderPlain(half, { limit: 500 }))
  expect(fastest(() => renderPlain(whole, { limit: 500 }))).toBeLessThan(short * 4 + 100)
})

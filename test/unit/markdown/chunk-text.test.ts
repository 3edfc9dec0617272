// Cutting text: properties for any text, and the cutting cases that concern plain text.
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { chunkText } from '../../../src/markdown/index.ts'
import { scaled } from '../../setup/scale.ts'

const fenceMarks = /^ {0,3}(?:`{3,}|~{3,}).*$/gm
const letters = (text: string) => text.replace(/\s+/gu, '')
const family = '👩‍👩‍👧‍👦'
const flag = '🇩🇪'

const prose = fc
  .array(
    fc.oneof(
      fc.string({ minLength: 1, maxLength: 40, unit: 'grapheme' }),
      fc.constantFrom(' ', '\n', '\n\n', '. ', '。', family, flag, '   ', '\t'),
    ),
    { maxLength: 200, size: 'max' },
  )
  .map((pieces) => pieces.join(''))

const code = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        '```',
        '```ts',
        '~~~',
        '````',
        'a line of words',
        '  indented',
        '',
        'x'.repeat(90),
        '```js title="a b"',
      ),
      fc.string({ maxLength: 60, unit: 'grapheme-ascii' }),
    ),
    { maxLength: 120, size: 'max' },
  )
  .map((lines) => lines.join('\n'))

describe('any text', () => {
  test('gives pieces within the limit, none blank, no letter lost, no pair broken', () => {
    fc.assert(
      fc.property(prose, fc.integer({ min: 2, max: 300 }), (text, limit) => {
        fc.pre(!/`{3}|~{3}/.test(text))
        const pieces = chunkText(text, limit)
        for (const piece of pieces) {
          expect(piece.length).toBeLessThanOrEqual(limit)
          expect(piece.trim()).not.toBe('')
          expect(piece.isWellFormed()).toBe(true)
        }
        expect(letters(pieces.join(''))).toBe(letters(text))
      }),
      { numRuns: scaled(300) },
    )
  })

  test('keeps whole words that fit', () => {
    fc.assert(
      fc.property(fc.array(fc.stringMatching(/^[a-z]{1,20}$/), { minLength: 1, maxLength: 300 }), (words) => {
        expect(chunkText(words.join(' '), 40).flatMap((piece) => piece.split(/\s+/))).toEqual(words)
      }),
    )
  })

  test('with fences: every piece is within the limit and closes what it opens, and no code is lost', () => {
    fc.assert(
      fc.property(code, fc.integer({ min: 100, max: 400 }), (text, limit) => {
        const pieces = chunkText(text, limit)
        for (const piece of pieces) expect(piece.length).toBeLessThanOrEqual(limit)
        for (const piece of pieces.slice(0, -1)) expect(isBalanced(piece)).toBe(true)
        expect(letters(pieces.join('\n').replace(fenceMarks, ''))).toBe(letters(text.replace(fenceMarks, '')))
      }),
      { numRuns: scaled(500) },
    )
  })

  test('C09 gives the same pieces every time', () => {
    fc.assert(
      fc.property(prose, (text) => {
        expect(chunkText(text, 50)).toEqual(chunkText(text, 50))
      }),
    )
  })
})

function isBalanced(piece: string): boolean {
  let open: string | undefined
  for (const line of piece.split('\n')) {
    const match = /^ {0,3}(`{3,}|~{3,})([^\n]*)$/.exec(line)
    const marker = match?.[1]
    const info = match?.[2] ?? ''
    if (marker === undefined) continue
    if (open === undefined) open = marker.startsWith('`') && info.includes('`') ? undefined : marker
    else if (marker.startsWith(open) && info.trim() === '') open = undefined
  }
  return open === undefined
}

describe('where it cuts', () => {
  test.each<[string, string, number, readonly string[]]>([
    ['between paragraphs', 'one two\n\nthree four', 14, ['one two', 'three four']],
    ['between lines', 'one two\nthree four', 14, ['one two', 'three four']],
    ['after a sentence', 'One two. Three four', 14, ['One two.', 'Three four']],
    ['after a full stop that needs no space', '一二三。四五六', 5, ['一二三。', '四五六']],
    ['between words', 'one two three', 9, ['one two', 'three']],
    ['inside a word that is too long', 'abcdefgh', 3, ['abc', 'def', 'gh']],
    ['not at all when it fits', '  one\ntwo', 9, ['  one\ntwo']],
  ])('%s', (_name, text, limit, expected) => {
    expect(chunkText(text, limit)).toEqual(expected)
  })

  test('C05 keeps families and flags whole where they fit', () => {
    const pieces = chunkText(`${family}${flag}`.repeat(40), 33)
    expect(pieces.join('')).toBe(`${family}${flag}`.repeat(40))
    for (const piece of pieces) expect(piece.replaceAll(family, '').replaceAll(flag, '')).toBe('')
  })

  test('C10 sends nothing for white space', () => {
    for (const blank of ['', ' ', '\n\n', ' \t\n '.repeat(100)]) expect(chunkText(blank, 5)).toEqual([])
  })

  test('C11 ends with a limit of one, and then keeps a pair whole', () => {
    expect(chunkText('a b😀', 1)).toEqual(['a', 'b', '😀'])
  })
})

describe('fenced code', () => {
  test('C01 reopens the fence with its language and keeps every line', () => {
    const lines = Array.from({ length: 400 }, (_, index) => `  line ${index} of some code();`)
    const pieces = chunkText(['Look:', '```ts', ...lines, '```', 'Done.'].join('\n'), 1000)
    expect(pieces.length).toBeGreaterThan(5)
    for (const piece of pieces.slice(1, -1)) expect(piece).toMatch(/^```ts\n[\s\S]*\n```$/)
    const kept = pieces.flatMap((piece) => piece.split('\n')).filter((line) => line.startsWith('  line'))
    expect(kept).toEqual(lines)
    expect(pieces.at(-1)).toMatch(/Done\.$/)
  })

  test('C02 splits one endless line of code without losing any of it', () => {
    const line = 'x'.repeat(9000)
    const pieces = chunkText(`\`\`\`\n${line}\n\`\`\``, 1000)
    expect(pieces.join('\n').replace(/[^x]/g, '')).toBe(line)
    for (const piece of pieces) expect(piece.length).toBeLessThanOrEqual(1000)
  })

  test('M15 reopens with a clean language only', () => {
    const [, second] = chunkText(`\`\`\`ts title="a b"\n${'words of code\n'.repeat(20)}\`\`\``, 100)
    expect(second).toMatch(/^```ts\n/)
  })

  test('does not leave an empty block at the end of a piece', () => {
    const pieces = chunkText(`${'word '.repeat(18)}\n\`\`\`ts\n${'code\n'.repeat(30)}\`\`\``, 100)
    expect(pieces[0]).not.toContain('```')
  })
})

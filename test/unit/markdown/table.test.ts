// Tables for a fixed-width font, and the widths their columns are measured by.
import { describe, expect, test } from 'vitest'
import { parseMarkdown } from '../../../src/markdown/index.ts'
import { alignedTable, displayWidth, tableAsList } from '../../../src/markdown/table.ts'
import type { Table } from '../../../src/markdown/tree.ts'

function tableOf(markdown: string): Table {
  const [table] = parseMarkdown(markdown).children
  if (table?.type !== 'table') throw new Error('the example is no table')
  return table
}

test.each([
  ['plain', 5],
  ['中文', 4],
  ['한글', 4],
  ['ｆｕｌｌ', 8],
  ['👩‍👩‍👧‍👦', 2],
  ['e\u0301', 1],
  ['a\u200bb', 2],
])('%j is %i columns wide', (text, width) => expect(displayWidth(text)).toBe(width))

describe('an aligned table', () => {
  test('follows the alignment of its columns and ends no line in spaces', () => {
    const table = tableOf(
      '| Left | Mid | Right |\n|:--|:-:|--:|\n| a | b | c |\n| long text | wide | 中 |\n| x |  |  |',
    )
    expect(alignedTable(table)).toBe(
      [
        'Left       Mid   Right',
        '---------  ----  -----',
        'a           b        c',
        'long text  wide     中',
        'x',
      ].join('\n'),
    )
  })

  test('lets one long cell stick out instead of widening every row', () => {
    const lines = alignedTable(tableOf(`| A | B |\n|---|---|\n| ${'x'.repeat(500)} | y |\n| z | w |`)).split('\n')
    expect(lines[2]).toBe(`${'x'.repeat(500)}  y`)
    expect(lines[3]).toBe(`z${' '.repeat(39)}  w`)
  })
})

test('a table as a list names every column once at least', () => {
  const list = tableAsList(tableOf('| A | B |\n|---|---|\n| 1 |  |\n|  | 2 |'))
  expect(list.children.map((item) => JSON.stringify(item).match(/(?<="value":")[^"]*/g))).toEqual([
    ['A', ': ', '1', 'B', ': '],
    ['B', ': ', '2'],
  ])
})

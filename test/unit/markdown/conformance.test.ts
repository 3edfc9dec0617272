// Every rendering case that concerns the tree, its pieces and text with ranges.
import { describe, expect, test } from 'vitest'
import { conform } from '../../conformance/conform.ts'
import { entityCases } from '../adapters/telegram/render/entity-cases.ts'
import { chunkCases } from './chunk-cases.ts'
import { markdownCases } from './markdown-cases.ts'

conform('Markdown to the tree', markdownCases)
conform('the tree in pieces', chunkCases)
conform('text with ranges', entityCases)

describe('the rendering cases', () => {
  const ids = (letter: string, from: number, to: number) =>
    Array.from({ length: to - from + 1 }, (_, index) => `${letter}${String(from + index).padStart(2, '0')}`)

  test('are all there', () => {
    const covered = new Set([...markdownCases, ...chunkCases, ...entityCases].map(({ id }) => id))
    const specified = [...ids('M', 1, 18), ...ids('C', 1, 11), ...ids('T', 50, 55), 'T66', 'T67']
    expect(specified.filter((id) => !covered.has(id))).toEqual([])
  })
})

import { expect, test } from 'vitest'
import { conform } from '../conform.ts'
import { policyCases } from './policy-cases.ts'
import { declarationCases } from './tool-declaration-cases.ts'
import { executionCases } from './tool-execution-cases.ts'
import { guardCases } from './tool-guard-cases.ts'

conform('tool declarations', declarationCases)
conform('tool execution', executionCases)
conform('guards around tool calls', guardCases)

const numbered = (letter: string, count: number) =>
  Array.from({ length: count }, (_, index) => `${letter}-${String(index + 1).padStart(2, '0')}`)

test('every case about tools and policies that needs no store and no loop is there', () => {
  const wanted = [...numbered('T', 25), ...numbered('P', 10), 'P-18', 'L-34', 'L-35', 'L-36', 'L-43', 'L-44', 'L-45']
  const there = new Set([...declarationCases, ...executionCases, ...guardCases, ...policyCases].map((each) => each.id))
  expect(wanted.filter((id) => !there.has(id))).toEqual([])
})

// Tools behave as loop section 4 says, or as the trap beside it says.
import { describe, expect, test } from 'vitest'
import { checkCases } from './case.ts'
import { declarationCases } from './cases-declarations.ts'
import { executionCases } from './cases-execution.ts'
import { guardCases } from './cases-guards.ts'
import { cases, differs } from './cases-tools.ts'

const numbered = (letter: string, count: number) =>
  Array.from({ length: count }, (_, index) => `${letter}-${String(index + 1).padStart(2, '0')}`)

describe('declarations', () => checkCases(declarationCases))
describe('execution', () => checkCases(executionCases))
describe('guards', () => checkCases(guardCases))

test('every case that needs no store and no loop is covered', () => {
  const wanted = [...numbered('T', 25), ...numbered('P', 10), 'P-18', 'L-34', 'L-35', 'L-36', 'L-43', 'L-44', 'L-45']
  const covered = new Set(cases.map((each) => each.id))
  expect(wanted.filter((id) => !covered.has(id))).toEqual([])
})

test('every difference names a case and a trap or ruling', () => {
  const covered = new Set(cases.map((each) => each.id))
  expect(differs.filter((each) => !covered.has(each.id) || !/^(trap|ruling) \d/.test(each.because))).toEqual([])
})

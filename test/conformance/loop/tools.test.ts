// Tools behave as loop section 4 says, or as the trap beside it says.
import { describe, expect, test } from 'vitest'
import { checkCases } from './case.ts'
import { declarationCases, declarationDifferences } from './cases-declarations.ts'
import { executionCases, executionDifferences } from './cases-execution.ts'
import { guardCases, guardDifferences } from './cases-guards.ts'

describe('declarations', () => checkCases(declarationCases))
describe('execution', () => checkCases(executionCases))
describe('guards', () => checkCases(guardCases))

test('every case of the section is covered', () => {
  const wanted = Array.from({ length: 25 }, (_, index) => `T-${String(index + 1).padStart(2, '0')}`)
  const covered = new Set([...declarationCases, ...executionCases].map((each) => each.id))
  expect(wanted.filter((id) => !covered.has(id))).toEqual([])
})

test('every difference names a case and a reason', () => {
  const cases = new Set([...declarationCases, ...executionCases, ...guardCases].map((each) => each.id))
  for (const each of [...declarationDifferences, ...executionDifferences, ...guardDifferences]) {
    expect(cases).toContain(each.id)
    expect(each.because).toMatch(/^(trap|ruling) \d/)
  }
})

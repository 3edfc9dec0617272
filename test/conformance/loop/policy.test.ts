// Policies behave as loop section 5 says, or as the trap beside it says.
import { describe, expect, test } from 'vitest'
import { checkCases } from './case.ts'
import { policyCases, policyDifferences } from './cases-policy.ts'

describe('policies', () => checkCases(policyCases))

test('every case that needs no store and no loop is covered', () => {
  const wanted = [...Array.from({ length: 10 }, (_, index) => `P-${String(index + 1).padStart(2, '0')}`), 'P-18']
  const covered = new Set(policyCases.map((each) => each.id))
  expect(wanted.filter((id) => !covered.has(id))).toEqual([])
})

test('every difference names a case and a reason', () => {
  const cases = policyCases.map((each) => each.id)
  for (const each of policyDifferences) {
    expect(cases).toContain(each.id)
    expect(each.because).toMatch(/^(trap|ruling) \d/)
  }
})

// Everything about tools and policies in one list, for whoever counts.
import type { ConformanceCase, Difference } from './case.ts'
import { declarationCases, declarationDifferences } from './cases-declarations.ts'
import { executionCases, executionDifferences } from './cases-execution.ts'
import { guardCases, guardDifferences } from './cases-guards.ts'
import { policyCases, policyDifferences } from './cases-policy.ts'

export const cases: readonly ConformanceCase[] = [...declarationCases, ...executionCases, ...guardCases, ...policyCases]

export const differs: readonly Difference[] = [
  ...declarationDifferences,
  ...executionDifferences,
  ...guardDifferences,
  ...policyDifferences,
]

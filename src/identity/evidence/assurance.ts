// How strong a proof is, as an order that policies can compare (docs/identity.md explains the ranks).
import { type AssuranceClass, assuranceClasses } from '../../contract/index.ts'

/** An unknown class is the weakest of all, so a new word never gives access. */
export function rankAssurance(assurance: string): number {
  return assuranceClasses.indexOf(assurance as AssuranceClass) + 1
}

function isAssuranceClass(text: string): text is AssuranceClass {
  return rankAssurance(text) > 0
}

/** False for an unknown minimum: a misspelt demand must not become no demand. */
export function atLeast(assurance: string, minimum: string): boolean {
  return isAssuranceClass(minimum) && rankAssurance(assurance) >= rankAssurance(minimum)
}

// Policies behave as loop section 5 says, or as the trap beside it says.
import { checkCases } from './case.ts'
import { policyCases } from './cases-policy.ts'

checkCases(policyCases)

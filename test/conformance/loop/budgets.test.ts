import { conform } from '../conform.ts'
import { budgetCases } from './budget-cases.ts'

conform('budgets of a run', budgetCases)

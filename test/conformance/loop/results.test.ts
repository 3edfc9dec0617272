import { conform } from '../conform.ts'
import { resultCases } from './result-cases.ts'

conform('the result of a run', resultCases)

import { conform } from '../conform.ts'
import { runCases } from './run-cases.ts'

conform('how a run goes and ends', runCases)

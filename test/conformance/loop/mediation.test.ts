import { conform } from '../conform.ts'
import { completionCases } from './completion-cases.ts'
import { mediationCases } from './mediation-cases.ts'

conform('tool calls inside a run', mediationCases)
conform('who decides that a run is done', completionCases)

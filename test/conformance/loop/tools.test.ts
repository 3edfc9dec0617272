import { conform } from '../conform.ts'
import { declarationCases } from './tool-declaration-cases.ts'
import { executionCases } from './tool-execution-cases.ts'
import { guardCases } from './tool-guard-cases.ts'

conform('tool declarations', declarationCases)
conform('tool execution', executionCases)
conform('guards around tool calls', guardCases)

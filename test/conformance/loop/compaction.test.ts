import { conform } from '../conform.ts'
import { compactionCases } from './compaction-cases.ts'

conform('compaction', compactionCases)

import { conform } from '../conform.ts'
import { approvalCases } from './approval-cases.ts'

conform('approvals', approvalCases)

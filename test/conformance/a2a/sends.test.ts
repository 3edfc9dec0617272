// A2A cases: sending messages.
import { conformA2a } from './a2a-setup.ts'
import { sendCases } from './send-cases.ts'

conformA2a('A2A sends', sendCases)

// A2A cases: streams.
import { conformA2a } from './a2a-setup.ts'
import { streamCases } from './stream-cases.ts'

conformA2a('A2A streams', streamCases)

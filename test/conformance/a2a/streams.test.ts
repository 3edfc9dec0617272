// A2A cases: streams.
import { conformA2a } from './scene.ts'
import { streamCases } from './stream-cases.ts'

conformA2a('A2A streams', streamCases)

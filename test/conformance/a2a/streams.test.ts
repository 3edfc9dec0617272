// a2a 11.5.
import { conformA2a } from './scene.ts'
import { streamCases } from './stream-cases.ts'

conformA2a('A2A streams', streamCases)

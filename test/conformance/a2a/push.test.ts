// a2a 11.6-11.8.
import { pushCases } from './push-cases.ts'
import { conformA2a } from './scene.ts'

conformA2a('A2A push', pushCases)

// A2A cases: push notification configs.
import { pushCases } from './push-cases.ts'
import { conformA2a } from './scene.ts'

conformA2a('A2A push', pushCases)

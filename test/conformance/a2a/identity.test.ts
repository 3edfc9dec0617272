// A2A cases: identity.
import { identityCases } from './identity-cases.ts'
import { conformA2a } from './scene.ts'

conformA2a('A2A identity', identityCases)

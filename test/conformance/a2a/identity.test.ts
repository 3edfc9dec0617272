// a2a 11.6-11.8.
import { identityCases } from './identity-cases.ts'
import { conformA2a } from './scene.ts'

conformA2a('A2A identity', identityCases)

// A2A cases: identity.

import { conformA2a } from './a2a-setup.ts'
import { identityCases } from './identity-cases.ts'

conformA2a('A2A identity', identityCases)

// A2A cases: push notification configs.

import { conformA2a } from './a2a-setup.ts'
import { pushCases } from './push-cases.ts'

conformA2a('A2A push', pushCases)

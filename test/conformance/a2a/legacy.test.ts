// A2A cases: version 0.3.

import { conformA2a } from './a2a-setup.ts'
import { legacyCases } from './legacy-cases.ts'

conformA2a('A2A 0.3', legacyCases)

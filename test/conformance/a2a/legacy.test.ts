// A2A cases: version 0.3.
import { legacyCases } from './legacy-cases.ts'
import { conformA2a } from './scene.ts'

conformA2a('A2A 0.3', legacyCases)

// A2A cases: envelopes and versions.

import { conformA2a } from './a2a-setup.ts'
import { envelopeCases, versionCases } from './envelope-cases.ts'

conformA2a('A2A envelopes and versions', [...envelopeCases, ...versionCases])

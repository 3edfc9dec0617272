// a2a 11.2, 11.3.
import { envelopeCases, versionCases } from './envelope-cases.ts'
import { conformA2a } from './scene.ts'

conformA2a('A2A envelopes and versions', [...envelopeCases, ...versionCases])

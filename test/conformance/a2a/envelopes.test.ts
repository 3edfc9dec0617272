// A2A cases: envelopes and versions.
import { envelopeCases, versionCases } from './envelope-cases.ts'
import { conformA2a } from './scene.ts'

conformA2a('A2A envelopes and versions', [...envelopeCases, ...versionCases])

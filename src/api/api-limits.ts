// Configured limits of the API: from where it may be called, and how often.

import type { Config } from '../config.ts'
import type { AppDeps } from './deps.ts'

export function pickLimitsAndCorsOrigins({ limits, corsOrigins }: Config): Pick<AppDeps, 'limits' | 'corsOrigins'> {
  return { limits, corsOrigins }
}

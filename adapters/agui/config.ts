// Settings of the built-in API: there are none, it is always on, for this machine and for holders of tokens.
import * as z from 'zod'
import type { EnvironmentReading } from '../../src/contract/index.ts'

export const aguiSettingsSchema = z.strictObject({})

export function aguiFromEnvironment(): EnvironmentReading {
  return { settings: {} }
}

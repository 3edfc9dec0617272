// Settings of the built-in local API: there are none, it is always on and answers this machine only (before hop 1).
import * as z from 'zod'
import type { EnvironmentReading } from '../../src/contract/index.ts'

export const aguiSettingsSchema = z.strictObject({})

export function aguiFromEnvironment(): EnvironmentReading {
  return { settings: {} }
}

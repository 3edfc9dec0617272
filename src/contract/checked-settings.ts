// Checks an adapter makes when it is created: its settings against its schema, and the ports it needs.
import type * as z from 'zod'
import { GatewayError } from './errors.ts'

export function parseSettings<Settings>(channel: string, schema: z.ZodType<Settings>, settings: unknown): Settings {
  const parsed = schema.safeParse(settings)
  if (parsed.success) return parsed.data
  const problems = parsed.error.issues.map((issue) => `${issue.path.join('.')} ${issue.message}`)
  throw new GatewayError('config_invalid', `[${channel}] ${problems.join('; ')}`)
}

/** `what`: the port in words, and how to pass it. */
export function requirePort<Port>(channel: string, port: Port | undefined, what: string): Port {
  if (port === undefined) throw new GatewayError('config_invalid', `[${channel}] needs ${what}`)
  return port
}

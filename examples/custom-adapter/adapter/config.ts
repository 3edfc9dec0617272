// Settings of the channel, from the configuration and from the environment.
import { type EnvironmentReading, secretSchema } from 'parley-gateway'
import * as z from 'zod'

export const settingsSchema = z.strictObject({
  applicationId: z.string().regex(/^\d{5,25}$/, 'must be a number; set DISCORD_APPLICATION_ID'),
  /** Checks the signatures of interactions. */
  publicKey: z.string().regex(/^[0-9a-f]{64}$/i, 'must be 64 hexadecimal digits; set DISCORD_PUBLIC_KEY'),
  /** Asks how the application stands. Replies need none. */
  botToken: secretSchema(/^\S{20,}$/, 'must be the token of the bot; set DISCORD_BOT_TOKEN'),
  apiRoot: z.url().default('https://discord.com/api/v10'),
})

export type Settings = z.output<typeof settingsSchema>

const variables = {
  DISCORD_APPLICATION_ID: 'applicationId',
  DISCORD_PUBLIC_KEY: 'publicKey',
  DISCORD_BOT_TOKEN: 'botToken',
} as const

export const variableNames = [...Object.keys(variables), 'DISCORD_API_ROOT']

/** Undefined: the environment does not mention the channel. */
export function readEnvironment(env: Readonly<Record<string, string | undefined>>): EnvironmentReading | undefined {
  const given = Object.entries(variables).filter(([name]) => env[name])
  if (given.length === 0) return undefined
  const missing = Object.keys(variables).filter((name) => !env[name])
  if (missing.length > 0) return { missing }
  const settings = Object.fromEntries(given.map(([name, key]) => [key, env[name]]))
  const apiRoot = env['DISCORD_API_ROOT'] ? { apiRoot: env['DISCORD_API_ROOT'] } : {}
  return { settings: settingsSchema.parse({ ...settings, ...apiRoot }) }
}

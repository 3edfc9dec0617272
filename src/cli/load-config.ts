// Loads the configuration for commands, from parley.config.ts and the environment, and explains what goes wrong.
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { channels } from '../channels.ts'
import { type Config, type Environment, loadConfig, type ParleyConfig } from '../config.ts'
import { GatewayError, isGatewayError } from '../lib/errors.ts'
import { CommandError, type ExitCode, exitCodes, isDatabaseUnavailable } from './command-error.ts'

const fileNames = ['parley.config.ts', 'parley.config.js', 'parley.config.mjs']

/** The bundle lies in dist/, the migrations beside it. */
export const migrationsFolder = resolve(import.meta.dirname, '..', 'drizzle')

export const configArg = {
  config: { type: 'string', description: 'Configuration file (default: parley.config.ts)', valueHint: 'file' },
} as const

/** Flags win over the environment and are checked in the same place; `undefined` stands for a flag that was not given. */
export async function loadConfigFromDisk(given: string | undefined, flags: Environment = {}): Promise<Config> {
  const set = Object.entries(flags).filter(([, value]) => value !== undefined)
  const environment: Environment = { ...process.env, ...Object.fromEntries(set) }
  return loadConfig(environment, (await readConfigFile(given)) ?? {}, channels)
}

/** What `parley.config.ts` exports, unchecked. Undefined: there is none, and none was named. */
export async function readConfigFile(given: string | undefined): Promise<ParleyConfig | undefined> {
  const path =
    given === undefined ? fileNames.map((name) => join(process.cwd(), name)).find(existsSync) : resolve(given)
  if (path === undefined) return undefined
  if (!existsSync(path)) throw new GatewayError('config_invalid', `no configuration file at ${path}; correct --config`)
  const loaded = await importConfig(path)
  if (loaded.default === undefined) {
    throw new GatewayError('config_invalid', `${path} has no default export; write: export default defineConfig({ … })`)
  }
  return loaded.default
}

async function importConfig(path: string): Promise<{ default?: ParleyConfig }> {
  try {
    return (await import(pathToFileURL(path).href)) as { default?: ParleyConfig }
  } catch (error) {
    if (isGatewayError(error)) throw error
    const why = error instanceof Error ? error.message.split('\n')[0] : 'unknown'
    throw new GatewayError('config_invalid', `${path} cannot be loaded: ${why}; correct it`, { cause: error })
  }
}

export type Problem = { readonly code: string; readonly message: string; readonly exitCode: ExitCode }

export function toProblemWithExitCode(error: unknown): Problem {
  if (error instanceof CommandError) return error
  if (isGatewayError(error)) {
    const exitCode = isDatabaseUnavailable(error) ? exitCodes.unreachable : exitCodes.failed
    return { code: error.code, message: error.message, exitCode }
  }
  const failedProblem = (message: string): Problem => ({ code: 'failed', message, exitCode: exitCodes.failed })
  if (!(error instanceof Error)) return failedProblem(String(error))
  // What the system refuses (a folder, a file, a port) it names itself, in one line.
  if ('syscall' in error) return failedProblem(`${error.message}; check the path or address it names`)
  return failedProblem(`unexpected ${error.name}: ${error.message.split('\n')[0]}; please report it`)
}

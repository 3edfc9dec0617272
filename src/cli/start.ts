// `parley start`: run the gateway until it is told to stop; and the child process that runs suspect turns.

import { type ChildProcess, fork } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../config.ts'
import { socketNames } from '../node/data-dir.ts'
import { allowsLocalGuests } from '../node/incoming-request.ts'
import { chooseErrorDetail, createNodeLog, installCrashLogging } from '../node/log.ts'
import { runSuspectTurns } from '../node/run-suspect-turns.ts'
import { type RunningGateway, startNode } from '../node.ts'
import { formatConnectionState } from '../observability/connection-health.ts'
import { exitCodes } from './command-error.ts'
import { defineCommand } from './command-line.ts'
import { configArg, loadConfigFromDisk, migrationsFolder, toProblemWithExitCode } from './load-config.ts'
import { printRemark } from './output.ts'

const graceMs = 10_000
/** How long the start waits to tell how connections stand. The gateway is up meanwhile. */
const reportWithinMs = 5_000

export const startCommand = defineCommand({
  name: 'start',
  description: 'Run the gateway until it is told to stop.',
  examples: ['parley start', 'PARLEY_PORT=9000 parley start --log-level warn'],
  args: {
    ...configArg,
    'log-level': {
      type: 'enum',
      options: ['trace', 'debug', 'info', 'warn', 'error', 'silent'],
      description: 'What the log tells (default: PARLEY_LOG_LEVEL, or info)',
    },
  },
  async run(args) {
    const config = await loadConfigFromDisk(args.config, {
      PARLEY_LOG_LEVEL: args['log-level'],
    })
    const log = createNodeLog(config.logLevel, undefined, chooseErrorDetail(config.logErrors))
    installCrashLogging(log)
    const given = { config: args.config, logLevel: args['log-level'] }
    const running = await startNode({
      config,
      migrationsFolder,
      log,
      report: printRemark,
      reportWithinMs: process.stdout.isTTY && process.stderr.isTTY ? reportWithinMs : 0,
      forkSuspects: () => forkSuspectTurnProcess(given),
    })
    // Standard output is the log's.
    printRemark(welcomeText(running, config))
    stopOnSignal(running)
    await printConnections(running)
  },
})

function welcomeText(running: RunningGateway, config: Config): string {
  const lines = [`Parley is up at ${running.url}`]
  lines.push(`Database: ${describeDatabase(config)}`)
  lines.push(`Agents: ${config.agents.map((agent) => agent.slug).join(', ')}`)
  for (const each of config.connections) {
    const key = `${each.channel.channel}/${each.id}`
    lines.push(
      `Connection: ${key} -> ${each.agent} (${accessModeText(running, key, each.access.mode)})${listenerAddressText(running, key)}${connectionNoticeText(running, key)}`,
    )
  }
  if (hasOtherUsers())
    lines.push(
      `Other users of this machine: the demo agent at ${running.url} and its ports answer them as strangers; all else needs a token or the socket in ${config.dataDir}`,
    )
  for (const warning of config.warnings) lines.push(`Warning: ${warning}`)
  if (running.newAdminToken !== undefined) lines.push(`Admin token, shown this once: ${running.newAdminToken}`)
  lines.push('', 'Say something to the agent:', exampleCurlCommand(running.url, config))
  return lines.join('\n')
}

/** Each as soon as it is known; a platform that takes long is told later, in the log. */
async function printConnections({ probed }: RunningGateway): Promise<void> {
  const late = new Promise<void>((resolve) => setTimeout(resolve, reportWithinMs).unref())
  const lines = [...probed].map(async ([connection, first]) => {
    const sign = await Promise.race([first, late])
    printRemark(formatConnectionState(sign ?? { connection, state: 'checking', since: '', summary: '', problems: [] }))
  })
  await Promise.all(lines)
}

/** Whether people other than its owner can sign in here, as far as this machine's list of users tells. */
function hasOtherUsers(): boolean {
  const uid = process.getuid?.()
  if (uid === undefined || !existsSync('/etc/passwd')) return false
  return readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'))
    .some(([, , id = '', , , , shell = '']) => {
      const isPerson = Number(id) >= 1000 && Number(id) < 60_000
      return isPerson && Number(id) !== uid && !/(nologin|false)$/.test(shell)
    })
}

/** Open to whom: `public` where only this machine gets to it would read as open to the world. */
function accessModeText({ localOnly }: RunningGateway, key: string, mode: string): string {
  return mode === 'public' && localOnly.has(key) ? 'this machine only' : mode
}

/** Where a connection with a port of its own is reached. */
function listenerAddressText({ listeners }: RunningGateway, key: string): string {
  const sign = listeners().find(({ connection }) => connection === key)
  if (sign === undefined) return ''
  return sign.state === 'listening' ? ` at ${sign.address}` : `; its port is not open (${sign.code})`
}

function connectionNoticeText({ notices }: RunningGateway, key: string): string {
  const notice = notices.get(key)
  return notice === undefined ? '' : `; ${notice}`
}

function describeDatabase({ databaseUrl, dataDir }: Config): string {
  return databaseUrl === undefined ? `PostgreSQL in ${dataDir}, run by Parley` : 'PostgreSQL (DATABASE_URL)'
}

/** On the port, where it takes guests; else as the local user. */
function exampleCurlCommand(url: string, config: Config): string {
  const socket = join(config.dataDir, socketNames[config.databaseUrl === undefined ? 'lock' : 'control'])
  const to = allowsLocalGuests(config) ? url : `--unix-socket ${socket} http://localhost`
  const body = `'{"threadId":"t1","runId":"r1","messages":[{"id":"m1","role":"user","content":"hello"}]}'`
  return `  curl -s ${to}/api/v1/agent/run -H 'content-type: application/json' -d ${body}\n`
}

function stopOnSignal(running: RunningGateway): void {
  let isStopping = false
  const stopGateway = (): void => {
    if (isStopping) process.exit(1)
    isStopping = true
    printRemark('Stopping: turns go on to their next step, the rest is resumed at the next start.')
    running.stop(graceMs).then(
      () => process.exit(0),
      () => process.exit(1),
    )
  }
  process.on('SIGINT', stopGateway)
  process.on('SIGTERM', stopGateway)
}

// The process for turns on which a process died: the same program, the same configuration.

/** No command of its own: people have no use for it. */
const suspectsWord = 'internal:suspects'

type StartArguments = { readonly config?: string | undefined; readonly logLevel?: string | undefined }

function forkSuspectTurnProcess(given: StartArguments): ChildProcess {
  const [, program = ''] = process.argv
  // Set by a launcher that must not outlive its program; this process ends in order when its gateway is gone.
  const { PARLEY_RELAUNCHED: _launcher, ...env } = process.env
  return fork(program, [suspectsWord, JSON.stringify(given)], {
    env,
    // One debugger cannot have both.
    execArgv: process.execArgv.filter((flag) => !flag.startsWith('--inspect')),
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
}

export function isSuspectTurnProcess([first]: readonly string[]): boolean {
  return first === suspectsWord
}

export async function runSuspectTurnProcess([, given = '{}']: readonly string[]): Promise<number> {
  try {
    // Written by forkSuspects.
    const { config: path, logLevel } = JSON.parse(given) as StartArguments
    await runSuspectTurns(async () => {
      const config = await loadConfigFromDisk(path, { PARLEY_LOG_LEVEL: logLevel })
      const log = createNodeLog(config.logLevel, undefined, chooseErrorDetail(config.logErrors))
      installCrashLogging(log)
      return { config, log }
    })
    return exitCodes.ok
  } catch (error) {
    printRemark(toProblemWithExitCode(error).message)
    return exitCodes.failed
  }
}

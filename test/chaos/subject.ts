// The process under test: a whole gateway on Node with loopback channels, which can be told where to die or to freeze.
import { AsyncLocalStorage } from 'node:async_hooks'
import { type ChildProcess, fork } from 'node:child_process'
import { writeSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { a2a, a2aChannel } from '../../adapters/a2a/index.ts'
import { activitypub, activitypubChannel } from '../../adapters/activitypub/index.ts'
import { aguiChannel } from '../../adapters/agui/index.ts'
import { email, emailChannel } from '../../adapters/email/index.ts'
import { type Config, loadConfig } from '../../src/config.ts'
import type { Attempt, ChannelDefinition, ConnectionConfig } from '../../src/contract/index.ts'
import type { Failpoint } from '../../src/db/client.ts'
import { isGatewayError } from '../../src/lib/errors.ts'
import type { JsonObject } from '../../src/lib/json-value.ts'
import type { Log } from '../../src/lib/log.ts'
import { runSuspectTurns } from '../../src/node/run-suspect-turns.ts'
import { startNode } from '../../src/node.ts'
import { loopbackClientId, loopbackEdit, loopbackLookup, loopbackNone } from '../doubles/loopback/index.ts'
import { buyerAgent } from './approval-agent.ts'
import { gardenAgent } from './fediverse-agent.ts'
import { mailAgent } from './mail-agent.ts'
import { poisonAgent } from './poison-agent.ts'
import { shapeAgents } from './shapes-agents.ts'
import { relayAgent, stepsAgent, wordsAgent } from './steps-agent.ts'
import { countRows, crashTestAgent } from './subject-agent.ts'
import {
  adminToken,
  type FailpointPlan,
  loopbackSecret,
  type SubjectSettings,
  settingsVariable,
} from './subject-settings.ts'

// The driver wrote this very type into the variable.
const settings = JSON.parse(process.env[settingsVariable] ?? '') as SubjectSettings

const log: Log = { info: write('info'), warn: write('warn'), error: write('error') }

function write(level: string) {
  return (event: string, facts: JsonObject = {}): void => tell({ level, event, ...facts })
}

/** At once, also right before a kill. A pipe that is full takes nothing until its reader has read. */
function tell(line: JsonObject): void {
  let rest = Buffer.from(`${JSON.stringify(line)}\n`)
  while (rest.length > 0) {
    try {
      rest = rest.subarray(writeSync(1, rest))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1)
    }
  }
}

let isArmed = false

function obey(command: string): void {
  if (command === 'arm') {
    isArmed = true
    tell({ level: 'info', event: 'armed' })
  }
  if (command !== 'memory') return
  // Twice: the first collection may leave what only a finalizer held.
  for (let times = 0; times < 2; times += 1) globalThis.gc?.()
  const { heapUsed, external } = process.memoryUsage()
  tell({ level: 'info', event: 'memory', megabytes: Math.round((heapUsed + external) / 2 ** 20) })
}

/** Counts begin with the first accepted message, so that the hit is one of a process at work. */
function createFailpoint(plans: readonly FailpointPlan[]): Failpoint {
  let isAtWork = false
  const left = plans.map((plan) => ({ ...plan }))
  return (name, rows = 0) => {
    countRows(rows)
    isAtWork ||= name.startsWith('before:accept')
    const isMeant = (each: FailpointPlan): boolean =>
      each.isArmed === true ? isArmed : isAtWork || each.isFromStart === true
    const plan = left.find((each) => each.name === name && isMeant(each))
    if (plan === undefined) return undefined
    plan.hit -= 1
    if (plan.hit > 0) return undefined
    left.splice(left.indexOf(plan), 1)
    tell({ level: 'info', event: 'failpoint', name, action: plan.action })
    process.kill(process.pid, plan.action === 'kill' ? 'SIGKILL' : 'SIGSTOP')
    return plan.action === 'kill' ? new Promise(() => {}) : undefined
  }
}

/** Writes on every call which process makes it, when it was asked for, for which row, and the how-manieth try it is. */
function labelled(channel: ChannelDefinition): ChannelDefinition {
  const current = new AsyncLocalStorage<Attempt>()
  return {
    ...channel,
    create(given, deps) {
      const tagged: typeof fetch = (input, init) => {
        const attempt = current.getStore()
        const headers = new Headers(init?.headers)
        headers.set('x-crash-test-pid', String(process.pid))
        headers.set('x-crash-test-asked', String(Date.now()))
        headers.set('x-crash-test-row', attempt?.outboxId ?? '')
        headers.set('x-crash-test-try', String(attempt?.number ?? 0))
        return deps.fetch(input, { ...init, headers })
      }
      const adapter = channel.create(given, { ...deps, fetch: tagged })
      return { ...adapter, deliver: (call, attempt) => current.run(attempt, () => adapter.deliver(call, attempt)) }
    },
  }
}

/** Everybody of the crash test is on one host, which would soon have had its answers; the other limits stay. */
function ofOneHost(channel: ChannelDefinition): ChannelDefinition {
  return {
    ...channel,
    create(given, deps) {
      const { capabilities, ...adapter } = channel.create(given, deps)
      const replyLimits = (capabilities.replyLimits ?? []).filter(({ per }) => per !== 'domain')
      return { ...adapter, capabilities: { ...capabilities, replyLimits } }
    },
  }
}

function fediverseConnection(origin: string): ConnectionConfig {
  return activitypub({
    agent: 'garden',
    insecureLoopback: [origin],
    callTimeoutMs: Math.floor(settings.leaseMs / 3),
    // One server is many people here.
    hostLimit: { count: 100_000, perMs: 600_000 },
  })
}

function readConfig(): Config {
  // Two on one machine must not take each other for themselves.
  const relay = `relay-${settings.port}`
  const channels = [
    loopbackClientId,
    loopbackLookup,
    loopbackEdit,
    loopbackNone,
    a2aChannel,
    emailChannel,
    ofOneHost(activitypubChannel),
    ...(settings.peerUrl === undefined ? [] : [aguiChannel]),
  ].map(labelled)
  const environment = {
    PARLEY_PORT: String(settings.port ?? 0),
    PARLEY_DATA_DIR: settings.dataDir,
    PARLEY_ADMIN_TOKEN: adminToken,
    A2A_CHANNEL: 'off',
    EMAIL_CHANNEL: 'off',
    DATABASE_URL: settings.databaseUrl,
    PARLEY_PUBLIC_URL: settings.fediverse === undefined ? undefined : `http://127.0.0.1:${settings.port}`,
  }
  const file = {
    agents: [
      crashTestAgent(settings.toolUrl),
      buyerAgent(settings.toolUrl),
      ...(settings.turns === undefined ? [] : [crashTestAgent(settings.toolUrl, 'second')]),
      ...(settings.modelUrl === undefined ? [] : [stepsAgent(settings.modelUrl, settings.toolUrl)]),
      ...(settings.wordsUrl === undefined ? [] : [wordsAgent(settings.wordsUrl)]),
      ...(settings.peerUrl === undefined ? [] : [relayAgent(relay, settings.peerUrl)]),
      ...(settings.mail === undefined ? [] : [mailAgent]),
      ...(settings.fediverse === undefined ? [] : [gardenAgent]),
      ...(settings.shop === undefined ? [] : shapeAgents(settings.shop)),
      ...(settings.heapMegabytes === undefined ? [] : [poisonAgent(settings.toolUrl)]),
    ],
    connections: [
      ...(settings.wordsUrl === undefined ? [] : [a2a({ agent: 'words', anonymous: true })]),
      ...(settings.peerUrl === undefined
        ? []
        : [a2a({ agent: relay, anonymous: true }), { channel: 'agui', id: 'demo', agent: relay, settings: {} }]),
      ...(settings.mail === undefined
        ? []
        : [
            email({
              agent: 'post',
              access: { mode: 'public', allow: [] },
              smtp: { port: settings.mail.port },
              trustLoopback: true,
              smtpUrl: settings.mail.smtpUrl,
              callTimeoutMs: Math.floor(settings.leaseMs / 3),
            }),
          ]),
      ...(settings.fediverse === undefined ? [] : [fediverseConnection(settings.fediverse)]),
      ...settings.connections.map(({ id, sendClass, vendorUrl, agent, allow, maxTextLength }) => ({
        channel: `loopback-${sendClass}`,
        id,
        ...(agent === undefined ? {} : { agent }),
        settings: {
          secret: loopbackSecret,
          vendorUrl,
          callTimeoutMs: Math.floor(settings.leaseMs / 3),
          ...(maxTextLength === undefined ? {} : { maxTextLength }),
        },
        ...(allow === undefined ? {} : { access: { mode: 'allow_list' as const, allow } }),
      })),
    ],
    turns: { leaseMs: settings.leaseMs, pollMs: 200, retryFirstMs: 50, ...settings.turns },
    sends: {
      backoff: { firstMs: 100, maxMs: 1000 },
      unknownPauseMs: 200,
      ...(settings.reconcileAfterMs === undefined ? {} : { reconcileAfterMs: settings.reconcileAfterMs }),
    },
  }
  return loadConfig(environment, file, channels)
}

async function main(): Promise<void> {
  const running = await startNode({
    config: readConfig(),
    // The bundle lies in dist, beside the folder of the migrations.
    migrationsFolder: fileURLToPath(new URL('../drizzle', import.meta.url)),
    log,
    failpoint: createFailpoint(settings.failpoints),
    ...(settings.isForking === true ? { forkSuspects } : {}),
  })
  const end = (): void => void running.stop(3000).finally(() => process.exit(0))
  process.on('SIGTERM', end)
  // The driver holds the other end: without a driver there is nothing to be proven.
  createInterface({ input: process.stdin }).on('line', obey)
  process.stdin.on('end', () => process.exit(1))
  tell({ level: 'info', event: 'ready', url: running.url })
}

const suspectsWord = 'suspects'

function forkSuspects(): ChildProcess {
  return fork(fileURLToPath(import.meta.url), [suspectsWord], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
}

/** Its failpoints are the gateway's: what is killed here is killed by its message. */
async function mainOfSuspects(): Promise<void> {
  await runSuspectTurns(async () => ({ config: readConfig(), log }))
  process.exit(0)
}

const begun = process.argv[2] === suspectsWord ? mainOfSuspects() : main()
begun.catch((error: unknown) => {
  const code = isGatewayError(error) ? error.code : 'crashed'
  tell({ level: 'error', event: 'refused_to_start', code, text: error instanceof Error ? error.message : 'unknown' })
  process.exit(1)
})

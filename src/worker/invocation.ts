// One invocation: a database client and a gateway of its own, given back when it ends. Isolates share nothing but code.

import type { Config } from '../config.ts'
import type { Mailer } from '../contract/channel.ts'
import type { Database, Failpoint } from '../db/client.ts'
import { openHyperdrive } from '../db/hyperdrive.ts'
import { type Assembled, assembleGateway, type Runtime } from '../gateway/assemble.ts'
import type { RuntimeFiles } from '../gateway/attachments.ts'
import type { IssuerCache } from '../identity/issuers/issuer-client.ts'
import { createUngroupedCommitter } from '../inbound/group-commit.ts'
import { GatewayError } from '../lib/errors.ts'
import type { Log } from '../lib/log.ts'
import type { GatewayConnection } from '../turns/gateway-connection.ts'

export type InvocationOptions = {
  readonly connectionString: string
  readonly maxConnections: number
  /** Undefined: files are refused here. */
  readonly files: RuntimeFiles | undefined
  /** Undefined: nothing is sent here but by fetch. */
  readonly mailer: Mailer | undefined
  readonly log: Log
  /** The isolate's: what is known of token issuers. */
  readonly issuerMemory: IssuerCache
  readonly onWork?: () => void
  readonly failpoint?: Failpoint
}

export type Invocation = Assembled & { readonly database: Database; readonly end: () => Promise<void> }

/** Shortly before the platform ends an invocation: what the database has not taken by then is said. */
const giveUpMs = 14 * 60_000

export function openInvocation(config: Config, options: InvocationOptions): Invocation {
  const database = openHyperdrive(options)
  const { log, onWork, failpoint, files, mailer, issuerMemory } = options
  const assembled = assembleGateway(config, database, {
    fetch: (input, init) => fetch(input, init),
    fenceFetch: createFencedWorkerFetch,
    // Who drains looks for them when it is done.
    isolation: { from: 2, isOffered: () => true, wake: () => {} },
    now: Date.now,
    monotonicMs: () => performance.now(),
    random: Math.random,
    committer: createUngroupedCommitter,
    log,
    issuerMemory,
    ...(files === undefined ? {} : { files }),
    ...(mailer === undefined ? {} : { mailer }),
    ...(onWork === undefined ? {} : { onWork }),
    ...(failpoint === undefined ? {} : { failpoint }),
  })
  const over = setTimeout(assembled.deps.results.giveUp, giveUpMs)
  const endInvocation = async (): Promise<void> => {
    await assembled.deps.presence.rest(2_000)
    clearTimeout(over)
    assembled.stop()
    await database.close()
  }
  const problem = assembled.gateway.connections.map(needsLongRunningProcessProblem).find((each) => each !== undefined)
  if (problem === undefined) return { ...assembled, database, end: endInvocation }
  clearTimeout(over)
  assembled.stop()
  throw new GatewayError('config_invalid', problem)
}

/** What only a process that stays can do, by the name of the connection. */
function needsLongRunningProcessProblem({
  adapter: { channel, ingress },
  connection,
}: GatewayConnection): string | undefined {
  const name = `[${channel}] connection "${connection.id}"`
  const advice = 'which needs a process that stays; run it on Node'
  if (ingress?.poll !== undefined) return `${name} pulls its messages, ${advice}`
  if (ingress?.listen !== undefined) return `${name} listens on a port of its own, ${advice}`
  return undefined
}

/** Asked right before the request is handed to the runtime; there is nothing of ours between that and its first byte. */
const createFencedWorkerFetch: NonNullable<Runtime['fenceFetch']> = (mayLeave, onSend) => async (input, init) => {
  if (!mayLeave(0)) throw new DOMException('too late to be sent', 'TimeoutError')
  onSend?.()
  return fetch(input, init)
}

// Pull sources (polling, sockets, mailboxes): for each connection that pulls, one process holds the source, hands over what came, and
// moves on only when all of it is committed.
import { errorLogFields, isGatewayError } from '../../contract/index.ts'
import type { SourceStore } from '../../db/sources.ts'
import { backoffMs } from '../../outbox/backoff.ts'
import type { GatewayConnection, GatewayDeps } from '../deps.ts'
import { sleep } from '../sleep.ts'
import { pullSource, type SourceHands } from './pull-source.ts'

/** `standby`: another process pulls. `failing`: it is tried again; nothing of it was acknowledged. */
export type SourceState = {
  readonly connection: string
  readonly state: 'standby' | 'pulling' | 'failing'
  readonly code?: string
  /** What the source says of it, where the settings are wrong. */
  readonly problem?: string
  /** In a row, since something was pulled or a pull went on for a while. */
  readonly failures: number
}

export type RunningSources = {
  readonly signs: () => readonly SourceState[]
  /** Ends the pulling and gives the holds back; what is under way is committed or comes again. */
  readonly stop: () => Promise<void>
}

export type SourcesDeps = Pick<GatewayDeps, 'connections' | 'turnPolicy' | 'monotonicMs' | 'random' | 'log'> &
  SourceHands & { readonly sources: SourceStore }

const backoff = { firstMs: 500, maxMs: 30_000 } as const
/** Longer than a connection takes to fail: a pull that goes on for so long has reached its platform, though nothing came. */
const steadyMs = 15_000

export function runSources(deps: SourcesDeps): RunningSources {
  const stopping = new AbortController()
  const signs = new Map<string, SourceState>()
  const running = deps.connections
    .filter((at) => at.adapter.source !== undefined)
    .map((at) => runSource(deps, at, { stop: stopping.signal, tell: (sign) => void signs.set(at.key, sign) }))
  return {
    signs: () => [...signs.values()],
    async stop() {
      stopping.abort()
      await Promise.all(running)
    },
  }
}

type Watch = { readonly stop: AbortSignal; readonly tell: (sign: SourceState) => void }

async function runSource(deps: SourcesDeps, at: GatewayConnection, { stop, tell }: Watch): Promise<void> {
  const connection = at.key
  let failures = 0
  let why: Pick<SourceState, 'code' | 'problem'> = {}
  // Tried for hours, a platform that is down would fill the log with one line.
  let logged: string | undefined
  while (!stop.aborted) {
    const claimedAt = deps.monotonicMs()
    try {
      const held = await deps.sources.claim(connection)
      if (held === undefined) {
        failures = 0
        logged = undefined
        tell({ connection, state: 'standby', failures })
        await sleep(deps.turnPolicy.pollMs, stop)
        continue
      }
      // What failed before is not cleared because it is tried again.
      tell({ connection, state: 'pulling', failures, ...(failures === 0 ? {} : why) })
      const onBatch = (): void => {
        if (logged !== undefined) deps.log.info('source_recovered', { connection, attempt: failures })
        logged = undefined
        failures = 0
        tell({ connection, state: 'pulling', failures })
      }
      const hold = { connection, epoch: held.epoch }
      const steady = setTimeout(onBatch, steadyMs)
      await pullSource(deps, at, { hold, cursor: held.cursor ?? undefined, claimedAt, stop, onBatch }).finally(() =>
        clearTimeout(steady),
      )
      if (!stop.aborted) await sleep(deps.turnPolicy.pollMs, stop)
    } catch (error) {
      if (stop.aborted) return
      failures += 1
      const facts = errorLogFields(error, 'internal')
      const delayMs = backoffMs(failures, backoff, deps.random)
      const reason = JSON.stringify({ ...facts, length: undefined })
      if (reason !== logged) deps.log.warn('source_failed', { connection, ...facts, attempt: failures, delayMs })
      logged = reason
      why = {
        code: facts.code ?? 'internal',
        // Our own words, without anything that was sent.
        ...(isGatewayError(error, 'config_invalid') ? { problem: error.message } : {}),
      }
      tell({ connection, state: 'failing', failures, ...why })
      await sleep(delayMs, stop)
    }
  }
}

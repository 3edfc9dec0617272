// Isolation of suspect turns on Node: they run in child processes, one for those on which a process died once, one for those that
// must be alone. A child that dies takes nothing with it that was not its own, and its crash is known at once.

import type { ChildProcess } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import type { Db } from '../db/client.ts'
import { countSuspectTurnsByCrashes, freeLanesOfDeadHolder } from '../db/suspect-turns.ts'
import type { Log } from '../lib/log.ts'
import { chooseSuspectShare, type Isolation, type SuspectShare } from '../turns/suspects.ts'
import type { TurnPolicy } from '../turns/turn-policy.ts'

/** Starts this program again, as a process that calls `runSuspectTurns`. */
export type ForkSuspects = () => ChildProcess

export type ChildrenDeps = {
  readonly db: Db
  readonly turnPolicy: TurnPolicy
  readonly log: Log
  /** Where the gateway is reached. */
  readonly url: string
  /** Something may have been stored for other loops of the gateway. */
  readonly wake: () => void
}

export type SuspectChildren = { readonly stop: (graceMs: number) => Promise<void> }

/** What the gateway's drain is told. Children can be started once the gateway is there; without a way to, suspects run in it. */
export type NodeIsolation = Isolation & { readonly start: (deps: ChildrenDeps) => SuspectChildren | undefined }

/** Suspects are looked for so often, beside being told; by an index that is almost always empty. */
const findSuspectsEveryMs = 1_000
/** After a child that could not start suspects run in the gateway for so long. */
const pauseMs = 60_000

export function createSuspectTurnIsolation(fork: ForkSuspects | undefined): NodeIsolation {
  let pausedUntil = 0
  let findSuspectsLater = (): void => {}
  const canForkChild = (): boolean => fork !== undefined && performance.now() >= pausedUntil
  const pauseForking = (): void => {
    pausedUntil = performance.now() + pauseMs
  }
  return {
    from: 1,
    isOffered: canForkChild,
    wake: () => findSuspectsLater(),
    start(deps) {
      if (fork === undefined) return undefined
      const children = manageSuspectTurnChildren({ ...deps, fork, isOffered: canForkChild, pause: pauseForking })
      findSuspectsLater = children.check
      return children
    },
  }
}

type SuspectChildrenDeps = ChildrenDeps & {
  readonly fork: ForkSuspects
  readonly isOffered: () => boolean
  readonly pause: () => void
}

function manageSuspectTurnChildren(parts: SuspectChildrenDeps): SuspectChildren & { readonly check: () => void } {
  const children = new Map<SuspectShare, Child>()
  let isStopping = false
  let checking: Promise<void> | undefined

  const startSuspectTurnChild = (share: SuspectShare): void => {
    const child = forkSuspectTurnChild(parts, share)
    const ended = child.gone.then(async (isReady) => {
      // Without the database its leases run out by themselves, and count as a crash.
      await freeLanesOfDeadHolder(parts.db, child.holder, isStopping ? 'ended' : 'crashed').catch(() => {})
      children.delete(share)
      if (!isReady && !isStopping) {
        parts.log.error('suspects_not_started', { pid: child.process.pid ?? 0 })
        parts.pause()
      }
      parts.wake()
      checkForSuspectTurns()
    })
    children.set(share, { ...child, ended })
  }
  const startChildrenForSuspectTurns = async (): Promise<void> => {
    if (isStopping || !parts.isOffered()) return
    for (const { crashes } of await countSuspectTurnsByCrashes(parts.db)) {
      const share = chooseSuspectShare(crashes, parts.turnPolicy.maxCrashes)
      if (share !== undefined && !children.has(share) && !isStopping) startSuspectTurnChild(share)
    }
  }
  const checkForSuspectTurns = (): void => {
    checking ??= startChildrenForSuspectTurns()
      // The database is away; the next look finds the same.
      .catch(() => {})
      .finally(() => {
        checking = undefined
      })
  }
  const timer = setInterval(checkForSuspectTurns, findSuspectsEveryMs)
  checkForSuspectTurns()
  return {
    check: checkForSuspectTurns,
    async stop(graceMs) {
      isStopping = true
      clearInterval(timer)
      await checking
      await Promise.all([...children.values()].map((child) => stopSuspectChild(child, graceMs)))
    },
  }
}

type Started = {
  readonly holder: string
  readonly process: ChildProcess
  /** Whether it had begun its work. */
  readonly gone: Promise<boolean>
}
type Child = Started & { readonly ended: Promise<void> }

function forkSuspectTurnChild({ fork, url, wake, turnPolicy }: SuspectChildrenDeps, share: SuspectShare): Started {
  const holder = `${childPrefix}${randomUUID()}`
  const child = fork()
  let isReady = false
  let silentBeats = 0
  const watch = setInterval(() => {
    silentBeats += 1
    // Stuck: its leases have run out. Counted and not timed: while this process was frozen itself, none could be heard.
    if (silentBeats * beatMs > turnPolicy.leaseMs + beatMs) child.kill('SIGKILL')
  }, beatMs)
  child.on('message', ({ type }: FromSuspects) => {
    silentBeats = 0
    isReady ||= type === 'ready'
    wake()
  })
  const gone = new Promise<boolean>((resolve) => {
    child.once('exit', () => resolve(isReady))
    // One that could not be started has no exit.
    child.on('error', () => child.pid === undefined && resolve(false))
  }).finally(() => clearInterval(watch))
  sendToChild(child, { type: 'run', share, holder, url })
  return { holder, process: child, gone }
}

async function stopSuspectChild({ process: child, ended }: Child, graceMs: number): Promise<void> {
  sendToChild(child, { type: 'stop' })
  const late = setTimeout(() => child.kill('SIGKILL'), graceMs)
  await ended
  clearTimeout(late)
}

function sendToChild(child: ChildProcess, message: ToSuspects): void {
  if (child.connected) child.send(message, () => {})
}

// The messages between a gateway and the process that runs its suspect turns.

/** How the names begin in which such processes hold leases. */
export const childPrefix = 'suspects '

/** To the process: what it is for. `url` is where the gateway is reached: handles of files name it. */
export type SuspectOrder = {
  readonly type: 'run'
  readonly share: SuspectShare
  readonly holder: string
  readonly url: string
}
export type ToSuspects = SuspectOrder | { readonly type: 'stop' }

/** From the process: it has begun, and that it is not stuck. */
export type FromSuspects = { readonly type: 'ready' | 'beat' }

export const beatMs = 1_000
/** Turns reach their next step in this time, or not at all. */
export const orphanGraceMs = 3_000

// The process that runs suspect turns for a gateway: it joins the gateway's database, takes its share of the turns on which a
// process died, and ends when there are none left. It has no port, sends nothing and starts nothing: that remains the gateway's.

import { Worker } from 'node:worker_threads'
import { clearHolderOfHeldLanes } from '../db/suspect-turns.ts'
import { assembleGateway } from '../gateway/assemble.ts'
import { GatewayError } from '../lib/errors.ts'
import { openFileStores } from './folder-blob-store.ts'
import { beatMs, type FromSuspects, orphanGraceMs, type SuspectOrder, type ToSuspects } from './isolation.ts'
import { connectToOpenedDatabase } from './open-database.ts'
import { createDatabaseProbe } from './readiness.ts'
import { createNodeRuntime, type RuntimeOptions } from './runtime.ts'

/** Resolves when nothing is left to run, or it was told to stop. Its caller ends the process then, whatever agents left running. */
export async function runSuspectTurns(load: () => Promise<RuntimeOptions>): Promise<void> {
  if (process.send === undefined)
    throw new GatewayError('config_invalid', 'this is started by a gateway, for itself; use: parley start')
  exitWhenParentEnds()
  const stopping = new AbortController()
  // Ctrl-C and service managers signal every process of a group: the gateway is about to say the same.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stopping.abort())
  const orphaned = new Promise<void>((resolve) => {
    process.once('disconnect', () => {
      stopping.abort()
      setTimeout(resolve, orphanGraceMs)
    })
  })
  const order = await waitForRunMessage(stopping)
  const beat = setInterval(() => sendToGateway({ type: 'beat' }), beatMs)
  try {
    await drainSuspectTurns(await load(), order, { deadline: stopping.signal, orphaned })
  } finally {
    clearInterval(beat)
    if (process.connected) process.disconnect()
  }
}

async function drainSuspectTurns(
  options: RuntimeOptions,
  { share, holder, url }: SuspectOrder,
  { deadline, orphaned }: { readonly deadline: AbortSignal; readonly orphaned: Promise<void> },
): Promise<void> {
  const { config, failpoint } = options
  const database = await connectToOpenedDatabase(config, failpoint)
  try {
    const files = await openFileStores(config, url)
    const runtime = await createNodeRuntime(options, createDatabaseProbe(database, config.tenant))
    const assembled = assembleGateway(config, database, { ...runtime, files, holder })
    sendToGateway({ type: 'ready' })
    try {
      await Promise.race([assembled.gateway.drain({ deadline, untilIdle: true, suspects: share }), orphaned])
      // Of what did not get to its next step: its gateway died, and not of this.
      await clearHolderOfHeldLanes(assembled.deps.db)
    } finally {
      assembled.stop()
      await assembled.closeTools()
    }
  } finally {
    await database.close()
  }
}

function waitForRunMessage(stopping: AbortController): Promise<SuspectOrder> {
  return new Promise((resolve) => {
    process.on('message', (message: ToSuspects) => {
      if (message.type === 'run') resolve(message)
      else stopping.abort()
    })
  })
}

function sendToGateway(message: FromSuspects): void {
  // The gateway may be gone; its `disconnect` ends this process.
  if (process.connected) process.send?.(message, undefined, {}, () => {})
}

/** A thread of its own: a turn that never lets go of this one would outlive its gateway for ever. */
function exitWhenParentEnds(): void {
  const source = `
    const parent = process.ppid
    setInterval(() => {
      if (process.ppid !== parent) setTimeout(() => process.kill(process.pid, 'SIGKILL'), ${2 * orphanGraceMs})
    }, ${beatMs})`
  new Worker(source, { eval: true, stdout: false, stderr: false }).unref()
}

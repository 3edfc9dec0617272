// The waker of this runtime: a message on a queue. It says that there is work, never which; the rows do.
import type { Queue } from '@cloudflare/workers-types'
import type { Log } from '../contract/index.ts'

export type WakeMessage = { readonly v: 1; readonly suspects?: true }

export const wakeMessage: WakeMessage = { v: 1 }
/** For an invocation of their own: turns on which others died. */
export const suspectsMessage: WakeMessage = { v: 1, suspects: true }

export function isSuspectsMessage(body: unknown): boolean {
  return typeof body === 'object' && body !== null && 'suspects' in body && body.suspects === true
}

export type QueueWakeupDeps = {
  readonly queue: Pick<Queue<WakeMessage>, 'send'>
  readonly waitUntil: (work: Promise<unknown>) => void
  readonly log: Log
}

/** One message per invocation, however often it is rung. A message that cannot be sent is made good by the clock. */
export function createQueueWakeup({ queue, waitUntil, log }: QueueWakeupDeps): () => void {
  let isSent = false
  return () => {
    if (isSent) return
    isSent = true
    waitUntil(queue.send(wakeMessage).catch(() => log.warn('wake_not_sent')))
  }
}

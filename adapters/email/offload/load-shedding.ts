// Load shedding: how much of its own time the event loop gives to mails. Most mails are small, and checked here sooner than a
// thread is asked; what a flood of them would cost beyond its share is left to threads, and the loop to all other work.
import type { OffloadError } from '../../../src/contract/index.ts'
import type { MailRefusal } from '../wire/mail.ts'

export type LoopShare = {
  /** Undefined: the share is spent, and a thread does the work. Otherwise it may be done here; `end` says that it is over. */
  readonly begin: () => { readonly end: () => void } | undefined
}

export type LoopShareLimits = {
  /** Milliseconds that may be spent at once. */
  readonly burstMs: number
  /** Of all time, in the long run. */
  readonly share: number
  /** What work is taken to cost until it is over: as much of it as fits into a burst may begin at the same time. */
  readonly assumedMs: number
}

const usualLimits: LoopShareLimits = { burstMs: 20, share: 0.4, assumedMs: 4 }

export function createEventLoopBudget(
  now: () => number = () => performance.now(),
  given: Partial<LoopShareLimits> = {},
): LoopShare {
  const { burstMs, share, assumedMs } = { ...usualLimits, ...given }
  let leftMs = burstMs
  let countedAt = now()
  const refillLoopBudget = (): void => {
    const at = now()
    leftMs = Math.min(burstMs, leftMs + (at - countedAt) * share)
    countedAt = at
  }
  return {
    begin() {
      refillLoopBudget()
      if (leftMs < assumedMs) return undefined
      leftMs -= assumedMs
      const beganAt = now()
      return {
        end() {
          // With what it waited for, and with others' work meanwhile: that errs towards threads. Never more than a second's share.
          const tookMs = Math.min(now() - beganAt, 1000 * share)
          leftMs += assumedMs - tookMs
        },
      }
    },
  }
}

/** Each question to a thread would cost more than its answer. */
const smallMailBytes = 16 * 1024

/** Work on a mail, done here where the mail is small and the loop's share allows it. */
export function createMainOrThreadRunner(loopShare: LoopShare = createEventLoopBudget()) {
  return async <Value>(raw: Uint8Array, here: () => Promise<Value>, inThread: () => Promise<Value>): Promise<Value> => {
    const begun = raw.length > smallMailBytes ? undefined : loopShare.begin()
    if (begun === undefined) return inThread()
    try {
      return await here()
    } finally {
      begun.end()
    }
  }
}

/** It says nothing of the mail: there was no thread for it. */
export const busyReason = 'mail_checks_busy'

/** Always a temporary one: the sender keeps the mail and sends it again. */
export function offloadErrorToRefusal({ failure }: OffloadError): MailRefusal {
  const reason = { busy: busyReason, timeout: 'mail_check_timeout', crashed: 'mail_check_crashed' }[failure]
  return { kind: 'later', reason, remedy: 'Send it again later.' }
}

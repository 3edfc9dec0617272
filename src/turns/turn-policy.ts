// How turns are run: slots, leases, deadlines, retries, and how much of what was said an agent is shown.

import type { MergeLimits } from './plan-turn.ts'

export type TurnPolicy = {
  readonly leaseMs: number
  /** Turns that run at once in this process. */
  readonly slots: number
  /** How many of the slots each agent leaves to other agents, and each connection to other connections. */
  readonly reservedSlots: number
  readonly sendSlots: number
  readonly pollMs: number
  readonly merge: MergeLimits
  /** A turn that takes longer is over if it may have acted; else it is tried once more, for a quarter of this. */
  readonly deadlineMs: number
  /** How long a server may be silent in the middle of a step's `fetch`. */
  readonly fetchTimeoutMs: number
  /** Exceptions before a turn is dead. */
  readonly maxFailures: number
  /** Processes that died on it before a turn is dead: killed, crashed or out of memory; not stopped, and not frozen. */
  readonly maxCrashes: number
  readonly retryFirstMs: number
  /** Outages of what the agent depends on are retried by time, not by count. */
  readonly maxOutageMs: number
  /** After so long the sender is told that it is still tried, where the channel can show it; once in a turn. */
  readonly outageNoticeMs: number
  readonly rotateAfterIdleMs: number
  readonly rotateCommands: readonly string[]
  readonly historyHead: number
  readonly historyTail: number
  /** From the first words of a reply until it is shown while it grows; what is over by then is shown whole. */
  readonly liveAfterMs: number
  /** After how long people are shown that the agent is at work. */
  readonly typingAfterMs: number
}

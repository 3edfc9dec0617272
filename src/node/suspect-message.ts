// What a gateway and the process that runs its suspects say to each other.
import type { SuspectShare } from '../turns/isolation.ts'

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

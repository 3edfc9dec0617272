// The port of suspect turns: which processes died on a turn, which only seemed to, and which turns run apart from the others.
import type { Hold } from './turn-store.ts'

export interface SuspectStore {
  /** This process is alive and has stopped with the turn: its absence counts as no death. */
  comeBack(hold: Hold, turnId: string): Promise<void>
  /** This process ends: what it still holds counts as no death. */
  leave(): Promise<void>
  /** A process that held leases is gone: `died` by itself, which counts, or `ended` by us. */
  bury(holder: string, how: 'died' | 'ended'): Promise<void>
  /** How many turns are due on which a process died, by how often. */
  find(): Promise<readonly { readonly deaths: number; readonly turns: number }[]>
}

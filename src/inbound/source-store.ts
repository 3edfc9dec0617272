// The port of pull sources: one process at a time holds a connection's source; its place moves under that hold only.

export type SourceHold = { readonly connection: string; readonly epoch: number }

export interface SourceStore {
  /** Undefined: another process holds it. `cursor`: where the last holder stopped. */
  claim(connection: string): Promise<{ readonly epoch: number; readonly cursor: string | null } | undefined>
  /** False, here and below: it is no longer ours, and nothing was written. */
  renew(hold: SourceHold): Promise<boolean>
  advance(hold: SourceHold, cursor: string): Promise<boolean>
  release(hold: SourceHold): Promise<boolean>
}

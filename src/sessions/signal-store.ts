// The port of timers and signals (ruling 21): rows that wake a lane without a message.

export interface SignalStore {
  /** Turns due timers into signals in their lanes, in one statement; returns how many fired. */
  fireDue(limit: number): Promise<number>
}

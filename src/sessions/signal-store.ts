// The port of timers and signals (ruling 21): rows that wake a lane without a message.

/** Timers that end a wait; their id is the id of what they end. */
export const expiryKinds = { approval: 'approval_expiry', runtimeTool: 'runtime_tool_timeout' } as const

export interface SignalStore {
  /** Turns due timers into signals in their lanes, in one statement; returns how many fired. */
  fireDue(limit: number): Promise<number>
}

// The port of timers and signals: rows that wake a lane without a message.

/** Timers that end a wait; their id is the id of what they end. */
export const expiryKinds = { approval: 'approval_expiry', runtimeTool: 'runtime_tool_timeout' } as const

/** Signals that end a wait before its time. */
export const pauseSignals = { approval: 'approval', runtimeTool: 'runtime_tool' } as const

const pauseKinds: readonly string[] = [...Object.values(expiryKinds), ...Object.values(pauseSignals)]

/** Whether a signal ends what a paused run waits for: its payload is ours then, and no agent's. */
export function endsPause({ kind }: { readonly kind: string }): boolean {
  return pauseKinds.includes(kind)
}

export function endsApproval({ kind }: { readonly kind: string }): boolean {
  return kind === pauseSignals.approval || kind === expiryKinds.approval
}

export interface SignalStore {
  /** Turns due timers into signals in their lanes, in one statement; returns how many fired. */
  fireDue(limit: number): Promise<number>
}

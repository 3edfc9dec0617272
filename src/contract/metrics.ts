// The metrics interface: what accepting, turns and deliveries report. Labels are connections and codes; never a subject, an id or
// text.

/** Verify, normalize, accept. `failed` and `later`: not stored and not acknowledged, the platform will deliver again. `limited`: more than strangers may send. */
export type InboundOutcome =
  | 'accepted'
  | 'duplicate'
  | 'stale'
  | 'refused'
  | 'ignored'
  | 'unreadable'
  | 'rejected'
  | 'handshake'
  | 'failed'
  | 'later'
  | 'limited'
  /** The day's share of people who are not admitted is used up, or there is too little room on the disk: not stored. */
  | 'spent'

/** Turns. `again`: given back to its lane, to be tried later; `fenced`: another process had taken over. */
export type TurnOutcome = 'replied' | 'silent' | 'dead' | 'again' | 'split' | 'fenced'

/** Deliveries: what one attempt came to. */
export type SendOutcome =
  | 'delivered'
  | 'retry'
  | 'rate_limited'
  | 'unknown'
  | 'refused'
  | 'dead'
  | 'cancelled'
  | 'fenced'

/** What a tool call came to. `denied`: by policy, a check or a person; `asked`: a person is asked first; `waiting`: a client runs it. */
export type ToolOutcome = 'succeeded' | 'failed' | 'denied' | 'asked' | 'waiting'

export type WorkerLoopName = 'turns' | 'sends' | 'timers'

/** Counts; whatever it does with them must neither throw nor take time. */
export interface Meter {
  received(connection: string, outcome: InboundOutcome, reason: string): void
  /** From the moment an inbound event was looked at until its commit. */
  committed(connection: string, ms: number): void
  claimed(loop: WorkerLoopName, count: number): void
  turnEnded(connection: string, outcome: TurnOutcome, ms: number): void
  agentFailed(connection: string, code: string): void
  toolCalled(tool: string, outcome: ToolOutcome, ms: number): void
  /** Another model of an agent answers from now on; `reason` is why, `back` where the first one does again. */
  modelSwitched(agent: string, reason: string): void
  /** The operator's routes rejected a caller. */
  callerRefused(reason: string): void
  /** `ms` is absent where nothing was sent: expired before its turn came, or found out by looking it up. */
  sent(connection: string, outcome: SendOutcome, reason: string, ms?: number): void
}

export const noMeter: Meter = {
  received() {},
  committed() {},
  claimed() {},
  turnEnded() {},
  agentFailed() {},
  toolCalled() {},
  modelSwitched() {},
  callerRefused() {},
  sent() {},
}

// The port of run control: what runs, who stopped it, and its log. Runs go by the id of their turn.
import type { JsonObject } from '../contract/index.ts'
import type { Hold, NewRunEvent } from './turn-store.ts'

/** What stops a run that its own owner interrupts by writing again (busy policy `interrupt`). */
export const interruptedBy = 'interrupt'

export type RunLine = {
  readonly id: string
  /** What the outside calls it. */
  readonly runId: string
  readonly agent: string
  readonly connection: string
  readonly conversationId: string
  readonly sessionId: string | null
  readonly owner: string | null
  readonly status: string
  readonly stopReason: string | null
  readonly attempt: number
  readonly resumes: string | null
  readonly createdAt: string
  readonly endedAt: string | null
  readonly cancelRequestedAt: string | null
  readonly cancelledBy: string | null
}

export type Run = RunLine & {
  readonly usage: JsonObject
  readonly budgets: JsonObject
  readonly summary: JsonObject
  readonly lastSeq: number | null
}

export type RunEvent = {
  readonly seq: number
  readonly attempt: number
  readonly createdAt: string
  readonly event: JsonObject
}

/** `stopping`: its replica has been told. `cancelled`: it was paused and is over. `over`: it had ended before. */
export type CancelOutcome = { readonly kind: 'stopping' | 'cancelled' | 'over'; readonly status: string }

/** What became of a running run since one last looked. */
export type RunNews = { readonly id: string; readonly stoppedBy: string | null; readonly hasWaiting: boolean }

/** What goes on in a conversation, for a person who takes part in it. */
export type RunsAtAGlance = {
  readonly conversationId: string
  readonly running: {
    readonly id: string
    readonly owner: string | null
    readonly runningMs: number
    readonly isStopping: boolean
    /** Type of the latest event of its log. */
    readonly activity: string | null
  } | null
  readonly paused: readonly { readonly id: string; readonly owner: string | null; readonly status: string }[]
  readonly queued: number
  readonly sessionMs: number | null
}

/** A run that was asked for and has not begun, and so has no row but its message's and its task's. */
export type WaitingRun = { readonly taskId: string; readonly connection: string; readonly subject: string | null }

export type RunQuery = { readonly limit: number; readonly before: string | null; readonly status: string | null }

export interface RunStore {
  /** By the id of its turn or what the outside calls it; several when that is not unique. `owner`: only theirs. Newest first. */
  find(id: string, owner?: string): Promise<readonly Run[]>
  /** By what the outside calls it, the newest where it calls several so. `owner`: only theirs. */
  waiting(id: string, owner?: string): Promise<WaitingRun | undefined>
  list(query: RunQuery): Promise<readonly RunLine[]>
  /** Events after `after`, oldest first. */
  events(id: string, after: number, limit: number): Promise<readonly RunEvent[]>
  /** One compare-and-set: asking again, or too late, changes nothing. Undefined: there is no such run. */
  cancel(id: string, by: string): Promise<CancelOutcome | undefined>
  /** `conversationId`: the conversation, or the one beside it where commands about it go. */
  glance(conversationId: string, subject: string | null): Promise<RunsAtAGlance | undefined>
  /**
   * The thread of a room in which something runs or waits for a person who takes part in it; with a code, in which that waits.
   * `conversationId`: of the room's main line, or beside it. `room`: what its main line is called; threads begin with that and a colon.
   */
  busyThread(asked: {
    readonly conversationId: string
    readonly subject: string
    readonly room: string
    readonly code: string | null
  }): Promise<string | undefined>
  news(ids: readonly string[]): Promise<readonly RunNews[]>
  /** While the run goes on, under its lane's fence; `isHeld` false: nothing was written. */
  append(hold: Hold, turnId: string, attempt: number, events: readonly NewRunEvent[]): Promise<AppendOutcome>
}

export type AppendOutcome = { readonly isHeld: boolean; readonly stoppedBy: string | null }

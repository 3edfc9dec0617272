// The port of a replay: everything that was stored of one turn, or of a message that never had one. Reads only.
import type { RecordedStep } from '../../agent/journal-store.ts'
import type { Envelope, JsonObject } from '../../contract/index.ts'
import type { OpenTurn, WaitingMessage, WaitingSignal } from '../../sessions/turn-store.ts'

export type StoredTurn = Omit<OpenTurn, 'outageMs'> & {
  readonly state: string
  readonly reason: string | null
}

/** A message as it lies in the inbox; its content is gone once retention or its author took it away. */
export type StoredMember = Omit<WaitingMessage, 'message' | 'replyTo'> & {
  readonly message: WaitingMessage['message'] | null
  readonly replyTo: JsonObject | null
  /** The redacted original. */
  readonly raw: JsonObject | null
  readonly state: string
  readonly reason: string | null
  readonly receivedAt: string
}

/** What went out, or was to go out, as the vendor gets it. */
export type SentCall = { readonly purpose: string; readonly primary: boolean; readonly call: JsonObject }

export type Stored = {
  readonly tenant: string
  readonly connection: string
  readonly agent: string
  readonly conversationId: string | null
  readonly sessionId: string | null
  readonly replyTo: JsonObject
  /** Null for a message that was never taken into a turn. */
  readonly turn: StoredTurn | null
  readonly members: readonly StoredMember[]
  readonly signal: WaitingSignal | null
  readonly steps: readonly RecordedStep[]
  readonly calls: readonly SentCall[]
  /** Its reply grew before it was final. */
  readonly hasLive: boolean
  /** Names of the timers the turn set. */
  readonly timers: readonly string[]
  /** The transcript as it stood before. */
  readonly history: readonly Envelope[]
}

export interface ReplayStore {
  /** `id` of a message, a turn or a delivery. `head` and `tail`: lines of the transcript to read. */
  find(id: string, head: number, tail: number): Promise<Stored | undefined>
}

// The port of consent: what people said about it in a chat, and the decisions that were made for an act, beside the act.
import type { ConsentContext, ConsentDecision, ConsentOperation } from './consent.ts'

/** What a person said. The same id again changes nothing. */
export type ConsentWord = {
  readonly id: string
  readonly operation: ConsentOperation
  readonly isAllowed: boolean
  readonly principal: string
  readonly connection: string
  readonly agent: string
}

/** What was to be done in a session, by whom, and whether it could. */
export type DecidedAct = {
  readonly id: string
  readonly sessionId: string
  readonly decision: ConsentDecision
  readonly action: string
  readonly actor: string
}

export interface ConsentStore {
  /** What a person said last, operation by operation. */
  given(principal: string): Promise<ConsentContext['consent']>
  /** When a person withdraws consent to keep transcripts, those kept on this legal basis are erased. */
  recordWord(word: ConsentWord): Promise<void>
  /** Whether all participants of a session have agreed; false without participants. */
  isAgreedIn(sessionId: string, operation: ConsentOperation): Promise<boolean>
  recordDecision(act: DecidedAct): Promise<void>
}

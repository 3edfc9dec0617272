// What people who are not admitted may send in a day to one connection, where any server can send: counted by all replicas together.
import type { DayShare } from '../contract/index.ts'

/**
 * `unproven`: nothing proves who sent it. `unknown`: proven, and not admitted, or asking for nothing. `report`: about something that
 * we sent, known by a token of ours. Counted apart: a flood of forgeries keeps no newcomer from asking to be
 * let in, and no report from being heard.
 */
export type UnprovenSenderKind = 'unproven' | 'unknown' | 'report'

export type UnprovenSenderCharge = {
  readonly connection: string
  readonly kind: UnprovenSenderKind
  readonly messages: number
  readonly receivedBytes: number
  readonly storedBytes: number
}

/** `isFirst`: no sender was refused for it before on this day. */
export type Charged =
  | { readonly kind: 'within' }
  | { readonly kind: 'spent'; readonly isFirst: boolean; readonly secondsLeft: number }

export interface UnprovenSenderStore {
  /** Counts what came in one inbound event, if the day's share allows it. */
  charge(charge: UnprovenSenderCharge, share: DayShare): Promise<Charged>
}

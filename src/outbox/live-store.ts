// The port of live messages, and of words to those who wait behind one: written while a turn runs, under the fence of its lane.
import type { JsonObject, NormalizedResponse, QueuedCall } from '../contract/index.ts'

export type NewLiveRow = {
  readonly id: string
  readonly turnId: string
  readonly orderKey: string
  readonly call: JsonObject
  readonly clientId: string
}

/** `reference`: the vendor's id, once it was delivered. */
export type LiveRow = { readonly isSettled: boolean; readonly reference: string | null; readonly clientId: string }

/** A message waits behind a turn, and is told so: by calls that do not count as an answer, and in the task it asks for. */
export type WaitNotice = {
  readonly inboxId: string
  readonly taskId: string | null
  readonly said: NormalizedResponse
  readonly calls: readonly Pick<QueuedCall, 'id' | 'ordinal' | 'orderKey' | 'call' | 'clientId'>[]
}

export interface LiveStore {
  /** `known`: an earlier attempt of the turn wrote it. */
  open(
    hold: { readonly conversationId: string; readonly epoch: number },
    row: NewLiveRow,
  ): Promise<'opened' | 'known' | 'lease_lost'>
  find(turnId: string): Promise<LiveRow | undefined>
  /** Once per message, however often it is asked for; none of a message that is taken up by now. How many calls were written. */
  tellWaiting(
    hold: { readonly conversationId: string; readonly epoch: number },
    turnId: string,
    notices: readonly WaitNotice[],
  ): Promise<number>
}

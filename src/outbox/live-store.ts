// The port of live messages: the row that opens one is written while its turn runs, under the fence of its lane.
import type { JsonObject } from '../contract/index.ts'

export type NewLiveRow = {
  readonly id: string
  readonly turnId: string
  readonly orderKey: string
  readonly call: JsonObject
  readonly clientId: string
}

/** `reference`: the vendor's id, once it was delivered. */
export type LiveRow = { readonly isSettled: boolean; readonly reference: string | null; readonly clientId: string }

export interface LiveStore {
  /** `known`: an earlier attempt of the turn wrote it. */
  open(
    hold: { readonly conversationId: string; readonly epoch: number },
    row: NewLiveRow,
  ): Promise<'opened' | 'known' | 'lease_lost'>
  find(turnId: string): Promise<LiveRow | undefined>
}

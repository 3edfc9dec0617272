// Records of a channel: what it knows for good about others (who follows an agent, what they are called), shared by every
// replica, and what an inbound event changes in it.
import type { JsonObject } from '../lib/json-value.ts'

/** `agent`: which of ours it is about. `subject`: whose it is, so that it is erased with them. */
export type RecordFacts = { readonly agent?: string; readonly subject?: string }

export type ChannelRecord = {
  readonly key: string
  readonly value: JsonObject
  /** When it was put there; putting it again does not change that. */
  readonly at: string
}

/** Store port: records of a connection. They end only where a caller removes or erases them. */
export interface Records {
  /** False: with `isOnce` it was there already and stays as it was. */
  put(
    family: string,
    key: string,
    value: JsonObject,
    options?: RecordFacts & { readonly isOnce?: boolean },
  ): Promise<boolean>
  get(family: string, key: string): Promise<JsonObject | undefined>
  /** False: it was not there. */
  remove(family: string, key: string): Promise<boolean>
  /** By key; at most a thousand at once. */
  list(
    family: string,
    page: { readonly after?: string; readonly limit: number; readonly agent?: string },
  ): Promise<readonly ChannelRecord[]>
  count(family: string, of?: { readonly agent?: string }): Promise<number>
}

/** What an inbound event changes in the records: in the commit that stores it, and only if it was not stored before. */
export type RecordWrite =
  | ({ readonly kind: 'put'; readonly family: string; readonly key: string; readonly value: JsonObject } & RecordFacts)
  | { readonly kind: 'remove'; readonly family: string; readonly key: string }

/**
 * A call that answers an inbound event by the rules of its protocol, without an agent having been asked: queued in the commit that stores
 * it, once for its client id, and delivered like any other.
 */
export type ProtocolReply = { readonly call: JsonObject; readonly orderKey: string; readonly clientId: string }

// The port for deliveries an operator looks at.
import type { JsonObject, Page } from '../contract/index.ts'

export type DeliveryLine = {
  /** Its place in the list; the next page begins before it. */
  readonly seq: number
  readonly id: string
  readonly connection: string
  readonly state: string
  readonly reason: string | null
  readonly purpose: string
  readonly attempt: number
  readonly vendorId: string | null
  readonly turnId: string | null
  readonly createdAt: string
  readonly settledAt: string | null
  /** A server on the way said that it came back, or is late; null where none did. Its state stays what it was. */
  readonly bounceKind: 'failed' | 'delayed' | null
  readonly bounceReason: string | null
  readonly bouncedAt: string | null
}

export type Delivery = DeliveryLine & {
  readonly call: JsonObject
  readonly ordinal: number
  readonly maybeRepeat: boolean
}

/** Failed calls an operator may send again. */
export type FailedDeliveries = {
  readonly state: 'unknown' | 'refused' | 'dead'
  /** Those that ended then or later. */
  readonly since: string
  /** Null: of all. */
  readonly connection: string | null
}

export interface DeliveryStore {
  list(states: readonly string[], page: Page): Promise<readonly DeliveryLine[]>
  show(id: string): Promise<Delivery | undefined>
  /** Sends a failed or unknown call again, and writes down by whom; false when it is not one. */
  retry(id: string, by: string): Promise<boolean>
  /** Counted up to 10 000. */
  countFailed(failed: FailedDeliveries): Promise<number>
  /** The oldest first, so that each conversation gets them in order. */
  findFailed(failed: FailedDeliveries, limit: number): Promise<readonly string[]>
  drop(id: string, by: string): Promise<boolean>
}

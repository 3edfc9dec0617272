// The port for deliveries an operator looks at.
import type { JsonObject } from '../contract/index.ts'

export type DeliveryLine = {
  readonly id: string
  readonly connection: string
  readonly state: string
  readonly reason: string | null
  readonly purpose: string
  readonly attempt: number
  readonly vendorId: string | null
  readonly turnId: string | null
}

export type Delivery = DeliveryLine & {
  readonly call: JsonObject
  readonly ordinal: number
  readonly maybeRepeat: boolean
}

export interface DeliveryStore {
  list(states: readonly string[], limit: number): Promise<readonly DeliveryLine[]>
  show(id: string): Promise<Delivery | undefined>
  /** Sends a failed or unknown call again; false when it is not one. */
  retry(id: string): Promise<boolean>
  drop(id: string): Promise<boolean>
}

// What an operator asks of a channel while it runs. What it changes is taken like an inbound event: one row, one commit, once by its name.
import type { Connection, IgnoredEvent } from './arrival.ts'
import type { JsonObject } from './json.ts'

export type OperationFacts = { readonly connection: Connection; readonly at: string }

/** Stored as an inbound event that asks for nothing: `reason` says what was done, `deliveryId` makes it happen once. */
export type OperationChange = Pick<
  IgnoredEvent,
  'effects' | 'sends' | 'cancels' | 'reach' | 'subject' | 'deliveryId'
> & {
  readonly reason: string
}

/** `value`: what is shown to the operator. Without `change` it only looked. */
export type OperationResult = { readonly value: JsonObject; readonly change?: OperationChange }

/** Throws `bad_request` or `not_found` where what was asked cannot be done, with what to do instead. */
export type Operation = (input: JsonObject, facts: OperationFacts) => Promise<OperationResult>

/** By name, such as `reports.list`. */
export type Operations = Readonly<Record<string, Operation>>

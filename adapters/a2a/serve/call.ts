// One request on its way through the bindings: who calls, which agent, in which version; and the possible outcomes.
import type {
  AgentProfile,
  CallerVerifier,
  Connection,
  FileSource,
  JsonObject,
  ServeContext,
  TaskCaller,
  TaskService,
} from '../../../src/contract/index.ts'
import type { A2aSettings } from '../config.ts'
import type { PublishedCards } from '../discovery/card-desk.ts'
import type { A2aCaller } from '../wire/caller.ts'
import { createFault, type Fault, type FieldViolation } from '../wire/faults.ts'
import type { ReadResult } from '../wire/fields.ts'
import type { StreamResponse } from '../wire/objects.ts'
import type { Dialect } from '../wire/operations.ts'
import type { PageTokens } from './page-token.ts'

export type A2aDeps = {
  readonly settings: A2aSettings
  readonly connection: Connection
  readonly callers: CallerVerifier
  readonly tasks: TaskService
  readonly agents: () => readonly AgentProfile[]
  readonly files: FileSource | undefined
  readonly cards: PublishedCards
  readonly pages: PageTokens
  /** The public origin of this gateway; without it addresses are those that were asked, which prove nothing. */
  readonly publicUrl: string | undefined
  readonly newId: () => string
  readonly now: () => number
}

export type A2aRequest = {
  readonly door: ServeContext
  readonly caller: A2aCaller
  /** The agent that the address names; undefined at the hub. */
  readonly named: string | undefined
  /** The agent it is for where the message names no other. */
  readonly agent: string
  readonly origin: string
  readonly dialect: Dialect
  readonly extensions: readonly string[]
  /** The last event id of a reader that lost its stream. */
  readonly lastEventId: string | undefined
  readonly signal: AbortSignal
}

/** `id`: where its reader has got to with it. */
export type Frame = { readonly response: StreamResponse; readonly id?: string; readonly isLast: boolean }

export type Outcome =
  | { readonly kind: 'result'; readonly body: JsonObject }
  | { readonly kind: 'stream'; readonly first: readonly Frame[]; readonly rest: AsyncIterable<readonly Frame[]> }
  | Fault

export type Operation = (deps: A2aDeps, call: A2aRequest, params: Readonly<Record<string, unknown>>) => Promise<Outcome>

export function resultOutcome(body: object): Outcome {
  // Written by render, which writes JSON.
  return { kind: 'result', body: body as JsonObject }
}

export function taskCaller({ caller }: Pick<A2aRequest, 'caller'>): TaskCaller {
  return { subject: caller.subject }
}

/** What was read, or every field that is wrong with it. */
export function valueOrFault<T>(reading: ReadResult<T>): T | Fault {
  return reading.ok ? reading.value : invalidParams(reading.violations)
}

export function invalidParams(violations: readonly FieldViolation[]): Fault {
  const [first] = violations
  const what = first === undefined ? '' : `: ${first.field} ${first.description}`
  const more = violations.length > 1 ? ` (and ${violations.length - 1} more)` : ''
  return createFault('invalid_params', `invalid parameters${what}${more}`, { violations })
}

/** The same words whether there is none or it is another caller's, so that the answer does not tell which. */
export function taskNotFound(): Fault {
  return createFault('task_not_found', 'task not found')
}

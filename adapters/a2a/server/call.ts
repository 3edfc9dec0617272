// One request on its way through the bindings: who calls, which agent, in which version; its task, its page, and the possible
// outcomes.
import type {
  AgentProfile,
  CallerVerifier,
  ChannelDeps,
  Connection,
  FileSource,
  ServeContext,
  Task,
  TaskService,
  TaskSnapshot,
} from '../../../src/contract/index.ts'
import { equalInConstantTime, type JsonObject, toHex } from '../../../src/lib/index.ts'
import type { A2aSettings } from '../config.ts'
import { createFault, type Fault, type FieldViolation } from '../protocol/faults.ts'
import type { A2aCaller, StreamResponse } from '../protocol/objects.ts'
import type { Dialect } from '../protocol/operations.ts'
import type { ReadResult } from '../protocol/requests.ts'
import type { PublishedCards } from './agent-card.ts'

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
  readonly context: ServeContext
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

export function toResultOutcome(body: object): Outcome {
  // Written by render, which writes JSON.
  return { kind: 'result', body: body as JsonObject }
}

export function pickCallerSubject({ caller }: Pick<A2aRequest, 'caller'>): Pick<A2aCaller, 'subject'> {
  return { subject: caller.subject }
}

/** What was read, or every field that is wrong with it. */
export function valueOrFault<T>(reading: ReadResult<T>): T | Fault {
  return reading.ok ? reading.value : invalidParamsFault(reading.violations)
}

export function invalidParamsFault(violations: readonly FieldViolation[]): Fault {
  const [first] = violations
  const what = first === undefined ? '' : `: ${first.field} ${first.description}`
  const more = violations.length > 1 ? ` (and ${violations.length - 1} more)` : ''
  return createFault('invalid_params', `invalid parameters${what}${more}`, { violations })
}

/** The same words whether there is none or it is another caller's, so that the answer does not tell which. */
export function taskNotFoundFault(): Fault {
  return createFault('task_not_found', 'task not found')
}

// Page tokens say where a list goes on, for this caller and this query alone. They are authenticated, so a caller cannot make one
// up.

export type TaskQuery = Parameters<TaskService['list']>[0]

type PageTokens = {
  write(after: NonNullable<TaskQuery['after']>, about: readonly unknown[]): Promise<string>
  /** Undefined: not one of ours, or of another list. */
  read(token: string, about: readonly unknown[]): Promise<TaskQuery['after'] | undefined>
}

const utf8 = new TextEncoder()

export function createPageTokens(hmac: ChannelDeps['hmac'], secret: () => Promise<string>): PageTokens {
  const signPageToken = async (text: string, about: readonly unknown[]): Promise<string> => {
    const bytes = utf8.encode(JSON.stringify(['a2a-page', text, ...about]))
    return toHex(await hmac.sha256(await secret(), bytes)).slice(0, 32)
  }
  return {
    async write({ stateAt, id }, about) {
      const text = JSON.stringify([stateAt, id])
      return `${btoa(text)}.${await signPageToken(text, about)}`
    },
    async read(token, about) {
      const [encoded = '', given = ''] = token.split('.')
      const text = decodePageToken(encoded)
      if (text === undefined) return undefined
      const isOurs = equalInConstantTime(given, await signPageToken(text, about))
      return isOurs ? parsePagePosition(text) : undefined
    },
  }
}

function decodePageToken(encoded: string): string | undefined {
  try {
    return atob(encoded)
  } catch {
    return undefined
  }
}

/** Marked by us, so that it is what we wrote. */
function parsePagePosition(text: string): TaskQuery['after'] {
  const [stateAt, id] = JSON.parse(text) as readonly [string, string]
  return { stateAt, id }
}

// A task is found as far as the caller may see it: its own, and at the address it was asked for under.

export async function findTask({ tasks }: A2aDeps, call: A2aRequest, id: string): Promise<Task | Fault> {
  const task = await tasks.find(id, pickCallerSubject(call))
  return task === undefined || !isTaskOfAddress(task, call) ? taskNotFoundFault() : task
}

export async function readOwnTask({ tasks }: A2aDeps, call: A2aRequest, id: string): Promise<TaskSnapshot | Fault> {
  const snapshot = await tasks.read(id, pickCallerSubject(call))
  return snapshot === undefined || !isTaskOfAddress(snapshot.task, call) ? taskNotFoundFault() : snapshot
}

/** One agent's address knows nothing of another's tasks; the hub knows all of them. */
export function isTaskOfAddress({ agent }: Task, { named }: A2aRequest): boolean {
  return named === undefined || named === agent
}

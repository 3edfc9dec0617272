// The turn as its steps share it: its lane, its messages, what it has done so far, and what replies, logs and events say of it.

import type { ReplyFacts } from '../agents/reply.ts'
import { createStepLog, type StepLog } from '../agents/steps.ts'
import type { TurnPast } from '../db/journal.ts'
import type { HeldLane, NewTurn, OpenTurn, WaitingMessage, WaitingSignal } from '../db/turn-rows.ts'
import type { Fields } from '../lib/index.ts'
import type { LogFields } from '../lib/log.ts'
import type { LiveEnd } from '../outbound/render.ts'
import type { GatewayConnection } from './gateway-connection.ts'
import type { Absorbed } from './plan-turn.ts'

/** A turn that is ours to run. Its rows are frozen: a crash from here on resumes exactly this. */
export type TurnContext = {
  readonly lane: HeldLane
  readonly at: GatewayConnection
  readonly turn: OpenTurn
  /** When this try began, by the monotonic clock. */
  readonly startedAt: number
  /** Grows while the turn runs, if its agent lets messages join it. */
  readonly members: Absorbed[]
  /** What joined it in an earlier try, by the question for news that heard it; heard again there, and at its end at the latest. */
  readonly joined: Map<number, readonly Absorbed[]>
  /** What it has done so far, and in whose journal that stands. Made when a step or a failure asks for it. */
  readonly steps: () => StepLog
  readonly journalTurn: string
  /** Which lines of its session it was shown before; undefined: it is the first try. */
  readonly view?: TurnPast['view']
  readonly signal: WaitingSignal | null
  readonly edit: WaitingMessage | null
  /** Its session begins with it, and nothing was said there before. */
  readonly isFirst?: boolean
  /** Whose words it answers, as they were let in; unknown where it is taken up again. */
  readonly speaker?: Fields | undefined
  /** It goes through the steps of an earlier turn again, with that one's messages: nothing new joins it. */
  readonly isRerun?: true
  /** It does not run: its members do, one by one. */
  readonly splitBecause?: string
  /** It does not run: what it has done cannot be gone on with. */
  readonly deadBecause?: string
  /** Its live message, known when it ends. */
  readonly live?: LiveEnd | undefined
  /** Words that were shown while it ran. */
  readonly shown?: string
}

/** A turn whose row was just written, without members yet. `past`: of the turn whose steps it goes through again. */
export function createContextOfOpenedTurn(
  { monotonicMs }: { readonly monotonicMs: () => number },
  at: GatewayConnection,
  lane: HeldLane,
  turn: NewTurn,
  past?: TurnPast,
): TurnContext {
  let steps: StepLog | undefined
  return {
    lane: { ...lane, replyTo: turn.replyTo ?? lane.replyTo },
    at,
    // Only an access challenge has no session, and it looks for none.
    turn: { ...turn, sessionId: turn.sessionId ?? '', failures: 0, crashes: 0, outageMs: null },
    startedAt: monotonicMs(),
    members: [],
    joined: new Map(),
    steps: () => (steps ??= createStepLog(past?.steps)),
    journalTurn: past?.journalTurn ?? turn.id,
    ...(past === undefined ? {} : { view: past.view }),
    signal: null,
    edit: null,
  }
}

/** A turn that the claimed lane did not have yet has just been opened. */
export function isNewlyOpenedTurn({ lane }: Pick<TurnContext, 'lane'>): boolean {
  return lane.openTurn === null
}

export function replyFields({ members, lane, turn }: TurnContext): ReplyFacts {
  const lead = members.at(-1)?.message
  return { threadId: lead?.thread_id ?? lane.conversationId, inReplyTo: lead?.id ?? turn.id, agent: lane.agent }
}

export function getRunId({ turn }: TurnContext): string {
  return turn.runId ?? turn.id
}

/** For lines of the gateway's log. */
export function turnLogFields({ lane, turn, members }: TurnContext): LogFields {
  const { connection, agent } = lane
  return { connection, trace: turn.traceId, turn: turn.id, agent, attempt: turn.attempt, members: members.length }
}

/** For events that observers of the gateway are told. */
export function turnEventFields(ready: TurnContext) {
  const { lane, turn, members } = ready
  const { connection, conversationId, agent } = lane
  return {
    connection,
    conversationId,
    agent,
    turnId: turn.id,
    runId: getRunId(ready),
    sessionId: turn.sessionId,
    messageIds: members.map((member) => member.row.messageId),
  }
}

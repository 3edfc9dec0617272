// Rerunning a run that stopped because an agent it asked needs a decision. Where a function of the chain stood cannot be stored,
// so what is stored is how the run began and what was decided: it is run again from its journal, and finds the decisions on its
// way.

import type { EndedPause } from '../agents/approvals/pauses.ts'
import type { Signal } from '../agents/define-agent.ts'
import { toStorableJson } from '../lib/index.ts'
import type { Json, JsonObject } from '../lib/json-value.ts'

/** How the run began. */
export type Beginning = {
  /** The turn whose messages it is about. */
  readonly turn: string
  readonly hasMessages: boolean
  /** Null: messages. */
  readonly signal: Signal | null
}

/** What was decided about the question with this key, the same whenever the run is run again. */
export type DecidedQuestion = Pick<Approval, 'id' | 'decision' | 'resolver' | 'reason' | 'applyInput'> & {
  readonly key: string
}

type Approval = Extract<EndedPause, { kind: 'approval' }>

export type Rerun = { readonly beginning: Beginning; readonly decided: readonly DecidedQuestion[] }

/** Beside what an agent puts there itself: no key of its own begins like this. */
const field = 'gw:rerun'

/** For what is stored with a question. */
export function withRerun(stored: JsonObject, { beginning, decided }: Rerun, key: string): JsonObject {
  // Signals and decisions were read from rows.
  return { ...stored, [field]: toStorableJson({ beginning, decided, key }) as Json }
}

/** Undefined: the agent that the messages are for has asked, and goes on by itself. */
export function readRerun(stored: JsonObject | null, pause?: Approval): Rerun | undefined {
  const found = stored?.[field]
  if (found === undefined) return undefined
  // Written above and by nothing else.
  const { beginning, decided, key } = found as unknown as Rerun & { readonly key: string }
  if (pause === undefined) return { beginning, decided }
  const { id, decision, resolver, reason, applyInput } = pause
  return { beginning, decided: [...decided, { key, id, decision, resolver, reason, applyInput }] }
}

// The end of a turn that said and did nothing; a test changes what it is about.
import type { NewTurn, TurnEnd } from '../../src/db/turn-rows.ts'

export function silentEnd(turn: NewTurn, changes: Partial<TurnEnd> = {}): TurnEnd {
  return {
    turnId: turn.id,
    sessionId: turn.sessionId,
    state: 'silent',
    reason: null,
    response: null,
    leadId: turn.members.at(-1)?.id ?? null,
    leadState: 'refused',
    leadReason: 'silent',
    envelopes: [],
    erased: [],
    calls: [],
    timers: [],
    run: { status: 'completed', stopReason: 'natural', usage: {}, budgets: {}, summary: {} },
    events: [],
    actions: [],
    requests: [],
    resolved: null,
    pairing: null,
    ground: null,
    hasLive: false,
    taskState: null,
    ...changes,
  }
}

// The output of a run while it goes on (transcript lines, extra replies, timers, usage), collected for the commit that ends its
// turn.
import type { AgentContext, ClientToolReport } from '../agents/define-agent.ts'
import { completeReply, type ReplyFacts } from '../agents/reply.ts'
import type { Envelope, Fields, NormalizedResponse } from '../contract/index.ts'
import type { NewTimer, RunEnd } from '../db/turn-rows.ts'
import { payloadWithChain, type TurnChain } from './call-chain.ts'
import type { GatewayDeps } from './deps.ts'
import type { ReadyTurn } from './prepare-turn.ts'
import type { RunControl } from './run-control.ts'
import { runEnd } from './run-end.ts'
import { notifyRunEvent } from './run-log.ts'

type MadeBy = {
  readonly control: RunControl
  readonly facts: () => ReplyFacts
  /** Shows words while the reply grows. */
  readonly show: (delta: string) => void
  readonly chain: TurnChain
}

/** What a run leaves behind while it goes on. */
export type Made = {
  readonly lines: Envelope[]
  readonly extras: NormalizedResponse[]
  readonly timers: NewTimer[]
  readonly used: RunEnd['usage'][]
  run: RunEnd | undefined
  clientTools?: ClientToolReport
}

function reportModelSwitch({ log, meter }: GatewayDeps, { lane, turn }: ReadyTurn, { from, to, reason }: Fields): void {
  const { agent, connection } = lane
  const facts = { agent, connection, trace: turn.traceId, turn: turn.id, from: String(from), to: String(to) }
  log.warn('model_switched', { ...facts, reason: String(reason) })
  meter.modelSwitched(agent, String(reason))
}

export function takenFrom(
  deps: GatewayDeps,
  ready: ReadyTurn,
  { control, facts, show, chain }: MadeBy,
  made: Made,
): Pick<AgentContext, 'schedule' | 'send' | 'show' | 'emit' | 'finish' | 'record' | 'reportClientTools'> {
  const { recorder } = control
  return {
    schedule: (name, dueInMs, payload) =>
      void made.timers.push({
        id: deps.newId(),
        name,
        kind: 'timer',
        dueInMs,
        payload: payloadWithChain(payload, chain),
      }),
    send(reply) {
      const extra = completeReply(reply, facts())
      if (extra !== undefined) made.extras.push(extra)
    },
    show(delta) {
      recorder.show(delta)
      show(delta)
    },
    emit(type, metadata) {
      recorder.emit(type, metadata)
      if (type === 'model_switched') reportModelSwitch(deps, ready, metadata)
      notifyRunEvent(deps, ready, type, metadata)
    },
    reportClientTools(report) {
      made.clientTools = report
      recorder.emit('client_tools', report)
    },
    finish(result) {
      made.run = runEnd(result, control.cause())
    },
    record: (added) => void made.lines.push(...added),
  }
}

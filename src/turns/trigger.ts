// The trigger of a turn: a message came, a timer fired, what a paused run waited for is there; or it is the gateway's own to
// answer and no agent runs.

import type { Signal } from '../agents/define-agent.ts'
import { GatewayError } from '../contract/index.ts'
import { endsPause, pauseSignals } from '../db/signals.ts'
import type { Sentence } from '../locales/say.ts'
import { carriedChain, type TurnChain } from './call-chain.ts'
import type { GatewayDeps } from './deps.ts'
import type { ReplyFacts } from './pauses.ts'
import { addressRows, type ReadyTurn, takenRows } from './prepare-turn.ts'
import type { Rerun } from './rerun.ts'
import { answeredRequest, type Resumed, resumedSignal } from './resume.ts'

export type TurnTrigger =
  | {
      readonly kind: 'agent'
      /** Null: messages. */
      readonly signal: Signal | null
      /** The wait this turn ends, and where its answer belongs. */
      readonly ends: string | null
      readonly reply: Partial<ReplyFacts>
      /** Where the turn stood that left this for later. */
      readonly chain: TurnChain | undefined
      /** It runs again as it began, with what was decided meanwhile. */
      readonly rerun?: Rerun | undefined
    }
  | { readonly kind: 'gateway'; readonly says: Sentence | undefined }

export async function resolveTrigger(deps: GatewayDeps, ready: ReadyTurn): Promise<TurnTrigger> {
  const { signal } = ready
  if (signal !== null) {
    if (!endsPause(signal)) {
      const { chain, rest } = carriedChain(signal.payload)
      return { kind: 'agent', signal: { ...signal, payload: rest }, ends: null, reply: {}, chain }
    }
    return goesOn(await resumedSignal(deps, ready, signal))
  }
  const channel = ready.members.at(-1)?.message.channel
  if (channel?.tool_result === undefined)
    return { kind: 'agent', signal: null, ends: null, reply: {}, chain: undefined }
  const answered = await answeredRequest(deps, ready, channel.tool_result)
  if ('refusal' in answered) return { kind: 'gateway', says: answered.refusal }
  const result = { kind: pauseSignals.runtimeTool, name: 'submitted', payload: { id: answered.id } }
  const resumed = goesOn(await resumedSignal(deps, ready, result))
  // The client that sent the result waits for the answer: it goes there.
  return resumed.kind === 'agent' ? { ...resumed, reply: {} } : resumed
}

/** What a signal woke the conversation for may be gone, and with it the reason to run. */
function goesOn(resumed: Resumed | undefined): TurnTrigger {
  if (resumed === undefined) return { kind: 'gateway', says: undefined }
  const { signal, id: ends, reply, chain, rerun } = resumed
  return { kind: 'agent', signal, ends, reply, chain, rerun }
}

/** The turn as it was when the run began: the messages it is about, and those that joined it on the way. */
export async function begunAgain(deps: GatewayDeps, ready: ReadyTurn, { beginning }: Rerun): Promise<ReadyTurn> {
  if (!beginning.hasMessages) return { ...ready, isRerun: true }
  const rows = await deps.turns.taken(ready.lane, beginning.turn)
  if (rows.length === 0 || rows.some(({ message }) => message === null))
    throw new GatewayError('content_erased', '[gateway] what this run was about was erased; it does not go on')
  return { ...ready, ...takenRows(addressRows(ready.at, ready.lane.agent, rows)), isRerun: true }
}

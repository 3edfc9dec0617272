// The chain of agents a turn stands in. It goes with what the turn leaves for later: an agent that is woken by its own timer, or
// by a person's approval, stands where it stood.
import { type CallerContext, callerContextSchema, type Fields, type JsonObject } from '../contract/index.ts'
import type { AgentChain } from '../identity/call-chain.ts'
import type { ReadyTurn } from './prepare-turn.ts'

export type TurnChain = {
  /** What the last agent said about itself; absent where a person began. */
  readonly caller?: CallerContext
  readonly link?: AgentChain
}

/** Beside what an agent puts there itself: no key of its own begins like this. */
const key = 'gw:chain'

export function createTurnChain(ready: ReadyTurn, carried: TurnChain | undefined): TurnChain {
  const lead = ready.members.at(-1)?.message
  if (lead === undefined) return carried ?? {}
  const caller = lead.channel?.caller
  const link = lead.recipient_capabilities.agent_chain
  return { ...(caller === undefined ? {} : { caller }), ...(link === undefined ? {} : { link }) }
}

/** For what is stored: unchanged at the top of a chain. */
export function payloadWithChain(payload: JsonObject, { caller, link }: TurnChain): JsonObject {
  if (link === undefined && (caller === undefined || caller.chain_depth === 0)) return payload
  return {
    ...payload,
    [key]: { ...(caller === undefined ? {} : { caller }), ...(link === undefined ? {} : { link }) },
  }
}

/** What was stored, taken apart again. */
export function carriedChain(payload: JsonObject): {
  readonly chain: TurnChain | undefined
  readonly rest: JsonObject
} {
  const { [key]: carried, ...rest } = payload
  if (typeof carried !== 'object' || carried === null || Array.isArray(carried))
    return { chain: undefined, rest: payload }
  const { caller, place: link } = carried as Fields
  const read = callerContextSchema.safeParse(caller)
  return {
    chain: {
      ...(read.success ? { caller: read.data } : {}),
      // Written above, from a message that was checked.
      ...(link === undefined ? {} : { link: link as AgentChain }),
    },
    rest,
  }
}

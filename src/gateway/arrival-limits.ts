// Hop 4, before anything is stored: how many messages strangers may send at once, to a connection and each. Counted by this process
// and in memory: with several replicas each takes as many. People who are known are asked about only once the count is reached, so that
// a quiet connection pays nothing for it, and are let through whatever strangers do.
import { createRateLimiter, type InboundMessage, type RateLimiter } from '../contract/index.ts'
import { acceptedRule } from './admissions.ts'
import type { GatewayConnection, GatewayDeps } from './deps.ts'

export type SenderLimits = {
  /** Undefined: it is taken. Else the seconds after which it may come again. */
  ask(at: GatewayConnection, messages: readonly InboundMessage[]): Promise<number | undefined>
}

/** A sender found to be known stays so for a while; one found unknown is not looked up again with every message. */
const knownMs = 60_000
const unknownMs = 10_000
const maxRemembered = 10_000

type LimitDeps = Pick<GatewayDeps, 'access' | 'agents' | 'people' | 'monotonicMs' | 'log'>
type Known = { readonly isKnown: boolean; readonly until: number }
type State = {
  readonly all: RateLimiter | undefined
  readonly each: RateLimiter | undefined
  readonly known: Map<string, Known>
  toldAt: number
}

export function createSenderLimits(deps: LimitDeps): SenderLimits {
  const states = new WeakMap<GatewayConnection, State>()
  const connectionState = (at: GatewayConnection): State => {
    const { messages, messagesPerSender } = at.strangers
    const createPaceFor = (limit: typeof messages): RateLimiter | undefined =>
      limit && createRateLimiter(deps.monotonicMs, limit)
    const state = states.get(at) ?? {
      all: createPaceFor(messages),
      each: createPaceFor(messagesPerSender),
      known: new Map(),
      toldAt: Number.NEGATIVE_INFINITY,
    }
    states.set(at, state)
    return state
  }
  return {
    async ask(at, messages) {
      // What takes something back or changes it is never kept out: without it the first words would count.
      const message = messages.find(({ message: { channel } }) => (channel?.event ?? 'new') === 'new')
      const state = connectionState(at)
      if (message === undefined || (state.all ?? state.each) === undefined) return undefined
      const { subject } = message
      if (subject !== undefined && recallSender(deps, state, subject)?.isKnown === true) return undefined
      // Counted apart: a flood of forgeries keeps out no newcomer who is proven.
      const group = subject === undefined ? 'unproven' : 'proven'
      const seconds = state.all?.ask(group) ?? (subject === undefined ? undefined : state.each?.ask(subject))
      if (seconds === undefined) {
        state.all?.take(group)
        if (subject !== undefined) state.each?.take(subject)
        return undefined
      }
      if (await isKnownSender(deps, at, state, message)) return undefined
      if (deps.monotonicMs() - state.toldAt > knownMs) {
        state.toldAt = deps.monotonicMs()
        deps.log.warn('arrivals_limited', { connection: at.key, reason: tooManyMessages })
      }
      return seconds
    },
  }
}

export const tooManyMessages = 'too_many_messages'

function recallSender({ monotonicMs }: LimitDeps, { known }: State, subject: string): Known | undefined {
  const found = known.get(subject)
  return found !== undefined && found.until > monotonicMs() ? found : undefined
}

/** Admitted by a rule, by a grant or a pairing, or answered here before. */
async function isKnownSender(
  deps: LimitDeps,
  at: GatewayConnection,
  state: State,
  { subject, message, agent }: InboundMessage,
): Promise<boolean> {
  if (subject === undefined) return false
  const found = recallSender(deps, state, subject)
  if (found !== undefined) return found.isKnown
  const isAdmitted = (await acceptedRule(deps, at, message, agent)) || (await deps.people.isAdmitted(at.key, subject))
  if (state.known.size >= maxRemembered) for (const [oldest] of state.known) if (state.known.delete(oldest)) break
  state.known.set(subject, { isKnown: isAdmitted, until: deps.monotonicMs() + (isAdmitted ? knownMs : unknownMs) })
  return isAdmitted
}

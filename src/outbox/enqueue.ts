// Hop 8, before the commit: a reply becomes vendor calls as data, one row each, in order.
import {
  type Adapter,
  GatewayError,
  type IdSource,
  type JsonObject,
  type NormalizedResponse,
  type QueuedCall,
} from '../contract/index.ts'

export type Outgoing = {
  readonly reply: NormalizedResponse
  readonly purpose: QueuedCall['purpose']
  /** Names in it that may reach whom they name; without it: none. */
  readonly mayNotify?: ReadonlySet<string>
}

export type EnqueueContext = {
  readonly adapter: Adapter
  readonly newId: IdSource
  /** The turn or send the calls belong to; their client ids derive from it. */
  readonly origin: string
  readonly orderKey: string
  readonly to: JsonObject
  /** The live message of the turn: the answer, the apology or the notice finishes it. */
  readonly live?: LiveEnd | undefined
}

/** A live message, whatever became of it, when its turn ends. */
export type LiveEnd = {
  readonly clientId: string
  /** The words that were shown, as far as whoever ends the turn knows them. */
  readonly text: string
  /** After a take-over: when the final text is said once more, over what a late frame may have left. */
  readonly againAfterMs?: number
}

export function renderCalls(context: EnqueueContext, outgoing: readonly Outgoing[]): readonly QueuedCall[] {
  const { live, origin } = context
  // Ordinal 0 is the live message.
  const first = live === undefined ? 0 : 1
  const rendered = outgoing.flatMap(({ purpose, ...said }) => {
    const finishes = purpose === 'message' ? undefined : live?.clientId
    return render(context, said, finishes !== undefined).map((call, part) => ({
      ...{ ...call, primary: call.primary && purpose === 'reply', purpose },
      ...(part === 0 && finishes !== undefined ? { liveReference: finishes } : {}),
    }))
  })
  const calls = rendered.map(
    (call, at): QueuedCall => ({
      ...{ id: context.newId(), ordinal: first + at, orderKey: context.orderKey },
      ...{ ...call, clientId: `${origin}:${first + at}`, notBefore: null, expiresAt: null },
      ...(context.adapter.capabilities.appends === true ? { isAppended: true } : {}),
    }),
  )
  return [...calls, ...saidAgain(context, calls)]
}

/** In a lane of its own: what waits there for its time holds nothing up. */
function saidAgain({ live, newId, origin }: EnqueueContext, calls: readonly QueuedCall[]): readonly QueuedCall[] {
  const final = calls.find((call) => call.liveReference !== undefined)
  if (final === undefined || live?.againAfterMs === undefined) return []
  const ordinal = calls.length + 1
  const place = { id: newId(), ordinal, clientId: `${origin}:${ordinal}`, orderKey: `${final.orderKey}:live` }
  return [{ ...final, ...place, primary: false, purpose: 'assertion', delayMs: live.againAfterMs }]
}

function render(
  { adapter, to }: EnqueueContext,
  { reply, mayNotify }: Omit<Outgoing, 'purpose'>,
  hasLive: boolean,
): ReturnType<Adapter['render']> {
  try {
    return adapter.render(reply, to, mayNotify, hasLive)
  } catch (cause) {
    throw new GatewayError('render_failed', `[${adapter.channel}] the reply could not be rendered`, { cause })
  }
}

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
}

export function renderCalls(context: EnqueueContext, outgoing: readonly Outgoing[]): readonly QueuedCall[] {
  const rendered = outgoing.flatMap(({ purpose, ...said }) =>
    render(context, said).map((call) => ({ ...call, primary: call.primary && purpose === 'reply', purpose })),
  )
  return rendered.map(({ call, primary, purpose }, ordinal) => ({
    id: context.newId(),
    ordinal,
    orderKey: context.orderKey,
    primary,
    purpose,
    call,
    clientId: `${context.origin}:${ordinal}`,
    notBefore: null,
    expiresAt: null,
  }))
}

function render(
  { adapter, to }: EnqueueContext,
  { reply, mayNotify }: Omit<Outgoing, 'purpose'>,
): ReturnType<Adapter['render']> {
  try {
    return adapter.render(reply, to, mayNotify)
  } catch (cause) {
    throw new GatewayError('render_failed', `[${adapter.channel}] the reply could not be rendered`, { cause })
  }
}

// Hop 8, before the commit: a reply becomes vendor calls as data, one row each, in order.
import {
  type Adapter,
  GatewayError,
  type IdSource,
  isGatewayError,
  isOrderKey,
  type JsonObject,
  type NormalizedResponse,
  type QueuedCall,
  type RenderedCall,
  recipientLane,
  textOf,
  textPart,
} from '../contract/index.ts'
import { createCallEditor, markQuestions } from './ask-calls.ts'
import { cutReply, type KeepWhole } from './cut-reply.ts'

export type Outgoing = {
  readonly reply: NormalizedResponse
  readonly purpose: QueuedCall['purpose']
  /** Names in it that may reach whom they name; without it: none. */
  readonly mayNotify?: ReadonlySet<string>
  /** What it asks people to decide, and how it reads without that; a reply without parts says nothing then. */
  readonly unasked?: { readonly asks: readonly string[]; readonly reply: NormalizedResponse }
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
  /** Into how many messages a reply is split at most; without it: as its channel has it. */
  readonly maxParts?: number | undefined
  /** Keeps all of a reply that is cut. */
  readonly keepWhole?: KeepWhole
}

/** A live message, whatever became of it, when its turn ends. */
export type LiveEnd = {
  readonly clientId: string
  /** The words that were shown, as far as the process that ends the turn knows them. */
  readonly text: string
  /** After a take-over: when the final text is said once more, over what a late frame may have left. */
  readonly againAfterMs?: number
}

/** In no transaction: a channel may look up whom a reply goes to. */
export async function renderCalls(
  context: EnqueueContext,
  outgoing: readonly Outgoing[],
): Promise<readonly QueuedCall[]> {
  const { live, origin } = context
  // Ordinal 0 is the live message.
  const first = live === undefined ? 0 : 1
  const rendered: Omit<QueuedCall, 'id' | 'ordinal' | 'clientId' | 'notBefore' | 'expiresAt'>[] = []
  for (const [place, { purpose, ...said }] of outgoing.entries()) {
    const finishes = purpose === 'message' ? undefined : live?.clientId
    const calls = await expandCalls(context, await renderBounded(context, said, finishes !== undefined, place))
    for (const [part, { call, primary, orderKey, question }] of calls.entries())
      rendered.push({
        call,
        primary: primary && purpose === 'reply',
        purpose,
        orderKey: chooseSendLane(context, orderKey),
        ...(question === undefined ? {} : { question }),
        ...(part === 0 && finishes !== undefined ? { liveReference: finishes } : {}),
      })
  }
  const calls = rendered.map(
    (call, at): QueuedCall => ({
      id: context.newId(),
      ordinal: first + at,
      ...call,
      clientId: `${origin}:${first + at}`,
      notBefore: null,
      expiresAt: null,
      ...(context.adapter.capabilities.appends === true ? { isAppended: true } : {}),
    }),
  )
  return [...calls, ...saidAgain(context, calls)]
}

/** However long a reply is, it becomes no more messages than a person would want to receive. */
async function renderBounded(
  context: EnqueueContext,
  said: Omit<Outgoing, 'purpose'>,
  hasLive: boolean,
  place: number,
): Promise<readonly RenderedCall[]> {
  const calls = renderAsking(context, said, hasLive)
  const { appends, maxParts: usual } = context.adapter.capabilities
  const maxParts = context.maxParts ?? usual
  if (maxParts === undefined || calls.length <= maxParts || appends === true) return calls
  const cutToLimit = (reply: NormalizedResponse): Promise<NormalizedResponse> =>
    cutReply(reply, {
      maxParts,
      count: calls.length,
      render: (shorter) => renderReply(context, { ...said, reply: shorter }, hasLive),
      whole: async () => context.keepWhole?.(textOf(said.reply.parts), place),
    })
  const reply = await cutToLimit(said.reply)
  const { unasked } = said
  // What is left of it once its question is decided is as long as it was.
  const shorter = unasked === undefined ? {} : { unasked: { ...unasked, reply: await cutToLimit(unasked.reply) } }
  return renderAsking(context, { ...said, reply, ...shorter }, hasLive)
}

function renderAsking(
  context: EnqueueContext,
  { unasked, ...said }: Omit<Outgoing, 'purpose'>,
  hasLive: boolean,
): readonly RenderedCall[] {
  const calls = renderReply(context, said, hasLive)
  // What is delivered by the commit that writes it cannot be decided before.
  if (unasked === undefined || context.adapter.capabilities.appends === true) return calls
  const { asks, reply } = unasked
  // A message that was shown while it grew must not stay open: it keeps its words.
  const isLeftOpen = reply.parts.length === 0 && hasLive
  const rest = isLeftOpen ? { ...reply, parts: [textPart(context.live?.text || '…', 'text/markdown')] } : reply
  const without = rest.parts.length === 0 ? [] : renderReply(context, { ...said, reply: rest }, hasLive)
  const isPlaceholder = isLeftOpen && !context.live?.text
  return markQuestions(calls, without, { asks, isPlaceholder, editing: createCallEditor(context.adapter) })
}

/** In a lane of its own: what waits there for its time holds nothing up. */
function saidAgain({ live, newId, origin }: EnqueueContext, calls: readonly QueuedCall[]): readonly QueuedCall[] {
  const final = calls.find((call) => call.liveReference !== undefined)
  if (final === undefined || live?.againAfterMs === undefined) return []
  const ordinal = calls.length + 1
  const place = { id: newId(), ordinal, clientId: `${origin}:${ordinal}`, orderKey: `${final.orderKey}:live` }
  return [{ ...final, ...place, primary: false, purpose: 'assertion', delayMs: live.againAfterMs }]
}

/** What the database could not say is asked again with the whole turn; anything else is a fault of the reply. */
async function expandCalls(
  { adapter, to }: EnqueueContext,
  calls: readonly RenderedCall[],
): Promise<readonly RenderedCall[]> {
  if (adapter.expand === undefined || calls.length === 0) return calls
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(unrendered(adapter, 'took too long')), adapter.capabilities.callTimeoutMs)
  try {
    return await Promise.race([adapter.expand(calls, to), late.promise])
  } catch (cause) {
    if (isGatewayError(cause)) throw cause
    throw unrendered(adapter, cause)
  } finally {
    clearTimeout(timer)
  }
}

function chooseSendLane({ adapter, orderKey: conversation }: EnqueueContext, orderKey: string | undefined): string {
  if (orderKey === undefined) return conversation
  if (!isOrderKey(orderKey)) throw unrendered(adapter, 'an order key is too long')
  return recipientLane(orderKey)
}

function renderReply(
  { adapter, to }: EnqueueContext,
  { reply, mayNotify }: Omit<Outgoing, 'purpose'>,
  hasLive: boolean,
): ReturnType<Adapter['render']> {
  try {
    return adapter.render(reply, to, mayNotify, hasLive)
  } catch (cause) {
    throw unrendered(adapter, cause)
  }
}

function unrendered({ channel }: Adapter, cause: unknown): GatewayError {
  return new GatewayError('render_failed', `[${channel}] the reply could not be rendered`, { cause })
}

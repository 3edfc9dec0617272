// Renders a reply into vendor calls as data, one row each, in order, before the commit that ends the turn.

import { type CallQuestion, type QueuedCall, recipientOrderKey } from '../contract/delivery.ts'
import {
  type Adapter,
  isKnownPart,
  isOrderKey,
  type KnownPart,
  type NormalizedResponse,
  type Part,
  type RenderedCall,
  textOf,
  textPart,
} from '../contract/index.ts'
import { GatewayError, isGatewayError } from '../lib/errors.ts'
import type { IdSource } from '../lib/ids.ts'
import type { JsonObject } from '../lib/json-value.ts'
import { withTimeout } from '../lib/time.ts'
import { type Sentence, say } from '../locales/say.ts'

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
  const { adapter, live, origin } = context
  const { appends, maxParts: usual } = adapter.capabilities
  const maxParts = appends === true ? undefined : (context.maxParts ?? usual)
  const calls: QueuedCall[] = []
  for (const [index, { purpose, ...said }] of outgoing.entries()) {
    let finishes = purpose === 'message' ? undefined : live?.clientId
    const hasLive = finishes !== undefined
    let rendered =
      said.unasked === undefined ? renderReply(context, said, hasLive) : renderQuestionReply(context, said, hasLive)
    // However long a reply is, it becomes no more messages than a person would want to receive.
    if (maxParts !== undefined && rendered.length > maxParts)
      rendered = await renderShortened(context, said, hasLive, { maxParts, count: rendered.length, index })
    if (adapter.expand !== undefined && rendered.length > 0) rendered = await expandRenderedCalls(context, rendered)
    for (const { call, primary, orderKey, question } of rendered) {
      // Ordinal 0 is the live message.
      const ordinal = calls.length + (live === undefined ? 0 : 1)
      calls.push({
        id: context.newId(),
        ordinal,
        call,
        primary: primary && purpose === 'reply',
        purpose,
        orderKey: orderKey === undefined ? context.orderKey : recipientSendLane(context, orderKey),
        ...(question === undefined ? {} : { question }),
        ...(finishes === undefined ? {} : { liveReference: finishes }),
        clientId: `${origin}:${ordinal}`,
        notBefore: null,
        expiresAt: null,
        ...(appends === true ? { isAppended: true } : {}),
      })
      // The first part of it is what finishes the live message.
      finishes = undefined
    }
  }
  return live?.againAfterMs === undefined ? calls : [...calls, ...repeatFinalCall(context, live.againAfterMs, calls)]
}

/** Its beginning, where all of it would become too many messages. */
async function renderShortened(
  context: EnqueueContext,
  said: Omit<Outgoing, 'purpose'>,
  hasLive: boolean,
  { maxParts, count, index }: { readonly maxParts: number; readonly count: number; readonly index: number },
): Promise<readonly RenderedCall[]> {
  const cutToLimit = (reply: NormalizedResponse): Promise<NormalizedResponse> =>
    cutReplyUntilPartsFit(reply, {
      maxParts,
      count,
      render: (shorter) => renderReply(context, { ...said, reply: shorter }, hasLive),
      whole: async () => context.keepWhole?.(textOf(said.reply.parts), index),
    })
  const reply = await cutToLimit(said.reply)
  const { unasked } = said
  // What is left of it once its question is decided is as long as it was.
  const shorter = unasked === undefined ? {} : { unasked: { ...unasked, reply: await cutToLimit(unasked.reply) } }
  return renderQuestionReply(context, { ...said, reply, ...shorter }, hasLive)
}

function renderQuestionReply(
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
  return addQuestionsToCalls(calls, without, { asks, isPlaceholder, editing: adapterEditingMode(context.adapter) })
}

/** In a lane of its own: what waits there for its time holds nothing up. */
function repeatFinalCall(
  { newId, origin }: EnqueueContext,
  delayMs: number,
  calls: readonly QueuedCall[],
): readonly QueuedCall[] {
  const final = calls.find((call) => call.liveReference !== undefined)
  if (final === undefined) return []
  const ordinal = calls.length + 1
  const index = { id: newId(), ordinal, clientId: `${origin}:${ordinal}`, orderKey: `${final.orderKey}:live` }
  return [{ ...final, ...index, primary: false, purpose: 'assertion', delayMs }]
}

/** What the database could not say is asked again with the whole turn; anything else is a fault of the reply. */
async function expandRenderedCalls(
  { adapter, to }: EnqueueContext,
  calls: readonly RenderedCall[],
): Promise<readonly RenderedCall[]> {
  if (adapter.expand === undefined) return calls
  const { callTimeoutMs } = adapter.capabilities
  try {
    return await withTimeout(adapter.expand(calls, to), callTimeoutMs, () =>
      renderFailedError(adapter, 'took too long'),
    )
  } catch (cause) {
    if (isGatewayError(cause)) throw cause
    throw renderFailedError(adapter, cause)
  }
}

function recipientSendLane({ adapter }: EnqueueContext, orderKey: string): string {
  if (!isOrderKey(orderKey)) throw renderFailedError(adapter, 'an order key is too long')
  return recipientOrderKey(orderKey)
}

function renderReply(
  { adapter, to }: EnqueueContext,
  { reply, mayNotify }: Omit<Outgoing, 'purpose'>,
  hasLive: boolean,
): ReturnType<Adapter['render']> {
  try {
    return adapter.render(reply, to, mayNotify, hasLive)
  } catch (cause) {
    throw renderFailedError(adapter, cause)
  }
}

function renderFailedError({ channel }: Adapter, cause: unknown): GatewayError {
  return new GatewayError('render_failed', `[${channel}] the reply could not be rendered`, { cause })
}

// Which calls of a reply ask people to decide something, and what each says once that is decided.

/** What can be edited there of a message that was sent: nothing, all of it, or also what is below its words. */
export type Editing = 'none' | 'whole' | 'lines'

export function adapterEditingMode({ live, capabilities, withLine }: Adapter): Editing {
  if (live === undefined && capabilities.canEdit !== true) return 'none'
  return withLine === undefined ? 'whole' : 'lines'
}

/**
 * `unasked` is the same reply rendered without its questions. A call that is in both asks nothing; the others ask, and those of
 * `unasked` that are left over take their places in order. One that nothing is left for says nothing but the question.
 */
export function addQuestionsToCalls(
  calls: readonly RenderedCall[],
  unasked: readonly RenderedCall[],
  question: Pick<CallQuestion, 'asks' | 'isPlaceholder'> & { readonly editing: Editing },
): readonly RenderedCall[] {
  const left = unasked.map(({ call }) => ({ call, written: serializeCall(call) }))
  const isAsking = calls.map(({ call }) => {
    const same = left.findIndex((each) => each.written === serializeCall(call))
    if (same >= 0) left.splice(same, 1)
    return same < 0
  })
  return calls.map((rendered, at) => {
    if (isAsking[at] !== true) return rendered
    const { editing, isPlaceholder = false } = question
    const otherwise = left.shift()?.call ?? null
    const hasWords = otherwise !== null && !isPlaceholder
    return {
      ...rendered,
      question: {
        asks: listAskedActions(rendered.call, question.asks),
        otherwise,
        ...(isPlaceholder ? { isPlaceholder } : {}),
        isEditable: editing === 'lines' || (editing === 'whole' && !hasWords),
      },
    }
  })
}

/** Each question names its action by the end of its id; where none is found the call is taken to ask them all. */
function listAskedActions(call: JsonObject, asks: readonly string[]): readonly string[] {
  const words = serializeCall(call)
  const named = asks.filter((id) => words.includes(id.slice(-6)))
  return named.length === 0 ? asks : named
}

/** Both were made by the same render, so that their keys are in the same order. */
function serializeCall(call: JsonObject): string {
  return JSON.stringify(call)
}

// A reply that would become too many messages: its beginning is sent, and the whole goes along as a file or behind a link. What the
// transcript keeps is the whole.

/** Where all of a reply can be read: as a file that goes with it, or at an address. */
export type WholeReply = { readonly file: KnownPart } | { readonly url: string }

/** Undefined: there is no place for files. */
type KeepWhole = (text: string, index: number) => Promise<WholeReply | undefined>

type TextPart = Extract<KnownPart, { kind: 'text' }>

/** Of a first guess that is too long each next one is so much shorter. */
const shrink = 0.8
const maxTries = 40

export type CutContext<Call> = {
  readonly maxParts: number
  readonly count: number
  readonly render: (reply: NormalizedResponse) => readonly Call[]
  readonly whole: () => Promise<WholeReply | undefined>
}

/** The longest beginning that fits; where cards and files alone are too many, only its words are cut. */
async function cutReplyUntilPartsFit<Call>(
  reply: NormalizedResponse,
  { maxParts, count, render, whole }: CutContext<Call>,
): Promise<NormalizedResponse> {
  const length = reply.parts.reduce((sum, part) => sum + (isTextPartKind(part) ? part.content.length : 0), 0)
  if (length === 0) return reply
  const kept = await whole()
  let limit = Math.floor((length * maxParts) / count)
  for (let tries = 0; tries < maxTries && limit > 0; tries += 1) {
    const cut = truncateReply(reply, limit, kept)
    if (render(cut).length <= maxParts) return cut
    limit = Math.floor(limit * shrink)
  }
  return truncateReply(reply, 0, kept)
}

/** So many characters of its words, then what was left out and where it is. Everything that is no words stays. */
function truncateReply(reply: NormalizedResponse, limit: number, whole: WholeReply | undefined): NormalizedResponse {
  const parts: Part[] = []
  let left = limit
  let last = -1
  for (const part of reply.parts) {
    if (!isTextPartKind(part)) parts.push(part)
    else if (left > 0) {
      const content = part.content.length <= left ? part.content : shortenMarkdown(part.content, left)
      left -= part.content.length
      if (content === '') continue
      parts.push({ ...part, content })
      last = parts.length - 1
    }
  }
  parts.splice(last + 1, 0, textPart(chooseCutNotice(whole), 'text/markdown'))
  if (whole !== undefined && 'file' in whole) parts.push(whole.file)
  return { ...reply, parts }
}

function chooseCutNotice(whole: WholeReply | undefined): Sentence {
  if (whole === undefined) return say('reply.cut')
  if ('file' in whole) return say('reply.cut_with_file')
  return say('reply.cut_with_link', { url: whole.url })
}

/** At the end of a line or a word where there is one near; a code block that was open is closed. */
function shortenMarkdown(text: string, limit: number): string {
  const head = text.slice(0, limit).toWellFormed()
  const near = Math.floor(limit * 0.8)
  const line = head.lastIndexOf('\n')
  const word = head.lastIndexOf(' ')
  const end = line > near ? line : word > near ? word : head.length
  const kept = head.slice(0, end).trimEnd()
  const fences = kept.match(/^ {0,3}(`{3,}|~{3,})/gm) ?? []
  const fence = fences.length % 2 === 1 ? `\n${(fences.at(-1) ?? '```').trim()}` : ''
  return kept === '' ? '' : `${kept}${fence}`
}

function isTextPartKind(part: Part): part is TextPart {
  return isKnownPart(part) && part.kind === 'text'
}

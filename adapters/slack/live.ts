// Live messages on Slack: a native stream in a thread, else a message that is edited. One message either way: a stream that nears
// its end is stopped and then edited, so nothing continues in another message.

import type { DeliveryResult, FrameOutcome, LiveFrame, LiveVerbs } from '../../src/contract/index.ts'
import type { JsonObject } from '../../src/lib/index.ts'
import { streamTree } from '../../src/markdown/index.ts'
import type { LiveState, OutboundDeps, WebApiAnswer } from './deliver/web-api.ts'
import { isErrorOfClass, type Send, sendWithPlainFallback, toSendOutcome } from './deliver/web-api.ts'
import { renderBlocks } from './render/blocks.ts'
import { isEphemeralReply } from './render/reply.ts'
import { type MessagePayload, maxTextLength, replyToSchema, type SlackCall, type SlackReplyTo } from './wire.ts'

/** Slack ends a stream about five minutes after it began, also a busy one. */
const streamMs = 4 * 60 * 1000
/** `chat.update` is a method of fifty calls a minute. */
const editEveryMs = 1200
/** Room for what making tokens inert adds. */
const maxLiveLength = maxTextLength - 1000
const maxRemembered = 10_000
const latchMs = 24 * 60 * 60_000
const latchFamily = 'without_streams'

export function createSlackLiveVerbs(ports: OutboundDeps, now: () => number): LiveVerbs {
  return {
    everyMs: editEveryMs,
    open: (to, text) => buildLiveMessageOpenCall(ports.live, replyToSchema.parse(to), text),
    frame: (frame) => showSlackFrame(ports, now, frame),
  }
}

function buildLiveMessageOpenCall(
  { withoutStreams }: LiveState,
  to: SlackReplyTo,
  text: string,
): JsonObject | undefined {
  // The answer to a click belongs to its card, and one person alone is shown no message that grows.
  if (to.reply_to_card !== undefined || isEphemeralReply(to) || text.length > maxLiveLength) return undefined
  const { account, channel, thread_ts, team_id } = to
  const org = team_id === undefined ? {} : { team_id }
  if (thread_ts === undefined || withoutStreams.has(account)) {
    const payload = { ...renderLiveMessage(text), channel, ...(thread_ts === undefined ? {} : { thread_ts }), ...org }
    return { method: 'chat.postMessage', account, payload } satisfies SlackCall
  }
  return {
    method: 'chat.startStream',
    account,
    payload: {
      channel,
      thread_ts,
      markdown_text: breakPlatformTokens(withoutHalfSurrogate(text)),
      ...(to.reply_to_user === undefined ? {} : { recipient_user_id: to.reply_to_user }),
      ...(to.reply_to_team === undefined ? {} : { recipient_team_id: to.reply_to_team }),
      ...org,
    },
  } satisfies SlackCall
}

type StartDeps = {
  readonly send: Send
  readonly live: LiveState
  readonly post: (call: Extract<SlackCall, { method: 'chat.postMessage' }>) => Promise<DeliveryResult>
}

/** Where there are no streams the words are posted; the refusal has shown nothing. */
export async function startLiveMessage(
  { send, live, post }: StartDeps,
  call: Extract<SlackCall, { method: 'chat.startStream' }>,
): Promise<DeliveryResult> {
  const { channel, thread_ts, team_id, markdown_text } = call.payload
  const payload = {
    ...renderLiveMessage(markdown_text),
    channel,
    thread_ts,
    ...(team_id === undefined ? {} : { team_id }),
  }
  const posting = { method: 'chat.postMessage', account: call.account, payload } as const
  if (await isStreamingUnsupported(live, call.account)) return post(posting)
  const answer = await send(call.method, call.payload)
  if (!isErrorOfClass(answer, 'setup', 'place', 'form')) return toSendOutcome(answer, false)
  // Only what is true everywhere is remembered.
  if (isErrorOfClass(answer, 'setup')) await rememberStreamingUnsupported(live, call.account)
  return post(posting)
}

/** Remembered beyond this process, so that not every replica asks after every start. */
async function rememberStreamingUnsupported({ withoutStreams, ttlStore }: LiveState, account: string): Promise<void> {
  withoutStreams.add(account)
  await ttlStore?.keep({ family: latchFamily, key: account, lifeMs: latchMs }).catch(() => false)
}

async function isStreamingUnsupported(
  { withoutStreams, known, ttlStore }: LiveState,
  account: string,
): Promise<boolean> {
  if (!known.has(account) && (await ttlStore?.read(latchFamily, account).catch(() => undefined)) !== undefined)
    withoutStreams.add(account)
  known.add(account)
  return withoutStreams.has(account)
}

async function showSlackFrame(
  { call, tokenOf, live }: OutboundDeps,
  now: () => number,
  frame: LiveFrame,
): Promise<FrameOutcome> {
  const to = replyToSchema.parse(frame.to)
  const text = withoutHalfSurrogate(frame.text)
  if (text.length > maxLiveLength) return { kind: 'over', reason: 'too_long_for_one_message' }
  const held = await tokenOf(to.account)
  if (held.kind !== 'token') return { kind: 'over', reason: held.reason }
  const sendWithToken: Send = (method, args) => call(held.token, method, args, frame.signal)
  const added = findAppendedText(withoutHalfSurrogate(frame.shown), text)
  if (added === '') return { kind: 'shown' }
  const mark = liveMessageKey(to.account, frame.reference)
  const isStream = to.thread_ts !== undefined && !live.withoutStreams.has(to.account) && !live.ended.has(mark)
  const isYoung = now() - Number(frame.reference) * 1000 < streamMs
  if (isStream && isYoung && added !== undefined && !live.doubtful.has(mark)) {
    const answer = await sendWithToken('chat.appendStream', {
      ...liveMessageAddress(to, frame.reference),
      markdown_text: added,
    })
    if (answer.kind === 'ok' || answer.kind === 'limited') return slackFrameOutcome(answer)
    // Perhaps it was shown all the same: writing the whole cannot show anything twice.
    rememberLiveMessage(live.doubtful, mark)
  }
  if (isStream && (await stopStream(sendWithToken, to, frame.reference))) rememberLiveMessage(live.ended, mark)
  return slackFrameOutcome(
    await sendWithPlainFallback(sendWithToken, 'chat.update', {
      ...renderLiveMessage(text),
      ...liveMessageAddress(to, frame.reference),
    }),
  )
}

/** What is to be appended; undefined where the words before it have changed. */
function findAppendedText(shown: string, text: string): string | undefined {
  const before = breakPlatformTokens(shown)
  const whole = breakPlatformTokens(text)
  return whole.startsWith(before) ? whole.slice(before.length) : undefined
}

function slackFrameOutcome(answer: WebApiAnswer): FrameOutcome {
  if (answer.kind === 'ok') return { kind: 'shown' }
  if (answer.kind === 'limited') return { kind: 'later', afterMs: answer.afterMs }
  if (answer.kind === 'error') return { kind: 'over', reason: answer.error }
  return { kind: 'later', afterMs: editEveryMs }
}

/** The last word on a live message: the whole reply in its place. Undefined: it is not there, so the reply is posted. */
export async function finishSlackLiveMessage(
  send: Send,
  { payload, account }: Extract<SlackCall, { method: 'chat.postMessage' }>,
  reference: string,
  live: LiveState,
): Promise<DeliveryResult | undefined> {
  const { thread_ts, ...rest } = payload
  const to = { channel: payload.channel, ...(payload.team_id === undefined ? {} : { team_id: payload.team_id }) }
  const mayStream =
    thread_ts !== undefined && !live.withoutStreams.has(account) && !live.ended.has(liveMessageKey(account, reference))
  if (mayStream && (await stopStream(send, to, reference)))
    rememberLiveMessage(live.ended, liveMessageKey(account, reference))
  const answer = await sendWithPlainFallback(send, 'chat.update', { ...rest, ...liveMessageAddress(to, reference) })
  if (isErrorOfClass(answer, 'edited')) return undefined
  return toSendOutcome(answer, true, reference)
}

/** Stopping what has stopped is refused, and that is as good. */
async function stopStream(send: Send, to: LiveChannel, reference: string): Promise<boolean> {
  const answer = await send('chat.stopStream', liveMessageAddress(to, reference))
  return answer.kind === 'ok' || answer.kind === 'error'
}

/** Two workspaces may have messages of the same name. */
function liveMessageKey(account: string, reference: string): string {
  return `${account}/${reference}`
}

function rememberLiveMessage(references: Set<string>, reference: string): void {
  if (references.size >= maxRemembered) references.clear()
  references.add(reference)
}

type LiveChannel = Pick<SlackReplyTo, 'channel' | 'team_id'>

function liveMessageAddress(
  { channel, team_id }: LiveChannel,
  ts: string,
): { channel: string; ts: string; team_id?: string } {
  return { channel, ts, ...(team_id === undefined ? {} : { team_id }) }
}

function renderLiveMessage(text: string): Pick<MessagePayload, 'text' | 'blocks'> {
  const message = renderBlocks(streamTree(text, { isFinal: false }))[0]
  return message === undefined ? { text: '…' } : { text: message.text, blocks: message.blocks }
}

/** Half a character waits for its other half. */
function withoutHalfSurrogate(text: string): string {
  return /[\ud800-\udbff]$/.test(text) ? text.slice(0, -1) : text
}

/**
 * Tokens of the platform and names are broken by a zero-width space, each as soon as its second character is there: so what was
 * sent before stays the beginning of what is sent now.
 */
function breakPlatformTokens(text: string): string {
  return text.replace(/<(?=[!@#])/g, '<\u200b').replace(/(?<![\p{L}\p{N}_])@(?=[a-z])/giu, '@\u200b')
}

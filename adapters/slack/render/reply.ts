// Renders a reply into Web API calls as data: words as blocks, approvals as cards with buttons, files as uploads. Pure.

import { isKnownPart, type NormalizedResponse, type Part, type Sentence } from '../../../src/contract/index.ts'
import type { JsonObject } from '../../../src/lib/index.ts'
import { type FilePart, plainTree, renderPlain, replyTree } from '../../../src/markdown/index.ts'
import type { SlackSay } from '../sentences.ts'
import {
  approvalBlock,
  isForOnePerson,
  type MessagePayload,
  maxTextLength,
  replyToSchema,
  type SlackCall,
  type SlackReplyTo,
} from '../wire.ts'
import { type BlocksMessage, policyBlocks, renderBlocks } from './blocks.ts'
import { limits } from './options.ts'

export type RenderFacts = {
  readonly say: SlackSay
  /** Whom a name calls, by the name in small letters. */
  readonly names: ReadonlyMap<string, string>
  readonly sendsFiles: boolean
  /** Channels in which all members may be notified. */
  readonly broadcasts: ReadonlySet<string>
}

type Rendered = { readonly call: SlackCall; readonly primary: boolean }
type PolicyPart = Extract<Part, { kind: 'policy' }>

/** A decision was taken just now, or can no longer be taken: only then the buttons go. */
const decided: ReadonlySet<unknown> = new Set(['accepted', 'rejected', 'expired'])

export function renderSlack(
  given: RenderFacts,
  reply: NormalizedResponse,
  to: JsonObject,
  how: { readonly mayNotify: ReadonlySet<string>; readonly hasLive: boolean },
): readonly Rendered[] {
  const address = replyToSchema.parse(to)
  // A file cannot be shown to one person in a channel: it is named.
  const facts = { ...given, sendsFiles: given.sendsFiles && !isForOnePerson(address) }
  const cards = reply.parts.flatMap((part) => (isApprovalCard(part) ? [approvalCard(part, facts.say)] : []))
  const words = renderWords(facts, reply, { mayNotify: how.mayNotify, channel: address.channel })
  // A message that grew is finished by words, also where files say it all: then by their names.
  const isLeftOpen = how.hasLive && words.length === 0 && cards.length === 0
  const messages = isLeftOpen ? renderBlocks(replyTree(reply)) : words
  const files = facts.sendsFiles ? reply.parts.filter(isUploadable).map((part) => uploadCall(part, address)) : []
  const said = messages.map((message, index) =>
    messageCallFor(address, message, how.hasLive && index === 0, reply.control),
  )
  const isFirst = (index: number): boolean => messages.length === 0 && index === 0
  const asked = cards.map((card, index) =>
    messageCallFor({ ...address, reply_to_card: undefined }, card, how.hasLive && isFirst(index)),
  )
  return [...said, ...asked, ...files].map((call) => ({ call, primary: true }))
}

/** The words of a reply; none where cards or files say it all. */
function renderWords(
  { names, sendsFiles, broadcasts }: RenderFacts,
  reply: NormalizedResponse,
  { mayNotify, channel }: { readonly mayNotify: ReadonlySet<string>; readonly channel: string },
): readonly BlocksMessage[] {
  const parts = reply.parts.filter((part) => !isApprovalCard(part) && !(sendsFiles && isUploadable(part)))
  const isElsewhere = parts.length < reply.parts.length
  const isPlain = reply.status === 'completed' || reply.status === 'input_required'
  if (isElsewhere && isPlain && parts.every((part) => part.kind === 'tool_call')) return []
  const status = isElsewhere && isPlain ? 'completed' : reply.status
  const tree = replyTree({ ...reply, parts, status }, { mayNotify })
  const isGranted = broadcasts.has('*') || broadcasts.has(channel)
  return renderBlocks(tree, { userIdOf: (name) => findUserId(names, name), broadcasts: isGranted })
}

/** A name the operator wrote down, or the address we gave a person, which begins with their id. */
function findUserId(names: ReadonlyMap<string, string>, name: string): string | undefined {
  const [local = '', domain] = name.replace(/^@/, '').split('@')
  const id = /^([uw][a-z0-9]{5,31})\.[a-z0-9]+$/i.exec(local)?.[1]
  const isOurs = domain?.startsWith('slack.') === true
  return names.get(local.toLowerCase()) ?? (isOurs ? id?.toUpperCase() : undefined)
}

function messageCallFor(
  to: SlackReplyTo,
  message: BlocksMessage,
  isLive: boolean,
  control?: NormalizedResponse['control'],
): SlackCall {
  const { reply_to_card: card, reply_to_user: clicker, reply_to_response: key } = to
  const payload = messagePayload(to, message)
  const isPrivate = to.reply_to_private_card === true || (card === undefined && isForOnePerson(to))
  const response = key === undefined ? {} : { response: { key, ...(isPrivate ? { first: true as const } : {}) } }
  const account = { account: to.account, ...response }
  if (card === undefined && to.user !== undefined && isPrivate)
    return { method: 'chat.postEphemeral', ...account, payload: { ...payload, user: to.user }, fallbackUser: to.user }
  if (
    card === undefined &&
    clicker !== undefined &&
    control?.about === 'access_challenge' &&
    !to.channel.startsWith('D')
  ) {
    // A thread that has no answer yet shows nothing to one person: the channel does.
    const { thread_ts: thread, ...place } = payload
    const shown = thread === undefined || thread === to.reply_to_ts ? place : payload
    return { method: 'chat.postEphemeral', ...account, payload: { ...shown, user: clicker } }
  }
  if (card === undefined || clicker === undefined) {
    return {
      method: 'chat.postMessage',
      ...account,
      payload,
      ...(isLive ? { live: true } : {}),
      ...(to.user === undefined ? {} : { fallbackUser: to.user }),
    }
  }
  if (!decided.has(control?.decision))
    return { method: 'chat.postEphemeral', ...account, payload: { ...payload, user: clicker } }
  const { thread_ts: _thread, ...place } = payload
  return { method: 'chat.update', ...account, payload: { ...place, ...decidedCard(to, message), ts: card } }
}

export function appendLineToBlocks(call: SlackCall, words: string): SlackCall {
  if (call.method !== 'chat.postMessage') return call
  const { payload } = call
  const [line] = renderBlocks(plainTree(words))
  const text = `${payload.text}\n\n${line?.text ?? ''}`
  const blocks = [...(payload.blocks ?? []), ...(line?.blocks ?? [])]
  const hasRoom = text.length <= maxTextLength && blocks.length <= limits.blocks
  const longer = { ...payload, text, ...(payload.blocks === undefined ? {} : { blocks }) }
  return { ...call, live: true, payload: hasRoom && line !== undefined ? longer : payload }
}

function messagePayload(
  { channel, thread_ts, team_id }: SlackReplyTo,
  { text, blocks }: BlocksMessage,
): MessagePayload {
  return {
    channel,
    text,
    ...(blocks.length === 0 ? {} : { blocks }),
    ...(thread_ts === undefined ? {} : { thread_ts }),
    ...(team_id === undefined ? {} : { team_id }),
  }
}

/** What was asked stays above what was decided, and by whom; the buttons are gone. */
function decidedCard(
  { reply_to_question: question }: SlackReplyTo,
  message: BlocksMessage,
): Pick<MessagePayload, 'text' | 'blocks'> {
  const asked = question === undefined ? [] : (renderBlocks(plainTree(question))[0]?.blocks ?? [])
  return { text: message.text, blocks: [...asked, ...message.blocks] }
}

function isApprovalCard(part: Part): part is PolicyPart {
  return isKnownPart(part) && part.kind === 'policy'
}

function approvalCard({ policy }: PolicyPart, say: SlackSay): BlocksMessage {
  const { message, code, question } = policy
  if (policy['kind'] !== 'approval_required' || typeof code !== 'string') {
    return { text: plainFallbackText(message), blocks: policyBlocks(policy) }
  }
  // Buttons take the place of the line that says what to reply.
  const asked = typeof question === 'string' ? question : message
  return {
    text: plainFallbackText(asked),
    blocks: [...(renderBlocks(plainTree(asked))[0]?.blocks ?? []), approvalButtons(code, say)],
  }
}

function plainFallbackText(text: string): string {
  return renderPlain(plainTree(text), { limit: limits.fallback })[0] ?? ''
}

function approvalButtons(code: string, say: SlackSay): JsonObject {
  const button = (action: string, label: Sentence, style: string): JsonObject => ({
    type: 'button',
    action_id: action,
    text: { type: 'plain_text', text: label, emoji: false },
    style,
    // Nothing but the code the question is found by: the terms stay with us.
    value: code,
  })
  return {
    type: 'actions',
    block_id: approvalBlock,
    elements: [
      button('approve', say('approval.approve'), 'primary'),
      button('reject', say('approval.reject'), 'danger'),
    ],
  }
}

/** Held in memory while it is sent; Slack itself takes a gigabyte. */
export const maxUploadBytes = 50_000_000

/** Stored, and neither empty nor too large; any other is named in the text. */
function isUploadable(part: Part): part is FilePart {
  if (!isKnownPart(part) || (part.kind !== 'file' && part.kind !== 'artifact')) return false
  const size = part.kind === 'file' ? part.size : undefined
  return part.attachment !== undefined && size !== 0 && (size ?? 1) <= maxUploadBytes
}

function uploadCall(part: FilePart, to: SlackReplyTo): SlackCall {
  return {
    method: 'upload',
    account: to.account,
    payload: {
      channel_id: to.channel,
      ...(to.thread_ts === undefined ? {} : { thread_ts: to.thread_ts }),
      ...(to.team_id === undefined ? {} : { team_id: to.team_id }),
    },
    file: { attachment: part.attachment?.id ?? '', name: part.name ?? 'file' },
  }
}

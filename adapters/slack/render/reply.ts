// Renders a reply into Web API calls as data: words as blocks, approvals as cards with buttons, files as uploads. Pure.
import { isKnownPart, type NormalizedResponse, type Part, type Sentence } from '../../../src/contract/index.ts'
import type { JsonObject } from '../../../src/lib/index.ts'
import {
  type Block,
  type FilePart,
  type Inline,
  type Policy,
  plainTree,
  policyAction,
  policyText,
  renderPlain,
  replyTree,
} from '../../../src/markdown/index.ts'
import type { SlackSay } from '../sentences.ts'
import {
  approvalBlock,
  limits,
  type MessagePayload,
  maxTextLength,
  replyToSchema,
  type SlackCall,
  type SlackReplyTo,
} from '../wire.ts'
import { type BlocksMessage, renderBlocks } from './blocks.ts'
import { renderMrkdwn } from './mrkdwn.ts'

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
  facts: RenderFacts,
  reply: NormalizedResponse,
  to: JsonObject,
  how: { readonly mayNotify: ReadonlySet<string>; readonly hasLive: boolean },
): readonly Rendered[] {
  const address = replyToSchema.parse(to)
  // A file cannot be shown to one person in a channel: it is named.
  const sendsFiles = facts.sendsFiles && !isEphemeralReply(address)
  const cards: PolicyPart[] = []
  const files: FilePart[] = []
  for (const part of reply.parts) {
    if (!isKnownPart(part)) continue
    if (part.kind === 'policy') cards.push(part)
    else if ((part.kind === 'file' || part.kind === 'artifact') && sendsFiles && isUploadable(part)) files.push(part)
  }
  const elsewhere: readonly Part[] = [...cards, ...files]
  const words = renderTextMessages(facts, reply, elsewhere, { mayNotify: how.mayNotify, channel: address.channel })
  // A message that grew is finished by words, also where files say it all: then by their names.
  const isLeftOpen = how.hasLive && words.length === 0 && cards.length === 0
  const messages = isLeftOpen ? renderBlocks(replyTree(reply)) : words
  const calls: Rendered[] = []
  for (const message of messages) {
    const call = chooseMessageCall(address, message, how.hasLive && calls.length === 0, reply.control)
    calls.push({ call, primary: true })
  }
  for (const card of cards) {
    const asked = approvalCard(card, facts.say)
    const isLive = how.hasLive && calls.length === 0
    calls.push({ call: chooseMessageCall({ ...address, reply_to_card: undefined }, asked, isLive), primary: true })
  }
  for (const file of files) calls.push({ call: uploadCall(file, address), primary: true })
  return calls
}

/** Only the person who gave a slash command in a channel saw it, and only they are shown the answer. */
export function isEphemeralReply({ user, channel }: SlackReplyTo): boolean {
  return user !== undefined && !channel.startsWith('D')
}

/** The words of a reply; none where cards or files, `elsewhere`, say it all. */
function renderTextMessages(
  { names, broadcasts }: RenderFacts,
  reply: NormalizedResponse,
  elsewhere: readonly Part[],
  { mayNotify, channel }: { readonly mayNotify: ReadonlySet<string>; readonly channel: string },
): readonly BlocksMessage[] {
  const isPlain = reply.status === 'completed' || reply.status === 'input_required'
  const parts = elsewhere.length === 0 ? reply.parts : reply.parts.filter((part) => !elsewhere.includes(part))
  const isSaidElsewhere = elsewhere.length > 0 && isPlain
  if (isSaidElsewhere && parts.every((part) => part.kind === 'tool_call')) return []
  const tree = replyTree({ ...reply, parts, status: isSaidElsewhere ? 'completed' : reply.status }, { mayNotify })
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

function chooseMessageCall(
  to: SlackReplyTo,
  message: BlocksMessage,
  isLive: boolean,
  control?: NormalizedResponse['control'],
): SlackCall {
  const { reply_to_card: card, reply_to_user: clicker, reply_to_response: key } = to
  const { text, blocks } = message
  const payload: MessagePayload = {
    channel: to.channel,
    text,
    ...(blocks.length === 0 ? {} : { blocks }),
    ...(to.thread_ts === undefined ? {} : { thread_ts: to.thread_ts }),
    ...(to.team_id === undefined ? {} : { team_id: to.team_id }),
  }
  const isPrivate = to.reply_to_private_card === true || (card === undefined && isEphemeralReply(to))
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

export function appendLineToSlackCall(call: SlackCall, words: string): SlackCall {
  if (call.method !== 'chat.postMessage') return call
  const { payload } = call
  const [line] = renderBlocks(plainTree(words))
  const text = `${payload.text}\n\n${line?.text ?? ''}`
  const blocks = [...(payload.blocks ?? []), ...(line?.blocks ?? [])]
  const hasRoom = text.length <= maxTextLength && blocks.length <= limits.blocks
  const longer = { ...payload, text, ...(payload.blocks === undefined ? {} : { blocks }) }
  return { ...call, live: true, payload: hasRoom && line !== undefined ? longer : payload }
}

/** What was asked stays above what was decided, and by whom; the buttons are gone. */
function decidedCard(
  { reply_to_question: question }: SlackReplyTo,
  message: BlocksMessage,
): Pick<MessagePayload, 'text' | 'blocks'> {
  const asked = question === undefined ? [] : (renderBlocks(plainTree(question))[0]?.blocks ?? [])
  return { text: message.text, blocks: [...asked, ...message.blocks] }
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
  const approvalButton = (action: string, label: Sentence, style: string): JsonObject => ({
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
      approvalButton('approve', say('approval.approve'), 'primary'),
      approvalButton('reject', say('approval.reject'), 'danger'),
    ],
  }
}

// A policy part as a section with a button: what is asked, where to go, and the id the answer is found by.

const buttonId = 'policy'

/** The terms stay with us: `value` holds nothing but the id of the state. `origin` is the agent's own, where it is known. */
export function policyBlocks(policy: Policy, { origin }: { readonly origin?: string } = {}): readonly JsonObject[] {
  const sections = policyTexts(policy).map(
    (text): JsonObject => ({ type: 'section', text: { type: 'mrkdwn', text, verbatim: true } }),
  )
  const button = policyButton(policy, origin)
  const last = sections.at(-1)
  if (button === undefined || last === undefined) return sections
  return [...sections.slice(0, -1), { ...last, accessory: button }]
}

function policyTexts(policy: Policy): readonly string[] {
  const title = policyText(policy['title'])
  const children: Block[] =
    title === '' ? [] : [policyParagraph([{ type: 'strong', children: textToLinesWithBreaks(title) }])]
  return renderMrkdwn(
    { type: 'root', children: [...children, policyParagraph(textToLinesWithBreaks(policyText(policy.message)))] },
    limits.section,
  )
}

function policyButton(policy: Policy, origin: string | undefined): JsonObject | undefined {
  const action = policyAction(policy, origin)
  if (action === undefined || action.url.length > limits.url) return undefined
  const state = policy['state']
  const isCarried = typeof state === 'string' && state !== '' && state.length <= limits.buttonValue
  const label = action.label.slice(0, limits.buttonText).trim().toWellFormed()
  return {
    type: 'button',
    action_id: buttonId,
    text: { type: 'plain_text', text: label, emoji: false },
    url: action.url,
    ...(isCarried ? { value: state } : {}),
  }
}

function policyParagraph(children: readonly Inline[]): Block {
  return { type: 'paragraph', children }
}

function textToLinesWithBreaks(text: string): readonly Inline[] {
  return text
    .split('\n')
    .flatMap((value, index): readonly Inline[] =>
      index === 0 ? [{ type: 'text', value }] : [{ type: 'break' }, { type: 'text', value }],
    )
}

// Files that are sent as such.

/** Held in memory while it is sent; Slack itself takes a gigabyte. */
export const maxUploadBytes = 50_000_000

/** Stored, and neither empty nor too large; any other is named in the text. */
function isUploadable(part: FilePart): boolean {
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

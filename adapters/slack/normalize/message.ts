// Normalizes a message event, its edit or its deletion. `message` and `app_mention` are twins and share one key. Pure.

import {
  type ChannelContext,
  type InboundEvent,
  type InboundMessage,
  type KnownPart,
  textPart,
} from '../../../src/contract/index.ts'
import { cleanName, cleanText } from '../../../src/lib/index.ts'
import {
  attachmentSchema,
  fileSchema,
  type SlackEvent,
  type SlackFile,
  type SlackMessage,
  spokenSubtypes,
  systemSubtypes,
} from '../wire.ts'
import { decodeText, isTable, type NamedUser, readAnyBlocks, readRichText } from './block-text.ts'
import * as scenes from './context.ts'
import { listViewedEntities } from './interactions.ts'

type Change = {
  readonly event: 'new' | 'edit' | 'delete'
  readonly message: SlackMessage
  /** Tells one amendment from the next; the same on redelivery. */
  readonly version: string
}

export function normalizeMessageEvent(eventContext: scenes.EventContext, event: SlackEvent): InboundEvent {
  const change = detectChange(event)
  if (typeof change === 'string') return ignoredMessage(eventContext, change)
  const reason = messageIgnoreReason(eventContext, event, change.message)
  const author = messageAuthor(eventContext, change.message)
  if (reason !== undefined || author === undefined) return ignoredMessage(eventContext, reason ?? 'no_author', author)
  const said: MessageParts =
    change.event === 'delete'
      ? { parts: [textPart('')], named: [] }
      : readMessageParts(change.message, eventContext.place.account, eventContext.place.botUserId)
  if (said.parts.length === 0) return ignoredMessage(eventContext, 'no_content', author)
  return slackInboundMessage({ ...eventContext, event, change, author, said })
}

/** A change of something, or why there is none. */
function detectChange(event: SlackEvent): Change | string {
  const { subtype, message, previous_message: previous } = event
  if (subtype === undefined || spokenSubtypes.has(subtype)) return { event: 'new', message: event, version: '0' }
  if (systemSubtypes.has(subtype)) return 'system_message'
  if (subtype === 'message_replied') return 'thread_notice'
  if (subtype === 'message_deleted') {
    const gone = previous ?? message
    const ts = event.deleted_ts ?? gone?.ts
    return gone === undefined || ts === undefined
      ? 'no_author'
      : { event: 'delete', message: { ...gone, ts }, version: `deleted:${ts}` }
  }
  if (subtype !== 'message_changed' || message === undefined) return 'unsupported_subtype'
  // A message with replies is not deleted but replaced by a tombstone.
  if (message.subtype === 'tombstone') {
    const gone = previous ?? message
    return { event: 'delete', message: { ...gone, ts: message.ts }, version: `deleted:${message.ts}` }
  }
  const isReworded = previous === undefined ? message.edited !== undefined : isTextChanged(message, previous)
  if (!isReworded) return 'preview_only'
  return { event: 'edit', message, version: message.edited?.ts ?? event.event_ts ?? event.ts }
}

/** Previews of links change a message too, and nothing new was said. */
function isTextChanged(message: SlackMessage, previous: SlackMessage): boolean {
  return message.text !== previous.text || message.edited?.ts !== previous.edited?.ts
}

function messageIgnoreReason(
  { app, place, isBeyondHops }: scenes.EventContext,
  event: SlackEvent,
  message: SlackMessage,
): string | undefined {
  for (const shown of [event, event.message, event.previous_message, message])
    if (shown !== undefined && isOwnMessage(place, shown)) return 'own_message'
  if (message.user === 'USLACK' || systemSubtypes.has(message.subtype ?? '')) return 'system_message'
  if (!isBotMessage(message)) return undefined
  if (message.streaming_state === 'in_progress') return 'still_streaming'
  const ids = [message.user, message.bot_id, message.app_id, message.bot_profile?.app_id]
  if (!ids.some((each) => each !== undefined && app.allowBots.has(each))) return 'from_bot'
  return isBeyondHops === true ? 'bot_hop_limit' : undefined
}

type BotMarks = Pick<SlackMessage, 'user' | 'bot_id' | 'app_id' | 'bot_profile' | 'subtype'>

function isOwnMessage({ botUserId, appId }: scenes.AppInstallation, { user, app_id, bot_profile }: BotMarks): boolean {
  if (botUserId !== undefined && user === botUserId) return true
  return appId !== undefined && (app_id === appId || bot_profile?.app_id === appId)
}

function isBotMessage({ bot_id, bot_profile, subtype }: BotMarks): boolean {
  return bot_id !== undefined || bot_profile !== undefined || subtype === 'bot_message'
}

function messageAuthor({ place }: scenes.EventContext, message: SlackMessage): scenes.Author | undefined {
  const id = message.user ?? message.bot_id
  if (id === undefined) return undefined
  const profile = message.user_profile
  return {
    id,
    ...scenes.resolveAuthorTeam(place, message.user_team ?? message.source_team),
    isBot: isBotMessage(message),
    isGuest: profile?.is_restricted === true || profile?.is_ultra_restricted === true,
    username: profile?.name ?? '',
    name: profile?.display_name || profile?.real_name || message.bot_profile?.name || '',
  }
}

type MessageContext = scenes.EventContext & {
  readonly event: SlackEvent
  readonly change: Change
  readonly author: scenes.Author
  readonly said: MessageParts
}

function slackInboundMessage(eventContext: MessageContext): InboundMessage {
  const { place, event, author, said, connection, arrival } = eventContext
  const { message, version, event: kind } = eventContext.change
  const { channel } = event
  const room = scenes.chooseRoomKind(channel, event.channel_type)
  const surface = chooseAppSurface(room, message)
  const thread = scenes.threadRoot(
    room,
    message.thread_ts ?? (surface === undefined ? undefined : message.ts),
    message.ts,
  )
  const threadId = scenes.slackThreadId(place, channel, thread)
  const originalId = `${place.account}:${channel}:${message.ts}`
  const isReply = message.thread_ts !== undefined && message.thread_ts !== message.ts
  const context = messageContext(eventContext, room, originalId)
  return {
    kind: 'message',
    message: {
      id: kind === 'new' ? originalId : `${originalId}:${version}`,
      thread_id: threadId,
      ...(isReply ? { in_reply_to: `${place.account}:${channel}:${message.thread_ts}` } : {}),
      sender: scenes.slackSender(eventContext, author, { channel, isMention: context.addressed === 'mention' }),
      recipient: scenes.agentAddress(connection),
      parts: [...said.parts],
      recipient_capabilities: scenes.slackRecipientCapabilities(eventContext.app),
      received_via: 'slack',
      received_at: arrival.receivedAt,
      raw: eventContext.raw,
      channel: context,
    },
    agent: connection.agent,
    semanticId: originalId,
    version,
    isSenderChosenId: false,
    deliveryId: eventContext.deliveryId,
    subject: scenes.slackSubject(author),
    thread: { candidates: [threadId], platformVerified: true, newThreadKey: threadId },
    replyTo: {
      ...scenes.slackReplyAddress(place, channel, thread, author),
      reply_to_ts: message.ts,
      ...(surface === undefined ? {} : { reply_to_surface: surface }),
    },
    platformAt: scenes.tsToIsoTime(kind === 'new' ? message.ts : (event.event_ts ?? event.ts)),
  }
}

/** Which of the app's own views it was written in: there every first message opens a thread, as in a channel. */
function chooseAppSurface(
  room: 'dm' | 'group' | 'channel',
  { app_context, assistant_thread }: SlackMessage,
): 'agent' | 'assistant' | undefined {
  if (room !== 'dm') return undefined
  if (app_context !== undefined) return 'agent'
  return assistant_thread === undefined ? undefined : 'assistant'
}

function messageContext(
  eventContext: MessageContext,
  room: 'dm' | 'group' | 'channel',
  originalId: string,
): ChannelContext {
  const { event, change, author, said, place } = eventContext
  const isCalled = said.named.some(({ userId }) => userId === place.botUserId) || event.type === 'app_mention'
  const { thread_ts: root, ts } = change.message
  const own = change.message.app_context
  const viewed = own === undefined ? eventContext.viewed : listViewedEntities(own)
  const isInThread = root !== undefined && root !== '' && root !== ts
  // A bot is answered only where it calls us, so that two bots do not keep each other talking.
  const isHeardOn = isInThread && !author.isBot
  const parentIsUs = place.botUserId !== undefined && change.message.parent_user_id === place.botUserId
  return {
    ...scenes.baseChannelContext(eventContext, {
      external_conversation_id: event.channel,
      external_message_id: change.message.ts,
      sender_id: author.id,
      room_kind: room,
    }),
    addressed: room === 'dm' ? 'dm' : isCalled ? 'mention' : parentIsUs ? 'reply' : isHeardOn ? 'thread' : 'none',
    mentions: said.named.map(({ text, userId }) => ({
      text,
      subject: scenes.slackSubject({ ...scenes.resolveAuthorTeam(place, undefined), id: userId }),
    })),
    event: change.event,
    ...(room === 'dm' || isInThread ? {} : { main_line: scenes.slackThreadId(place, event.channel, undefined) }),
    ...(change.message.subtype === 'thread_broadcast' ? { broadcast: true } : {}),
    ...(viewed === undefined ? {} : { context: viewed }),
    ...(change.event === 'new' ? {} : { target_id: originalId }),
  }
}

function ignoredMessage(eventContext: scenes.EventContext, reason: string, author?: scenes.Author): InboundEvent {
  const { deliveryId, raw } = eventContext
  const subject = author === undefined ? {} : { subject: scenes.slackSubject(author) }
  return { kind: 'ignored', reason, isNoise: reason === 'thread_notice', deliveryId, ...subject, raw }
}

// Parts: the person's words, their files, and what they quote, which is never an order. Pure.

type MessageParts = { readonly parts: readonly KnownPart[]; readonly named: readonly NamedUser[] }

type Spoken = Pick<SlackMessage, 'text' | 'blocks' | 'files' | 'attachments' | 'subtype'>

function readMessageParts(message: Spoken, account: string, botUserId: string | undefined): MessageParts {
  const blocks = message.blocks ?? []
  const { text, named } = readRichText(blocks) ?? decodeText(message.text ?? '')
  const words = withoutBotMention(text, botUserId).trim()
  const spoken = message.subtype === 'me_message' && words !== '' ? `[action] ${words}` : words
  const tables = blocks.filter(isTable)
  const texts = [spoken, ...(tables.length === 0 ? [] : [readAnyBlocks(tables)])]
  for (const attachment of message.attachments ?? []) texts.push(quotedAttachment(attachment) ?? '')
  const parts: KnownPart[] = []
  for (const file of message.files ?? []) {
    const { data } = fileSchema.safeParse(file)
    if (data !== undefined) parts.push(slackFilePart(data, account))
  }
  for (const each of texts) if (each !== '') parts.push(textPart(each))
  return { parts, named }
}

const bareCall = /^\s*@([A-Z0-9]+)\b[\s,:]*/
const labelledCall = /^\s*@[^\n()]{1,80} \(([A-Z0-9]+)\)[\s,:]*/

/** The mention that calls us is no part of what is asked; further ones stay. */
function withoutBotMention(text: string, botUserId: string | undefined): string {
  if (botUserId === undefined) return text
  const call = [bareCall, labelledCall].find((pattern) => pattern.exec(text)?.[1] === botUserId)
  const rest = call === undefined ? text : text.replace(call, '')
  return rest.trim() === '' ? text : rest
}

/** Shared messages and pasted tables. Previews of links are Slack's words, not the sender's, and are left out. */
function quotedAttachment(value: unknown): string | undefined {
  const { data } = attachmentSchema.safeParse(value)
  if (data === undefined) return undefined
  const blocks = [...(data.blocks ?? []), ...listInnerBlocks(data.message_blocks ?? [])]
  const isShare = data.is_share === true || data.is_msg_unfurl === true
  if (!isShare && blocks.some(isTable)) return readAnyBlocks(blocks)
  if (!isShare && data.from_url !== undefined) return undefined
  const plain = [data.pretext, data.title, data.text ?? data.fallback].filter(
    (text) => text !== undefined && text !== '',
  )
  const words = readAnyBlocks(blocks) || decodeText(plain.join('\n')).text
  if (words.trim() === '') return undefined
  const author = cleanName(data.author_name ?? '')
  const head = isShare ? `[shared message${author === '' ? '' : ` from ${author}`}]` : '[attachment]'
  return `${head}\n${words.replace(/^/gm, '> ')}`
}

function listInnerBlocks(entries: readonly unknown[]): readonly unknown[] {
  return entries.flatMap((entry) => {
    const message = typeof entry === 'object' && entry !== null && 'message' in entry ? entry.message : undefined
    const blocks = typeof message === 'object' && message !== null && 'blocks' in message ? message.blocks : undefined
    return Array.isArray(blocks) ? blocks : []
  })
}

// Files are described as far as Slack says what they are. Their bytes stay where they are. Pure.

/** Deleted, beyond the plan's limit, or not shown to us: nothing can be asked for. */
const goneModes: ReadonlySet<string> = new Set(['tombstone', 'hidden_by_limit'])

function slackFilePart(file: SlackFile, account: string): KnownPart {
  const name = cleanText(file.name ?? '').slice(0, 255)
  if (goneModes.has(file.mode ?? '')) return textPart(`[file: ${name || file.id}, no longer there]`)
  // It lies on another service, and our token must not go there.
  if (file.is_external === true || file.mode === 'external')
    return textPart(`[file: ${name || file.id}, kept elsewhere]`)
  const isStub = file.file_access === 'check_file_info'
  const url = isStub ? undefined : (file.url_private_download ?? file.url_private)
  const mime = file.mimetype
  return {
    kind: 'file',
    bytes_ref: {
      kind: 'channel',
      ref: {
        account,
        file_id: file.id,
        ...(url === undefined ? {} : { url }),
        ...(mime === undefined ? {} : { mime }),
      },
    },
    ...(mime === undefined ? {} : { mime }),
    ...(name === '' ? {} : { name }),
    ...(file.size === undefined ? {} : { size: file.size }),
  }
}

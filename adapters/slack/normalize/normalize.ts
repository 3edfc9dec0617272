// Normalizes one signed payload: a message event, its edit or its deletion here, any other order in `interactions.ts`. Pure:
// values and facts in, values out.
import {
  type ChannelContext,
  type InboundEvent,
  type InboundMessage,
  textPart,
  UnparsableEventError,
} from '../../../src/contract/index.ts'
import { misfit, readByWireRule } from '../../../src/lib/index.ts'
import {
  envelopeRule,
  homeOpenedSchema,
  installationEvents,
  messageRule,
  noiseEvents,
  type SlackEvent,
  type SlackMessage,
  spokenSubtypes,
  stoppedSchema,
  systemSubtypes,
  threadOpenedSchema,
} from '../wire.ts'
import { type MessageParts, readMessageParts } from './content.ts'
import * as contexts from './context.ts'
import {
  ignoredEvent,
  listViewedEntities,
  normalizeHomeOpened,
  normalizeInteraction,
  normalizeSlashPayload,
  normalizeStopButton,
  normalizeThreadOpened,
} from './interactions.ts'

const orderTypes: ReadonlySet<unknown> = new Set([
  'block_actions',
  'block_suggestion',
  'view_submission',
  'view_closed',
  'shortcut',
  'message_action',
  'interactive_message',
  'dialog_submission',
  'workflow_step_edit',
])

export function normalizeSlack(incoming: contexts.Incoming, value: contexts.Fields): InboundEvent {
  if (typeof value['command'] === 'string') return normalizeSlashPayload(incoming, value)
  if (orderTypes.has(value['type'])) return normalizeInteraction(incoming, value)
  const raw = contexts.withoutSlackSecrets(value)
  const envelope = readByWireRule(envelopeRule, value)
  if (envelope === misfit) throw new UnparsableEventError('invalid_envelope')
  const deliveryId = envelope.event_id ?? `${envelope.type}:${incoming.rawRequest.receivedAt}`
  if (envelope.type === 'app_rate_limited')
    return { kind: 'ignored', reason: 'app_rate_limited', isNoise: false, deliveryId, raw }
  if (envelope.type !== 'event_callback')
    return { kind: 'ignored', reason: 'unsupported_type', isNoise: false, deliveryId, raw }
  const eventContext: contexts.EventContext = {
    ...incoming,
    place: contexts.resolveInstallation(incoming.app, envelope),
    deliveryId,
    raw,
  }
  const inner = typeof envelope.event === 'object' && envelope.event !== null ? envelope.event : {}
  const type = 'type' in inner && typeof inner.type === 'string' ? inner.type : ''
  if (type === 'message' || type === 'app_mention') {
    const message = readByWireRule(messageRule, inner)
    if (message === misfit) throw new UnparsableEventError('invalid_event')
    return normalizeMessageEvent(eventContext, message)
  }
  if (type === 'app_home_opened') return normalizeHomeOpened(eventContext, parseEventAs(homeOpenedSchema, inner))
  if (type === 'app_context_changed') return ignoredEvent(eventContext, 'context_changed', eventUserId(inner))
  if (type.startsWith('assistant_thread_'))
    return normalizeThreadOpened(eventContext, parseEventAs(threadOpenedSchema, inner))
  if (type === 'agent_session_stopped') return normalizeStopButton(eventContext, parseEventAs(stoppedSchema, inner))
  if (installationEvents.has(type)) return ignoredEvent(eventContext, type)
  const reason = type === '' ? 'no_event' : 'unsupported_event'
  return { ...ignoredEvent(eventContext, reason, eventUserId(inner)), isNoise: noiseEvents.has(type) } as InboundEvent
}

function parseEventAs<T>(schema: { safeParse(value: unknown): { success: boolean; data?: T } }, value: unknown): T {
  const { data } = schema.safeParse(value)
  if (data === undefined) throw new UnparsableEventError('invalid_event')
  return data
}

/** Whose reaction, visit or membership it is. */
function eventUserId(inner: object): string | undefined {
  const user = 'user' in inner ? inner.user : undefined
  return typeof user === 'string' && /^[UW][A-Z0-9]{1,31}$/.test(user) ? user : undefined
}

// A message event, its edit or its deletion. `message` and `app_mention` are twins and share one key.

type Change = {
  readonly event: 'new' | 'edit' | 'delete'
  readonly message: SlackMessage
  /** Tells one amendment from the next; the same on redelivery. */
  readonly version: string
}

function normalizeMessageEvent(eventContext: contexts.EventContext, event: SlackEvent): InboundEvent {
  const change = detectMessageChange(event)
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
function detectMessageChange(event: SlackEvent): Change | string {
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
  { app, place, isBeyondHops }: contexts.EventContext,
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

function isOwnMessage(
  { botUserId, appId }: contexts.AppInstallation,
  { user, app_id, bot_profile }: BotMarks,
): boolean {
  if (botUserId !== undefined && user === botUserId) return true
  return appId !== undefined && (app_id === appId || bot_profile?.app_id === appId)
}

function isBotMessage({ bot_id, bot_profile, subtype }: BotMarks): boolean {
  return bot_id !== undefined || bot_profile !== undefined || subtype === 'bot_message'
}

function messageAuthor({ place }: contexts.EventContext, message: SlackMessage): contexts.Author | undefined {
  const id = message.user ?? message.bot_id
  if (id === undefined) return undefined
  const profile = message.user_profile
  return {
    id,
    ...contexts.resolveAuthorTeam(place, message.user_team ?? message.source_team),
    isBot: isBotMessage(message),
    isGuest: profile?.is_restricted === true || profile?.is_ultra_restricted === true,
    username: profile?.name ?? '',
    name: profile?.display_name || profile?.real_name || message.bot_profile?.name || '',
  }
}

type MessageContext = contexts.EventContext & {
  readonly event: SlackEvent
  readonly change: Change
  readonly author: contexts.Author
  readonly said: MessageParts
}

function slackInboundMessage(eventContext: MessageContext): InboundMessage {
  const { place, event, author, said, connection, rawRequest } = eventContext
  const { message, version, event: kind } = eventContext.change
  const { channel } = event
  const room = contexts.chooseRoomKind(channel, event.channel_type)
  const surface = chooseAppSurface(room, message)
  // A direct conversation is one thread; anywhere else, and in the app's own views, every first message opens its own.
  const opensThread = room !== 'dm' || surface !== undefined
  const thread = message.thread_ts ?? (opensThread ? message.ts : undefined)
  const threadId = contexts.slackThreadId(place, channel, thread)
  const originalId = `${place.account}:${channel}:${message.ts}`
  const isReply = message.thread_ts !== undefined && message.thread_ts !== message.ts
  const context = messageChannelContext(eventContext, room, originalId)
  return {
    kind: 'message',
    message: {
      id: kind === 'new' ? originalId : `${originalId}:${version}`,
      thread_id: threadId,
      ...(isReply ? { in_reply_to: `${place.account}:${channel}:${message.thread_ts}` } : {}),
      sender: contexts.slackSender(eventContext, author, { channel, isMention: context.addressed === 'mention' }),
      recipient: contexts.agentAddress(connection),
      parts: [...said.parts],
      recipient_capabilities: contexts.slackRecipientCapabilities(eventContext.app),
      received_via: 'slack',
      received_at: rawRequest.receivedAt,
      raw: eventContext.raw,
      channel: context,
    },
    agent: connection.agent,
    semanticId: originalId,
    version,
    isSenderChosenId: false,
    deliveryId: eventContext.deliveryId,
    subject: contexts.slackSubject(author),
    thread: { candidates: [threadId], platformVerified: true, newThreadKey: threadId },
    replyTo: {
      ...contexts.slackReplyAddress(place, channel, thread, author),
      reply_to_ts: message.ts,
      ...(surface === undefined ? {} : { reply_to_surface: surface }),
    },
    platformAt: contexts.tsToIsoTime(kind === 'new' ? message.ts : (event.event_ts ?? event.ts)),
  }
}

/** Which of the app's own views it was written in. */
function chooseAppSurface(
  room: 'dm' | 'group' | 'channel',
  { app_context, assistant_thread }: SlackMessage,
): 'agent' | 'assistant' | undefined {
  if (room !== 'dm') return undefined
  if (app_context !== undefined) return 'agent'
  return assistant_thread === undefined ? undefined : 'assistant'
}

function messageChannelContext(
  eventContext: MessageContext,
  room: 'dm' | 'group' | 'channel',
  originalId: string,
): ChannelContext {
  const { event, change, author, said, place } = eventContext
  let isCalled = event.type === 'app_mention'
  const mentions: NonNullable<ChannelContext['mentions']>[number][] = []
  for (const { text, userId } of said.named) {
    if (userId === place.botUserId) isCalled = true
    mentions.push({
      text,
      subject: contexts.slackSubject({ ...contexts.resolveAuthorTeam(place, undefined), id: userId }),
    })
  }
  const { thread_ts: root, ts } = change.message
  const own = change.message.app_context
  const viewed = own === undefined ? eventContext.viewed : listViewedEntities(own)
  const isInThread = root !== undefined && root !== '' && root !== ts
  // A bot is answered only where it calls us, so that two bots do not keep each other talking.
  const isHeardOn = isInThread && !author.isBot
  const parentIsUs = place.botUserId !== undefined && change.message.parent_user_id === place.botUserId
  return {
    ...contexts.baseChannelContext(eventContext, {
      external_conversation_id: event.channel,
      external_message_id: change.message.ts,
      sender_id: author.id,
      room_kind: room,
    }),
    addressed: room === 'dm' ? 'dm' : isCalled ? 'mention' : parentIsUs ? 'reply' : isHeardOn ? 'thread' : 'none',
    mentions,
    event: change.event,
    ...(room === 'dm' || isInThread ? {} : { main_line: contexts.slackThreadId(place, event.channel, undefined) }),
    ...(change.message.subtype === 'thread_broadcast' ? { broadcast: true } : {}),
    ...(viewed === undefined ? {} : { context: viewed }),
    ...(change.event === 'new' ? {} : { target_id: originalId }),
  }
}

function ignoredMessage(eventContext: contexts.EventContext, reason: string, author?: contexts.Author): InboundEvent {
  const { deliveryId, raw } = eventContext
  const subject = author === undefined ? {} : { subject: contexts.slackSubject(author) }
  return { kind: 'ignored', reason, isNoise: reason === 'thread_notice', deliveryId, ...subject, raw }
}

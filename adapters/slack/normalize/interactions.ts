// Normalizes interactions: a button, a slash command, the native stop button, and the app's own views. Pure.

import {
  type ChannelContext,
  type InboundEvent,
  type InboundMessage,
  textPart,
  UnparsableEventError,
} from '../../../src/contract/index.ts'
import type { JsonObject } from '../../../src/lib/index.ts'
import {
  type AppContext,
  type AssistantContext,
  approvalActions,
  approvalBlock,
  entitySchema,
  type HomeOpened,
  interactionSchema,
  type SlackInteraction,
  type SlackSlash,
  slashSchema,
  type ThreadOpened,
} from '../wire.ts'
import { decodeSlackText } from './content.ts'
import type { EventContext } from './context.ts'
import * as contexts from './context.ts'

/** Answers within the card need what it asked, and no more of it than a person reads. */
const maxQuestionLength = 600

export function normalizeInteraction(incoming: contexts.Incoming, value: contexts.Fields): InboundEvent {
  const parsed = interactionSchema.safeParse(value)
  if (!parsed.success) throw new UnparsableEventError('invalid_interaction')
  const { data } = parsed
  const enterprise = data.enterprise?.id ?? data.team?.enterprise_id
  const place = resolveInteractionInstallation(incoming.app, {
    isOrg: data.is_enterprise_install === true,
    team: data.team?.id ?? data.user?.team_id,
    enterprise,
    appId: data.api_app_id,
  })
  const eventContext = {
    ...incoming,
    place,
    deliveryId: interactionDeliveryId(value, incoming),
    raw: contexts.withoutSlackSecrets(value),
  }
  return data.type === 'block_actions'
    ? normalizeButtonClick(eventContext, data)
    : ignoredEvent(eventContext, `unsupported_${data.type}`, data.user?.id)
}

export function normalizeSlashPayload(incoming: contexts.Incoming, value: contexts.Fields): InboundEvent {
  const parsed = slashSchema.safeParse(value)
  if (!parsed.success) throw new UnparsableEventError('invalid_command')
  const { data } = parsed
  const place = resolveInteractionInstallation(incoming.app, {
    isOrg: data.is_enterprise_install === 'true',
    team: data.team_id,
    enterprise: data.enterprise_id,
    appId: data.api_app_id,
  })
  return normalizeSlashCommand(
    {
      ...incoming,
      place,
      deliveryId: interactionDeliveryId(value, incoming),
      raw: contexts.withoutSlackSecrets(value),
    },
    data,
  )
}

/** Slack repeats no click and no command; people do. */
function interactionDeliveryId(value: contexts.Fields, { rawRequest }: contexts.Incoming): string {
  const trigger = value['trigger_id']
  return typeof trigger === 'string' && trigger !== '' ? trigger.slice(0, 128) : rawRequest.receivedAt
}

type GivenCommand = {
  readonly author: contexts.Author
  readonly channel: string
  readonly thread: string | undefined
  /** Given by the platform: one for each order. */
  readonly id: string
  readonly at: string | undefined
  readonly command: NonNullable<ChannelContext['command']>
  readonly words: string
  readonly mustReplyIndividually: 'click' | 'command'
  readonly replyTo: JsonObject
}

function normalizeButtonClick(eventContext: contexts.EventContext, interaction: SlackInteraction): InboundEvent {
  const { user, container, message, actions = [] } = interaction
  const action = actions.find(
    ({ action_id, block_id }) => block_id === approvalBlock && approvalActions.has(action_id ?? ''),
  )
  const name = action?.action_id
  const code = action?.value
  if (name === undefined || code === undefined || !/^[\w-]{1,64}$/.test(code))
    return ignoredEvent(eventContext, 'not_our_button', user?.id)
  const channel = interaction.channel?.id ?? container?.channel_id
  const card = container?.message_ts ?? message?.ts
  if (user === undefined || channel === undefined || card === undefined)
    return ignoredEvent(eventContext, 'click_without_place', user?.id)
  const author = commandAuthor(eventContext, user.id, user.team_id, user.name)
  const room = contexts.chooseRoomKind(channel, undefined)
  const within = container?.thread_ts ?? message?.thread_ts
  // What one person alone sees begins no thread, and a direct conversation is one.
  const opensThread = room !== 'dm' && container?.is_ephemeral !== true
  const thread = within ?? (opensThread ? card : undefined)
  const question = (message?.text ?? '').slice(0, maxQuestionLength).toWellFormed()
  return commandToInboundMessage(eventContext, {
    author,
    channel,
    thread,
    id: `click:${card}:${action?.action_ts ?? eventContext.deliveryId}:${user.id}`,
    at: action?.action_ts,
    command: { name, args: code },
    words: `/${name} ${code}`,
    mustReplyIndividually: 'click',
    replyTo: {
      ...contexts.slackReplyAddress(eventContext.place, channel, thread, author),
      reply_to_card: card,
      ...(container?.is_ephemeral === true ? { reply_to_private_card: true } : {}),
      ...replyToResponseField(eventContext),
      ...(question === '' ? {} : { reply_to_question: question }),
    },
  })
}

function normalizeSlashCommand(eventContext: contexts.EventContext, slash: SlackSlash): InboundEvent {
  const author = commandAuthor(eventContext, slash.user_id, slash.team_id, slash.user_name)
  const name = slash.command.slice(1).toLowerCase()
  // Names of people and channels are tokens here too, where the command asks for it.
  const text = decodeSlackText(slash.text).text.trim()
  const replyTo = contexts.slackReplyAddress(eventContext.place, slash.channel_id, undefined, author)
  const isOurs = name === eventContext.app.slashCommand
  const order = isOurs ? parseSlackGatewayCommand(text === '' ? 'help' : text) : undefined
  return commandToInboundMessage(eventContext, {
    author,
    channel: slash.channel_id,
    thread: undefined,
    id: `slash:${slash.trigger_id ?? eventContext.deliveryId}`,
    at: undefined,
    command: order ?? { name, args: text },
    // Of the app's own command the rest is what is said; any other says by its name what is wanted.
    words: !isOurs ? `${slash.command} ${text}`.trim() : text === '' ? '/help' : text,
    mustReplyIndividually: 'command',
    replyTo: { ...replyTo, user: slash.user_id, ...replyToResponseField(eventContext) },
  })
}

function replyToResponseField({ response }: contexts.EventContext): { reply_to_response?: string } {
  return response === undefined ? {} : { reply_to_response: response }
}

export function normalizeStopButton(
  eventContext: contexts.EventContext,
  stop: { readonly channel: string; readonly user: string; readonly thread_ts: string; readonly event_ts: string },
): InboundEvent {
  const author = commandAuthor(eventContext, stop.user, undefined)
  return commandToInboundMessage(eventContext, {
    author,
    channel: stop.channel,
    thread: stop.thread_ts,
    id: `stop:${stop.thread_ts}:${stop.event_ts}`,
    at: stop.event_ts,
    command: { name: 'stop', args: '' },
    words: '/stop',
    mustReplyIndividually: 'command',
    replyTo: contexts.slackReplyAddress(eventContext.place, stop.channel, stop.thread_ts, author),
  })
}

/** `/parley stop`, `/parley approve c0ffee`. A sentence that happens to begin with such a word is a sentence. */
function parseSlackGatewayCommand(text: string): ChannelContext['command'] {
  const [first = '', ...rest] = text.toLowerCase().split(/\s+/)
  const args = rest.join(' ')
  const takesOne = ['approve', 'reject', 'pair'].includes(first) && rest.length === 1
  const isConsent = first === 'consent' && /^(?:allow|withdraw) \S+$/.test(args)
  const isOrder = /^[a-z]{1,32}$/.test(first) && (rest.length === 0 || takesOne || isConsent)
  return isOrder ? { name: first, args } : undefined
}

/** What an order calls its author is a user name; the name that people see is asked for where it is shown. */
function commandAuthor(
  { place }: contexts.EventContext,
  id: string,
  team: string | undefined,
  username = '',
): contexts.Author {
  return { id, ...contexts.resolveAuthorTeam(place, team), isBot: false, isGuest: false, name: '', username }
}

function commandToInboundMessage(eventContext: contexts.EventContext, order: GivenCommand): InboundMessage {
  const { place, connection, rawRequest } = eventContext
  const { author, channel, thread, id, command } = order
  const threadId = contexts.slackThreadId(place, channel, thread)
  const room = contexts.chooseRoomKind(channel, undefined)
  return {
    kind: 'message',
    message: {
      id: `${place.account}:${channel}:${id}`,
      thread_id: threadId,
      sender: contexts.slackSender(eventContext, author, { channel, isMention: false }),
      recipient: contexts.agentAddress(connection),
      parts: [textPart(order.words)],
      recipient_capabilities: contexts.slackRecipientCapabilities(eventContext.app),
      received_via: 'slack',
      received_at: rawRequest.receivedAt,
      raw: eventContext.raw,
      channel: {
        ...contexts.baseChannelContext(eventContext, {
          external_conversation_id: channel,
          external_message_id: id,
          sender_id: author.id,
          room_kind: room,
        }),
        addressed: 'command',
        mentions: [],
        event: 'new',
        ...(room === 'dm' || thread !== undefined ? {} : { main_line: threadId }),
        command,
      },
    },
    agent: connection.agent,
    semanticId: `${place.account}:${channel}:${id}`,
    version: '0',
    isSenderChosenId: false,
    deliveryId: eventContext.deliveryId,
    subject: contexts.slackSubject(author),
    thread: { candidates: [threadId], platformVerified: true, newThreadKey: threadId },
    replyTo: order.replyTo,
    mustReplyIndividually: order.mustReplyIndividually,
    platformAt: order.at === undefined ? rawRequest.receivedAt : contexts.tsToIsoTime(order.at),
  }
}

export function ignoredEvent(eventContext: contexts.EventContext, reason: string, userId?: string): InboundEvent {
  const { deliveryId, raw, place } = eventContext
  const author = userId === undefined ? undefined : { ...contexts.resolveAuthorTeam(place, undefined), id: userId }
  const subject = author === undefined ? {} : { subject: contexts.slackSubject(author) }
  return { kind: 'ignored', reason, isNoise: false, deliveryId, ...subject, raw }
}

/** Installation of a click or a command. An organization's payload names no team of its own. */
function resolveInteractionInstallation(
  app: contexts.AppFacts,
  given: {
    readonly isOrg: boolean
    readonly team: string | undefined
    readonly enterprise: string | undefined
    readonly appId: string | undefined
  },
): contexts.AppInstallation {
  const account = given.isOrg ? given.enterprise : given.team
  if (account === undefined) throw new UnparsableEventError('no_installation')
  return { account, ...given, appId: app.appId ?? given.appId, botUserId: app.botUserId, isShared: true }
}

// In the app's own views a person opened a thread, or looks at something else now. Nothing was said. Pure.

type Viewed = NonNullable<ChannelContext['context']>

const entityKinds: Readonly<Record<string, string>> = {
  'slack#/types/channel_id': 'channel',
  'slack#/types/canvas_id': 'canvas',
  'slack#/types/list_id': 'list',
  'slack#/types/message_context': 'message',
}
const maxViewed = 20

export function normalizeThreadOpened(
  eventContext: EventContext,
  { type, assistant_thread: thread }: ThreadOpened,
): InboundEvent {
  if (type === 'assistant_thread_context_changed') return ignoredEvent(eventContext, 'context_changed', thread.user_id)
  const opened = {
    ...toOpenedChannel(eventContext, thread.channel_id),
    thread_ts: thread.thread_ts,
    reply_to_user: thread.user_id,
    reply_to_surface: 'assistant',
  }
  return { ...ignoredEvent(eventContext, 'conversation_opened', thread.user_id), opened } as InboundEvent
}

/** With the agent's view this is how Slack says that a person opened the conversation; it leaves no row. */
export function normalizeHomeOpened(eventContext: EventContext, { user, channel, tab }: HomeOpened): InboundEvent {
  const noise = { ...ignoredEvent(eventContext, 'home_opened', user), isNoise: true } as InboundEvent
  if (tab !== 'messages' || channel === undefined) return noise
  return { ...noise, opened: { ...toOpenedChannel(eventContext, channel), reply_to_user: user } } as InboundEvent
}

function toOpenedChannel(
  { place }: EventContext,
  channel: string,
): { account: string; team_id?: string; channel: string } {
  return {
    account: place.account,
    ...(place.isOrg && place.team !== undefined ? { team_id: place.team } : {}),
    channel,
  }
}

/** What the sender had open, in the words of the newer view. */
export function listViewedEntities(context: AppContext): Viewed {
  return (context.entities ?? []).slice(0, maxViewed).flatMap((given) => {
    const { data } = entitySchema.safeParse(given)
    const kind = entityKinds[data?.type ?? '']
    if (data === undefined || kind === undefined) return []
    const workspace = data.team_id === undefined ? {} : { workspace: data.team_id }
    if (typeof data.value === 'string') return [{ kind, id: data.value, ...workspace }]
    return [{ kind, id: data.value.channel_id, message_id: data.value.message_ts, ...workspace }]
  })
}

/** The same in the words of the older one. */
export function viewedAssistantChannel({ channel_id: id, team_id: team }: AssistantContext): Viewed {
  return id === undefined ? [] : [{ kind: 'channel', id, ...(team === undefined ? {} : { workspace: team }) }]
}

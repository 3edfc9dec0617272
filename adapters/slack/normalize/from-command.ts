// Hop 3: what a person orders without writing a message: a button, a slash command, the native stop button. Pure.
import {
  type Arrived,
  type ArrivedMessage,
  type ChannelContext,
  type JsonObject,
  textPart,
  UnreadableArrival,
} from '../../../src/contract/index.ts'
import { approvalActions, approvalBlock, type SlackInteraction, type SlackSlash } from '../wire/order.ts'
import { decodeText } from './decode-text.ts'
import * as scenes from './scene.ts'

/** Answers within the card need what it asked, and no more of it than a person reads. */
const maxQuestionLength = 600

type Order = {
  readonly author: scenes.Author
  readonly channel: string
  readonly thread: string | undefined
  /** Given by the platform: one for each order. */
  readonly id: string
  readonly at: string | undefined
  readonly command: NonNullable<ChannelContext['command']>
  readonly words: string
  readonly obligation: 'click' | 'command'
  readonly replyTo: JsonObject
}

export function fromClick(scene: scenes.Scene, interaction: SlackInteraction): Arrived {
  const { user, container, message, actions = [] } = interaction
  const action = actions.find(
    ({ action_id, block_id }) => block_id === approvalBlock && approvalActions.has(action_id ?? ''),
  )
  const name = action?.action_id
  const code = action?.value
  if (name === undefined || code === undefined || !/^[\w-]{1,64}$/.test(code))
    return nothing(scene, 'not_our_button', user?.id)
  const channel = interaction.channel?.id ?? container?.channel_id
  const card = container?.message_ts ?? message?.ts
  if (user === undefined || channel === undefined || card === undefined)
    return nothing(scene, 'click_without_place', user?.id)
  const author = person(scene, user.id, user.team_id, user.name)
  const room = scenes.roomKind(channel, undefined)
  const within = container?.thread_ts ?? message?.thread_ts
  // What one person alone sees begins no thread.
  const thread = container?.is_ephemeral === true ? within : scenes.threadOf(room, within, card)
  const question = (message?.text ?? '').slice(0, maxQuestionLength).toWellFormed()
  return arrived(scene, {
    author,
    channel,
    thread,
    id: `click:${card}:${action?.action_ts ?? scene.deliveryId}:${user.id}`,
    at: action?.action_ts,
    command: { name, args: code },
    words: `/${name} ${code}`,
    obligation: 'click',
    replyTo: {
      ...scenes.replyToOf(scene.place, channel, thread, author),
      reply_to_card: card,
      ...(container?.is_ephemeral === true ? { reply_to_private_card: true } : {}),
      ...responseOf(scene),
      ...(question === '' ? {} : { reply_to_question: question }),
    },
  })
}

export function fromSlash(scene: scenes.Scene, slash: SlackSlash): Arrived {
  const author = person(scene, slash.user_id, slash.team_id, slash.user_name)
  const name = slash.command.slice(1).toLowerCase()
  // Names of people and channels are tokens here too, where the command asks for it.
  const text = decodeText(slash.text).text.trim()
  const replyTo = scenes.replyToOf(scene.place, slash.channel_id, undefined, author)
  const isOurs = name === scene.app.slashCommand
  const order = isOurs ? gatewayOrder(text === '' ? 'help' : text) : undefined
  return arrived(scene, {
    author,
    channel: slash.channel_id,
    thread: undefined,
    id: `slash:${slash.trigger_id ?? scene.deliveryId}`,
    at: undefined,
    command: order ?? { name, args: text },
    // Of the app's own command the rest is what is said; any other says by its name what is wanted.
    words: !isOurs ? `${slash.command} ${text}`.trim() : text === '' ? '/help' : text,
    obligation: 'command',
    replyTo: { ...replyTo, user: slash.user_id, ...responseOf(scene) },
  })
}

function responseOf({ response }: scenes.Scene): { reply_to_response?: string } {
  return response === undefined ? {} : { reply_to_response: response }
}

export function fromStop(
  scene: scenes.Scene,
  stop: { readonly channel: string; readonly user: string; readonly thread_ts: string; readonly event_ts: string },
): Arrived {
  const author = person(scene, stop.user, undefined)
  return arrived(scene, {
    author,
    channel: stop.channel,
    thread: stop.thread_ts,
    id: `stop:${stop.thread_ts}:${stop.event_ts}`,
    at: stop.event_ts,
    command: { name: 'stop', args: '' },
    words: '/stop',
    obligation: 'command',
    replyTo: scenes.replyToOf(scene.place, stop.channel, stop.thread_ts, author),
  })
}

/** `/parley stop`, `/parley approve c0ffee`. A sentence that happens to begin with such a word is a sentence. */
function gatewayOrder(text: string): ChannelContext['command'] {
  const [first = '', ...rest] = text.toLowerCase().split(/\s+/)
  const args = rest.join(' ')
  const takesOne = ['approve', 'reject', 'pair'].includes(first) && rest.length === 1
  const isConsent = first === 'consent' && /^(?:allow|withdraw) \S+$/.test(args)
  const isOrder = /^[a-z]{1,32}$/.test(first) && (rest.length === 0 || takesOne || isConsent)
  return isOrder ? { name: first, args } : undefined
}

/** What an order calls its author is a user name; the name that people see is asked for where it is shown. */
function person({ place }: scenes.Scene, id: string, team: string | undefined, username = ''): scenes.Author {
  return { id, ...scenes.homeOf(place, team), isBot: false, isGuest: false, name: '', username }
}

function arrived(scene: scenes.Scene, order: Order): ArrivedMessage {
  const { place, connection, arrival } = scene
  const { author, channel, thread, id, command } = order
  const threadId = scenes.threadId(place, channel, thread)
  const room = scenes.roomKind(channel, undefined)
  return {
    kind: 'message',
    message: {
      id: `${place.account}:${channel}:${id}`,
      thread_id: threadId,
      sender: scenes.senderOf(scene, author, { channel, isMention: false }),
      recipient: scenes.recipientOf(connection),
      parts: [textPart(order.words)],
      recipient_capabilities: scenes.capabilitiesOf(scene.app),
      received_via: 'slack',
      received_at: arrival.receivedAt,
      raw: scene.raw,
      channel: {
        ...scenes.contextOf(scene, {
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
    deliveryId: scene.deliveryId,
    subject: scenes.subjectOf(author),
    thread: { candidates: [threadId], vouched: true, fresh: threadId },
    replyTo: order.replyTo,
    obligation: order.obligation,
    platformAt: order.at === undefined ? arrival.receivedAt : scenes.instantOf(order.at),
  }
}

export function nothing(scene: scenes.Scene, reason: string, userId?: string): Arrived {
  const { deliveryId, raw, place } = scene
  const subject = userId === undefined ? {} : { subject: `slack:${scenes.homeOf(place, undefined).home}/${userId}` }
  return { kind: 'ignored', reason, isNoise: false, deliveryId, ...subject, raw }
}

/** Installation of a click or a command. An organization's payload names no team of its own. */
export function placeOfOrder(
  app: scenes.AppFacts,
  given: {
    readonly isOrg: boolean
    readonly team: string | undefined
    readonly enterprise: string | undefined
    readonly appId: string | undefined
  },
): scenes.Place {
  const account = given.isOrg ? given.enterprise : given.team
  if (account === undefined) throw new UnreadableArrival('no_installation')
  return { account, ...given, appId: app.appId ?? given.appId, botUserId: app.botUserId, isShared: true }
}

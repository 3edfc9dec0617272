// Hop 3: the app's own views in Slack: a person opened a thread, or looks at something else now. Nothing was said. Pure.
import type { ChannelContext, InboundEvent } from '../../../src/contract/index.ts'
import {
  type AppContext,
  type AssistantContext,
  entitySchema,
  type HomeOpened,
  type ThreadOpened,
} from '../wire/view.ts'
import { ignoredEvent } from './from-command.ts'
import type { EventContext } from './scene.ts'

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
    ...openedChannel(eventContext, thread.channel_id),
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
  return { ...noise, opened: { ...openedChannel(eventContext, channel), reply_to_user: user } } as InboundEvent
}

function openedChannel(
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
export function viewedEntities(context: AppContext): Viewed {
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

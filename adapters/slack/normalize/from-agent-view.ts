// Hop 3: the app's own views in Slack: a person opened a thread, or looks at something else now. Nothing was said. Pure.
import type { Arrived, ChannelContext } from '../../../src/contract/index.ts'
import {
  type AppContext,
  type AssistantContext,
  entitySchema,
  type HomeOpened,
  type ThreadOpened,
} from '../wire/view.ts'
import { nothing } from './from-command.ts'
import type { Scene } from './scene.ts'

type Viewed = NonNullable<ChannelContext['context']>

const kinds: Readonly<Record<string, string>> = {
  'slack#/types/channel_id': 'channel',
  'slack#/types/canvas_id': 'canvas',
  'slack#/types/list_id': 'list',
  'slack#/types/message_context': 'message',
}
const maxViewed = 20

export function fromThreadOpened(scene: Scene, { type, assistant_thread: thread }: ThreadOpened): Arrived {
  if (type === 'assistant_thread_context_changed') return nothing(scene, 'context_changed', thread.user_id)
  const opened = {
    ...placeOf(scene, thread.channel_id),
    thread_ts: thread.thread_ts,
    reply_to_user: thread.user_id,
    reply_to_surface: 'assistant',
  }
  return { ...nothing(scene, 'conversation_opened', thread.user_id), opened } as Arrived
}

/** With the agent's view this is how Slack says that a person opened the conversation; it leaves no row. */
export function fromHomeOpened(scene: Scene, { user, channel, tab }: HomeOpened): Arrived {
  const noise = { ...nothing(scene, 'home_opened', user), isNoise: true } as Arrived
  if (tab !== 'messages' || channel === undefined) return noise
  return { ...noise, opened: { ...placeOf(scene, channel), reply_to_user: user } } as Arrived
}

function placeOf({ place }: Scene, channel: string): { account: string; team_id?: string; channel: string } {
  return {
    account: place.account,
    ...(place.isOrg && place.team !== undefined ? { team_id: place.team } : {}),
    channel,
  }
}

/** What the sender had open, in the words of the newer view. */
export function viewedIn(context: AppContext): Viewed {
  return (context.entities ?? []).slice(0, maxViewed).flatMap((given) => {
    const { data } = entitySchema.safeParse(given)
    const kind = kinds[data?.type ?? '']
    if (data === undefined || kind === undefined) return []
    const workspace = data.team_id === undefined ? {} : { workspace: data.team_id }
    if (typeof data.value === 'string') return [{ kind, id: data.value, ...workspace }]
    return [{ kind, id: data.value.channel_id, message_id: data.value.message_ts, ...workspace }]
  })
}

/** The same in the words of the older one. */
export function viewedInAssistant({ channel_id: id, team_id: team }: AssistantContext): Viewed {
  return id === undefined ? [] : [{ kind: 'channel', id, ...(team === undefined ? {} : { workspace: team }) }]
}

// What a thread of the older assistant view was opened about. Slack says it in events of its own and not with the messages, so it
// is kept until they come; each thread has its own, and none is in another's messages.
import type { ChannelContext, TtlStore } from '../../../src/contract/index.ts'
import { misfit } from '../../../src/lib/index.ts'
import { viewedAssistantChannel } from '../normalize/from-agent-view.ts'
import {
  type AppFacts,
  type AppInstallation,
  authorHome,
  resolveInstallation,
  slackSubject,
} from '../normalize/scene.ts'
import { readEnvelope, readMessage, type SlackEnvelope } from '../wire/event.ts'
import { assistantContextSchema, threadOpenedSchema } from '../wire/view.ts'

export type Viewed = NonNullable<ChannelContext['context']>

const contextFamily = 'context'
const contextLifeMs = 7 * 24 * 60 * 60_000

/** Undefined where nothing is known; a message of the newer view says it itself. */
export async function learnThreadContext(
  notes: TtlStore | undefined,
  app: AppFacts,
  value: Readonly<Record<string, unknown>>,
): Promise<Viewed | undefined> {
  const { event } = value
  const isOfThread = typeof event === 'object' && event !== null && 'assistant_thread' in event
  const envelope = isOfThread ? readEnvelope(value) : misfit
  const place =
    envelope !== misfit && envelope.type === 'event_callback' ? tryResolveInstallation(app, envelope) : undefined
  if (notes === undefined || place === undefined) return undefined
  const { data: opened } = threadOpenedSchema.safeParse(event)
  if (opened !== undefined) {
    const { channel_id: channel, thread_ts: thread, user_id: id, context } = opened.assistant_thread
    const subject = slackSubject({ ...authorHome(place, undefined), id })
    const { channel_id, team_id } = context ?? {}
    const about = { ...(channel_id === undefined ? {} : { channel_id }), ...(team_id === undefined ? {} : { team_id }) }
    await notes.keep({
      family: contextFamily,
      key: `${place.account}:${channel}:${thread}`,
      value: about,
      lifeMs: contextLifeMs,
      subject,
    })
    return undefined
  }
  const message = readMessage(event)
  if (message === misfit || message.thread_ts === undefined) return undefined
  const kept = await notes.read(contextFamily, `${place.account}:${message.channel}:${message.thread_ts}`)
  return kept === undefined ? undefined : viewedAssistantChannel(assistantContextSchema.parse(kept))
}

/** Undefined where it names no installation: it is kept as unreadable then. */
function tryResolveInstallation(app: AppFacts, envelope: SlackEnvelope): AppInstallation | undefined {
  try {
    return resolveInstallation(app, envelope)
  } catch {
    return undefined
  }
}

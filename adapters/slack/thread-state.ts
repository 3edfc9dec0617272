// State of a thread: what it was opened about in the older assistant view, and how often bots spoke in it. Slack says the former
// in events of its own and not with the messages, so it is kept until they come; each thread has its own, and none is in
// another's messages.
import type { ChannelContext, TtlStore } from '../../src/contract/index.ts'
import { misfit, readByWireRule } from '../../src/lib/index.ts'
import {
  type AppFacts,
  type AppInstallation,
  resolveAuthorTeam,
  resolveInstallation,
  slackSubject,
} from './normalize/context.ts'
import { viewedAssistantChannel } from './normalize/interactions.ts'
import { assistantContextSchema, envelopeRule, messageRule, type SlackEnvelope, threadOpenedSchema } from './wire.ts'

export type Viewed = NonNullable<ChannelContext['context']>

const contextFamily = 'context'
const contextLifeMs = 7 * 24 * 60 * 60_000

/** Of an event with an `assistant_thread`. Undefined where nothing is known; a message of the newer view says it itself. */
export async function storeOrReadThreadContext(
  notes: TtlStore | undefined,
  app: AppFacts,
  value: Readonly<Record<string, unknown>>,
): Promise<Viewed | undefined> {
  const { event } = value
  const envelope = readByWireRule(envelopeRule, value)
  const place =
    envelope !== misfit && envelope.type === 'event_callback' ? tryResolveInstallation(app, envelope) : undefined
  if (notes === undefined || place === undefined) return undefined
  const { data: opened } = threadOpenedSchema.safeParse(event)
  if (opened !== undefined) {
    const { channel_id: channel, thread_ts: thread, user_id: id, context } = opened.assistant_thread
    const subject = slackSubject({ ...resolveAuthorTeam(place, undefined), id })
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
  const message = readByWireRule(messageRule, event)
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

// How often bots have spoken to us in a thread since a person did, so that two bots cannot talk forever. Asked only
// where the operator listens to bots at all.

const hopFamily = 'bot_hops'
/** After a day's silence it is another conversation. */
const hopLifeMs = 24 * 60 * 60_000

/** Whether this message of a bot is one too many; each counts once, however often it is delivered. */
export async function countBotHopAndCheckLimit(
  notes: TtlStore | undefined,
  app: AppFacts,
  value: Readonly<Record<string, unknown>>,
): Promise<boolean> {
  if (notes === undefined || value['type'] !== 'event_callback') return false
  const envelope = readByWireRule(envelopeRule, value)
  const message = envelope === misfit ? misfit : readByWireRule(messageRule, envelope.event)
  if (envelope === misfit || message === misfit || !isPostedMessageSubtype(message.subtype)) return false
  const key = `${resolveAccountOrEmpty(app, envelope)}:${message.channel}:${message.thread_ts ?? message.ts}`
  const isBot = message.bot_id !== undefined || message.bot_profile !== undefined
  if (!isBot) {
    await notes.take(hopFamily, key)
    return false
  }
  if (message.app_id !== undefined && message.app_id === (app.appId ?? envelope.api_app_id)) return false
  const kept = (await notes.read(hopFamily, key))?.['heard']
  const heard = Array.isArray(kept) ? kept.map(String) : []
  const at = heard.indexOf(message.ts)
  if (at !== -1) return at >= app.botHops
  if (heard.length < app.botHops + 1)
    await notes.keep({ family: hopFamily, key, value: { heard: [...heard, message.ts] }, lifeMs: hopLifeMs })
  return heard.length >= app.botHops
}

function isPostedMessageSubtype(subtype: string | undefined): boolean {
  return (
    subtype === undefined || subtype === 'bot_message' || subtype === 'file_share' || subtype === 'thread_broadcast'
  )
}

function resolveAccountOrEmpty(app: AppFacts, envelope: Parameters<typeof resolveInstallation>[1]): string {
  try {
    return resolveInstallation(app, envelope).account
  } catch {
    return ''
  }
}

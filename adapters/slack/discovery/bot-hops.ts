// How often bots have spoken to us in a thread since a person did, so that two bots cannot talk forever. Asked only
// where the operator listens to bots at all.
import type { TtlStore } from '../../../src/contract/index.ts'
import { misfit } from '../../../src/lib/index.ts'
import type { AppFacts } from '../normalize/scene.ts'
import { resolveInstallation } from '../normalize/scene.ts'
import { readEnvelope, readMessage } from '../wire/event.ts'

const hopFamily = 'bot_hops'
/** After a day's silence it is another conversation. */
const hopLifeMs = 24 * 60 * 60_000

/** Whether this message of a bot is one too many; each counts once, however often it is delivered. */
export async function exceedsBotHops(
  notes: TtlStore | undefined,
  app: AppFacts,
  value: Readonly<Record<string, unknown>>,
): Promise<boolean> {
  if (notes === undefined || app.allowBots.size === 0 || value['type'] !== 'event_callback') return false
  const envelope = readEnvelope(value)
  const message = envelope === misfit ? misfit : readMessage(envelope.event)
  if (envelope === misfit || message === misfit || !isSpokenMessage(message.subtype)) return false
  const key = `${hopAccount(app, envelope)}:${message.channel}:${message.thread_ts ?? message.ts}`
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

function isSpokenMessage(subtype: string | undefined): boolean {
  return (
    subtype === undefined || subtype === 'bot_message' || subtype === 'file_share' || subtype === 'thread_broadcast'
  )
}

function hopAccount(app: AppFacts, envelope: Parameters<typeof resolveInstallation>[1]): string {
  try {
    return resolveInstallation(app, envelope).account
  } catch {
    return ''
  }
}

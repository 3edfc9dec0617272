// The two events that end an installation. They arrive when its token is dead already, so nothing is asked of Slack.
import * as z from 'zod'
import type { Installations } from '../../../src/contract/index.ts'
import { misfit } from '../../../src/lib/index.ts'
import { type AppFacts, resolveInstallation } from '../normalize/scene.ts'
import { readEnvelope, type SlackEnvelope } from '../wire/event.ts'

const ids = z.array(z.string()).catch([])
const removalSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('app_uninstalled') }),
  z.object({ type: z.literal('tokens_revoked'), tokens: z.object({ bot: ids }).catch({ bot: [] }) }),
])

/** Ends what the event says has ended, and only that: a person's token that was revoked leaves the bot's alone. */
export async function endRemovedInstallation(
  installations: Installations,
  app: AppFacts,
  payload: unknown,
): Promise<void> {
  const envelope = readEnvelope(payload)
  if (envelope === misfit || envelope.type !== 'event_callback') return
  const event = removalSchema.safeParse(envelope.event)
  const account = event.success ? removedAccount(app, envelope) : undefined
  const found = account === undefined ? undefined : await installations.find(account)
  if (!event.success || found === undefined || found.status === 'removed') return
  const { data } = event
  const isOver = data.type === 'app_uninstalled' || data.tokens.bot.includes(String(found.facts['bot_user_id']))
  if (isOver) await installations.end(found.account, 'removed', data.type)
}

/** Undefined where it names no installation: it is kept as unreadable then, and ends nothing. */
function removedAccount(app: AppFacts, envelope: SlackEnvelope): string | undefined {
  try {
    return resolveInstallation(app, envelope).account
  } catch {
    return undefined
  }
}

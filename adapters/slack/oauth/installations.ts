// The installations of the app: one workspace, with its token in the settings, or every workspace that installed it.

import * as z from 'zod'
import { type Adapter, type ChannelDeps, GatewayError, type Installations } from '../../../src/contract/index.ts'
import { misfit } from '../../../src/lib/index.ts'
import type { SlackSettings } from '../config.ts'
import { type OnTokenFailed, type SlackTokenLookup, staticTokenLookup } from '../deliver/web-api.ts'
import { type AppFacts, resolveInstallation } from '../normalize/context.ts'
import { readEnvelope, type SlackEnvelope } from '../wire/payloads.ts'
import { serveInstall } from './install.ts'
import { createInstallationTokens } from './tokens.ts'

export type InstallationAccess = {
  readonly tokenOf: SlackTokenLookup
  readonly tokenFailed: OnTokenFailed
  /** Takes note of what a genuine payload says about its installation, before anything else is done with it. */
  readonly note: (app: AppFacts, payload: unknown) => Promise<void>
  readonly serve: Adapter['serve']
}

export function createInstallationAccess(settings: SlackSettings, deps: ChannelDeps): InstallationAccess {
  const { botToken, install, apiUrl } = settings
  const { installations, notes } = deps
  const noEffect = async (): Promise<undefined> => undefined
  if (botToken !== undefined)
    return { tokenOf: staticTokenLookup({ botToken }), tokenFailed: noEffect, note: noEffect, serve: undefined }
  if (install === undefined || installations === undefined || notes === undefined)
    throw new GatewayError('config_invalid', '[slack] there is no store for installations; set SLACK_BOT_TOKEN instead')
  const oauth = { ...install, apiUrl }
  const ports = { fetch: deps.fetch, now: deps.now, installations, notes }
  const desk = createInstallationTokens(oauth, ports)
  return {
    tokenOf: desk.tokenOf,
    tokenFailed: desk.tokenFailed,
    note: (app, payload) => endRemovedInstallation(installations, app, payload),
    serve: serveInstall(oauth, ports),
  }
}

// The two events that end an installation. They arrive when its token is dead already, so nothing is asked of Slack.

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

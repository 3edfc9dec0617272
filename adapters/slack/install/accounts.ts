// The installations of the app: one workspace, with its token in the settings, or every workspace that installed it.
import { type Adapter, type ChannelDeps, GatewayError } from '../../../src/contract/index.ts'
import type { SlackSettings } from '../config.ts'
import { type OnTokenFailed, type SlackTokenLookup, staticTokenLookup } from '../deliver/token-of.ts'
import type { AppFacts } from '../normalize/scene.ts'
import { endRemovedInstallation } from './removal.ts'
import { serveInstall } from './serve-install.ts'
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

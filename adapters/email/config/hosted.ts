// Checks the mail settings on a runtime without a machine of its own: it needs that runtime's mailer, and no setting that only Node can follow.
import { type ChannelDeps, GatewayError } from '../../../src/contract/index.ts'
import type { EmailSettings } from './settings.ts'

/** Settings that only a machine of its own can follow: an operator who sets one expects something that will not happen there. */
const nodeOnlySettings = [
  ['smtpUrl', 'SMTP_URL', 'there is no SMTP'],
  ['mailFolder', 'mailFolder', 'there is no disk'],
  ['dkimKeys', 'EMAIL_DKIM_KEY', 'Cloudflare signs what it sends'],
  ['dkimKeyFile', 'EMAIL_DKIM_KEY', 'Cloudflare signs what it sends'],
] as const satisfies readonly (readonly [keyof EmailSettings, string, string])[]

const noMailerProblem = 'no mail can be sent: add [[send_email]] with name = "SEND_EMAIL" to wrangler.toml'

/** The settings as they are, or every problem at once. */
export function requireHostedSettings(
  settings: EmailSettings,
  { carrier }: Pick<ChannelDeps, 'carrier'>,
): EmailSettings {
  const problems = [
    ...(carrier === undefined ? [noMailerProblem] : []),
    ...nodeOnlySettings.flatMap(([key, name, why]) =>
      isSettingGiven(settings[key]) ? [`${name} is for Node: ${why}; remove it`] : [],
    ),
  ]
  if (problems.length === 0) return settings
  throw new GatewayError('config_invalid', `[email] ${problems.join('; ')}`)
}

function isSettingGiven(value: EmailSettings[(typeof nodeOnlySettings)[number][0]]): boolean {
  return Array.isArray(value) ? value.length > 0 : value !== undefined
}

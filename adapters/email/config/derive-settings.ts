// Derives the settings of each part of the channel from those of a domain.

import type { Adapter, ChannelDeps } from '../../../src/contract/index.ts'
import { type Secret, secret } from '../../../src/lib/index.ts'
import type { AuthSettings } from '../auth/judge-author.ts'
import type { DeliverySettings } from '../deliver/settings.ts'
import type { ImapSettings } from '../imap.ts'
import type { SmtpSettings } from '../smtp/settings.ts'
import type { S3Settings } from '../webhooks/s3.ts'
import { developmentDomain, type EmailSettings, isLoopbackHost, parseMailboxUrl } from './settings.ts'

export function ingressSettings(settings: EmailSettings): IngressSettings {
  const { maxBytes, smtp, webhookSecret, ses, mailgun } = settings
  return {
    maxBytes,
    ...(smtp === false ? {} : { smtp: { ...smtp, name: smtp.name ?? settings.domain } }),
    imap: imapSettings(settings),
    ...(webhookSecret.length === 0 ? {} : { webhook: { secrets: webhookSecret } }),
    ...(ses === undefined ? {} : { ses }),
    ...(mailgun === undefined ? {} : { mailgun }),
  }
}

function imapSettings({ imap, domain }: EmailSettings): IngressSettings['imap'] {
  if (imap === undefined) return undefined
  const { url, address, mark, startAt, allowPlain, ca } = imap
  const { password, user, ...place } = parseMailboxUrl(url.reveal())
  return {
    ...place,
    user,
    password: secret(password),
    address: address ?? (user.includes('@') ? user : `${user}@${domain}`),
    startAt,
    allowPlain,
    ...(mark === undefined ? {} : { mark }),
    ...(ca === undefined ? {} : { ca }),
  }
}

export function authSettings({ trustedSealers, unnamedRecipients }: EmailSettings): Partial<AuthSettings> {
  return { trustedSealers, unnamedRecipients }
}

/** The mailbox that is fetched, where its address is at a provider's domain. */
function externalMailboxAddress(settings: EmailSettings): string | undefined {
  const address = imapSettings(settings)?.address
  const isOurs = [settings.domain, ...settings.domains].some((domain) => address?.toLowerCase().endsWith(`@${domain}`))
  return isOurs ? undefined : address
}

/** Its address is another name of the agent that it is for. */
export function mailboxAlias(settings: EmailSettings, agent: string): Readonly<Record<string, string>> {
  const mailbox = externalMailboxAddress(settings)
  return mailbox === undefined ? {} : { [mailbox.toLowerCase()]: agent }
}

/** What a byte of a file travels as: four for three, line ends (RFC 2045, 6.8), and room for the head. */
const encodedShare = 1.4

export function deliverySettings(settings: EmailSettings, mailer?: ChannelDeps['mailer']): DeliverySettings {
  const mailbox = externalMailboxAddress(settings)
  const { domain, smtpUrl, dkimKeys, dkimKeyFile, mailFolder, siblings, siblingSecret } = settings
  const carried = mailer === undefined ? Number.POSITIVE_INFINITY : Math.floor(mailer.maxBytes / encodedShare)
  const maxMailBytes = Math.min(settings.maxMailBytes, carried)
  return {
    domain,
    dkimKeys,
    maxMailBytes,
    siblings,
    callTimeoutMs: settings.callTimeoutMs,
    ...(mailbox === undefined ? {} : { mailbox }),
    ...(smtpUrl === undefined ? {} : { smtpUrl }),
    ...(dkimKeyFile === undefined ? {} : { dkimKeyFile }),
    ...(mailFolder === undefined ? {} : { mailFolder }),
    ...(siblingSecret === undefined ? {} : { siblingSecret }),
  }
}

/**
 * The agents' own addresses are at the host of the public URL: mail for them is ours, and where no domain was set up it is our domain.
 * A mailbox that is fetched stays what it is: which address reaches it is up to its server.
 */
export function addPublicHostAsDomain(
  settings: EmailSettings,
  host: string,
  mailer?: ChannelDeps['mailer'],
): EmailSettings {
  const { domain, domains, trustLoopback } = settings
  const isOurs = isWithinDomain(developmentDomain, host) || [domain, ...domains].includes(host)
  if (isOurs || trustLoopback || !acceptsPushedMail(settings, mailer)) return settings
  return domain === developmentDomain
    ? { ...settings, domain: host, domains: [...domains, developmentDomain] }
    : { ...settings, domains: [...domains, host] }
}

const isWithinDomain = (domain: string, host: string): boolean => host === domain || host.endsWith(`.${domain}`)

function acceptsPushedMail(
  { smtp, webhookSecret, ses, mailgun }: EmailSettings,
  mailer?: ChannelDeps['mailer'],
): boolean {
  return smtp !== false || webhookSecret.length > 0 || [ses, mailgun, mailer].some((way) => way !== undefined)
}

/** Whether mail gets here from programs of this machine alone. A mail server in front passes on what the world sends. */
export function isLocalMailOnly(settings: EmailSettings): boolean {
  const { smtp, imap, trustLoopback } = settings
  const isElsewhere = imap !== undefined || acceptsPushedMail({ ...settings, smtp: false })
  return trustLoopback && smtp !== false && isLoopbackHost(smtp.host) && !isElsewhere
}

export type NoticeDeps = { readonly host: string; readonly publicUrl?: string; readonly mailer?: ChannelDeps['mailer'] }

/** A person who waits for an answer should know where it went, and an operator who set a public address whether mail gets to it. */
export function emailStartNotice(settings: EmailSettings, deps: NoticeDeps): Pick<Adapter, 'notice'> {
  const { smtpUrl, mailFolder } = settings
  const until = 'until SMTP_URL is set'
  const said = [
    deps.publicUrl === undefined
      ? undefined
      : incomingMailSetupWarning(settings, deps, new URL(deps.publicUrl).hostname),
    smtpUrl !== undefined || deps.mailer !== undefined
      ? undefined
      : mailFolder === undefined
        ? `no answer leaves ${until}`
        : `answers are files in ${mailFolder} ${until}`,
  ].filter((each) => each !== undefined)
  return said.length === 0 ? {} : { notice: said.join('; ') }
}

/** Why a mail to an agent at the public host would not get here. */
function incomingMailSetupWarning(
  settings: EmailSettings,
  { host, mailer }: NoticeDeps,
  shown: string,
): string | undefined {
  const { domain, smtp } = settings
  if (isWithinDomain(developmentDomain, host))
    return domain === developmentDomain && acceptsPushedMail(settings, mailer)
      ? `${shown} is no domain for mail: set EMAIL_DOMAIN`
      : undefined
  if (!acceptsPushedMail(settings, mailer))
    return `mail to agents @${host} is not taken: set EMAIL_SMTP_PORT and EMAIL_SMTP_HOST, or another way in`
  const isNear = smtp !== false && isLoopbackHost(smtp.host)
  return isNear && !acceptsPushedMail({ ...settings, smtp: false }, mailer)
    ? `mail to agents @${host} is taken from this machine only: put a mail server in front, or set EMAIL_SMTP_HOST=0.0.0.0 and EMAIL_SMTP_PORT=25`
    : undefined
}

/** An ingress that is left out is closed: whatever claims to have come by it is rejected. */
export type IngressSettings = {
  /** Of one raw mail, whichever way it comes. */
  readonly maxBytes: number
  readonly smtp?: SmtpSettings | undefined
  readonly imap?: ImapSettings | undefined
  /** Any of them signs a mail that a forwarder of the operator's posts here. */
  readonly webhook?: { readonly secrets: readonly Secret[] } | undefined
  readonly ses?: { readonly topicArns: readonly string[]; readonly s3?: S3Settings | undefined } | undefined
  readonly mailgun?: { readonly signingKeys: readonly Secret[] } | undefined
}

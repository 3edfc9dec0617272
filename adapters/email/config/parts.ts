// The settings of a domain as each part of the channel wants them.
import { type Adapter, type Carrier, secret } from '../../../src/contract/index.ts'
import type { MailSettings } from '../deliver/settings.ts'
import type { ProofSettings } from '../prove/settings.ts'
import type { WaysSettings } from '../ways/settings.ts'
import { mailboxOf } from './mailbox.ts'
import type { EmailSettings } from './settings.ts'

export function waysSettings(settings: EmailSettings): WaysSettings {
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

function imapSettings({ imap, domain }: EmailSettings): WaysSettings['imap'] {
  if (imap === undefined) return undefined
  const { url, address, mark, startAt, allowPlain, ca } = imap
  const { password, user, ...place } = mailboxOf(url.reveal())
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

export function proofSettings({ trustedSealers, unnamedRecipients }: EmailSettings): Partial<ProofSettings> {
  return { trustedSealers, unnamedRecipients }
}

/** Whose mailbox is fetched, where that is an address at somebody else's domain. */
function mailboxElsewhere(settings: EmailSettings): string | undefined {
  const address = imapSettings(settings)?.address
  const isOurs = [settings.domain, ...settings.domains].some((domain) => address?.toLowerCase().endsWith(`@${domain}`))
  return isOurs ? undefined : address
}

/** Its address is another name of the agent that it is for. */
export function mailboxAlias(settings: EmailSettings, agent: string): Readonly<Record<string, string>> {
  const mailbox = mailboxElsewhere(settings)
  return mailbox === undefined ? {} : { [mailbox.toLowerCase()]: agent }
}

/** What a byte of a file travels as: four for three, line ends (RFC 2045, 6.8), and room for the head. */
const encodedShare = 1.4

export function deliverySettings(settings: EmailSettings, carrier?: Carrier): MailSettings {
  const mailbox = mailboxElsewhere(settings)
  const { domain, smtpUrl, dkimKeys, dkimKeyFile, mailFolder, siblings, siblingSecret } = settings
  const carried = carrier === undefined ? Number.POSITIVE_INFINITY : Math.floor(carrier.maxBytes / encodedShare)
  const maxMailBytes = Math.min(settings.maxMailBytes, carried)
  return {
    ...{ domain, dkimKeys, maxMailBytes, siblings, callTimeoutMs: settings.callTimeoutMs },
    ...(mailbox === undefined ? {} : { mailbox }),
    ...(smtpUrl === undefined ? {} : { smtpUrl }),
    ...(dkimKeyFile === undefined ? {} : { dkimKeyFile }),
    ...(mailFolder === undefined ? {} : { mailFolder }),
    ...(siblingSecret === undefined ? {} : { siblingSecret }),
  }
}

/** Whoever waits for an answer should know where it went. */
export function startNotice({ smtpUrl, mailFolder }: EmailSettings, carrier?: Carrier): Pick<Adapter, 'notice'> {
  if (smtpUrl !== undefined || carrier !== undefined) return {}
  const until = 'until SMTP_URL is set'
  return {
    notice: mailFolder === undefined ? `no answer leaves ${until}` : `answers are files in ${mailFolder} ${until}`,
  }
}

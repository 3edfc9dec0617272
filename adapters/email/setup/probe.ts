// Probes a mail connection: its mailbox is opened, and its relay is greeted and logged in to. No mail is sent. That its own port is
// open the gateway sees itself.
import type { ChannelDeps, ProbeProblem, ProbeRequest, ProbeResult } from '../../../src/contract/index.ts'
import { rejectWhenAborted, type Secret } from '../../../src/lib/index.ts'
import { deliverySettings, type IngressSettings, ingressSettings } from '../config/derive-settings.ts'
import { developmentDomain, type EmailSettings } from '../config/settings.ts'
import { checkSmtpLogin } from '../deliver/mailers.ts'
import { type ImapSettings, openMailbox } from '../imap.ts'

export function createEmailProbe(
  settings: EmailSettings,
  mailer: ChannelDeps['mailer'],
): (request: ProbeRequest) => Promise<ProbeResult> {
  const ways = ingressSettings(settings)
  const { smtpUrl, callTimeoutMs } = deliverySettings(settings, mailer)
  const summary = connectionSummary(settings, ways, mailer !== undefined)
  return async ({ signal }) => {
    const found = await Promise.all([
      ways.imap === undefined ? [] : probeImapMailbox(ways.imap, signal),
      smtpUrl === undefined ? [] : probeSmtpRelay(smtpUrl, callTimeoutMs, signal),
    ])
    return { summary, problems: found.flat() }
  }
}

/** The domain, how mail comes, how answers leave. */
function connectionSummary(
  settings: EmailSettings,
  { smtp, imap, webhook, ses, mailgun }: IngressSettings,
  isCarried: boolean,
) {
  const { domain, smtpUrl, mailFolder } = settings
  const isOwn = domain !== developmentDomain || smtp !== undefined
  const leaves =
    smtpUrl !== undefined
      ? `relay ${new URL(smtpUrl.reveal()).hostname}`
      : mailFolder !== undefined
        ? `answers as files in ${mailFolder}`
        : isCarried
          ? undefined
          : 'no relay'
  return [
    isOwn ? domain : undefined,
    smtp === undefined ? undefined : `smtp ${smtp.port === 0 ? 'on a port of its own' : `:${smtp.port}`}`,
    imap === undefined ? undefined : `imap ${imap.user.includes('@') ? imap.user : `${imap.user}@${imap.host}`}`,
    webhook === undefined ? undefined : 'webhook',
    ses === undefined ? undefined : 'SES',
    mailgun === undefined ? undefined : 'Mailgun',
    leaves,
  ]
    .filter((part) => part !== undefined)
    .join(', ')
}

async function probeImapMailbox(imap: ImapSettings, signal: AbortSignal): Promise<readonly ProbeProblem[]> {
  try {
    const mailbox = await rejectWhenAborted(openMailbox(imap, 0, signal), signal)
    mailbox.close()
    return []
  } catch (error) {
    const { authenticationFailed, responseStatus } = errorFields(error)
    if (authenticationFailed === true) {
      const remedy = 'check the name and the password in EMAIL_IMAP_URL'
      return [{ state: 'failed', reason: 'imap_login_refused', problem: 'the mailbox refused the login', remedy }]
    }
    if (responseStatus === 'NO') {
      const problem = `there is no mailbox ${imap.mailbox ?? 'INBOX'}`
      const remedy = 'end EMAIL_IMAP_URL with the name of one that is there, such as /INBOX'
      return [{ state: 'failed', reason: 'mailbox_missing', problem, remedy }]
    }
    const problem = `the mail server ${imap.host} cannot be reached (${networkErrorCode(error, signal)})`
    const remedy = 'check the network and the host and port in EMAIL_IMAP_URL; it is tried again'
    return [{ state: 'degraded', reason: 'imap_unreachable', problem, remedy }]
  }
}

async function probeSmtpRelay(
  url: Secret,
  callTimeoutMs: number,
  signal: AbortSignal,
): Promise<readonly ProbeProblem[]> {
  try {
    await rejectWhenAborted(checkSmtpLogin(url, callTimeoutMs), signal)
    return []
  } catch (error) {
    const { code, responseCode } = errorFields(error)
    const said = typeof responseCode === 'number' ? String(responseCode) : networkErrorCode(error, signal)
    if (code === 'EAUTH') {
      const remedy = 'check the name and the password in SMTP_URL'
      return [
        { state: 'failed', reason: 'relay_login_refused', problem: `the relay refused the login (${said})`, remedy },
      ]
    }
    const problem = `the relay ${new URL(url.reveal()).hostname} cannot be reached (${said})`
    const remedy = 'check the network and the host and port in SMTP_URL; answers wait meanwhile'
    return [{ state: 'degraded', reason: 'relay_unreachable', problem, remedy }]
  }
}

function errorFields(error: unknown): Readonly<Record<string, unknown>> {
  return typeof error === 'object' && error !== null ? { ...error } : {}
}

/** A code of the network or of TLS; the words of an error may quote anything. */
function networkErrorCode(error: unknown, signal: AbortSignal): string {
  if (signal.aborted) return 'no answer'
  const { code, cause } = errorFields(error)
  const under = errorFields(cause)['code']
  const found = [under, code].find((each) => typeof each === 'string' && /^[A-Z][A-Z0-9_]{2,60}$/.test(each))
  return typeof found === 'string' ? found : 'no answer'
}

// Handing a mail to a server: nodemailer's pool, kept for as long as the process. It never sends again by itself, so that every try is
// a row of ours.
import { type Attempt, type DeliveryOutcome, GatewayError, type Secret } from '../../../src/contract/index.ts'
import type { MailEnvelope } from './compose.ts'
import { deliveredOutcome } from './names.ts'
import { type MailStream, type Pool, smtpPool } from './node-parts.ts'
import type { DeliverySettings } from './settings.ts'
import { smtpOutcome } from './smtp-outcome.ts'
import { abortable } from './until-aborted.ts'

export type FinishedMail = { readonly raw: Uint8Array; readonly envelope: MailEnvelope; readonly messageId: string }
export type SendMail = (mail: FinishedMail, attempt: Pick<Attempt, 'signal' | 'clientId'>) => Promise<DeliveryOutcome>

export function createSmtpMailer(
  url: Secret,
  { callTimeoutMs, isPooled = true }: Pick<DeliverySettings, 'callTimeoutMs' | 'isPooled'>,
): SendMail {
  const options = { ...poolOptions(url, callTimeoutMs), pool: isPooled }
  let pool: Promise<Pool> | undefined
  return async ({ raw, envelope, messageId }, { signal }) => {
    pool ??= smtpPool(options)
    let stream: MailStream | undefined
    const watchStream = (given: MailStream): void => {
      stream = given
    }
    try {
      const sending = (await pool).sendMail({ envelope, raw, watch: watchStream })
      const { serverMessageId } = await abortable(sending, signal)
      return deliveredOutcome(serverMessageId, messageId)
    } catch (error) {
      if (error instanceof GatewayError) throw error
      return smtpOutcome(error, stream?.readableDidRead === true)
    }
  }
}

/** Greets the server and logs in, on a connection of its own; rejects where that fails. */
export async function checkRelay(url: Secret, callTimeoutMs: number): Promise<void> {
  await (await smtpPool({ ...poolOptions(url, callTimeoutMs), pool: false })).verify()
}

const loopback: ReadonlySet<string> = new Set(['127.0.0.1', 'localhost', '[::1]'])

function poolOptions(url: Secret, callTimeoutMs: number): object {
  const given = url.reveal()
  if (!URL.canParse(given) || !/^smtps?:$/.test(new URL(given).protocol)) {
    throw new GatewayError('config_invalid', '[email] SMTP_URL must be smtp://… or smtps://…')
  }
  const { protocol, hostname, port, username, password } = new URL(given)
  const isSecure = protocol === 'smtps:'
  const isLocal = loopback.has(hostname)
  // What is under way is over before the attempt is, so that it ends here with an answer.
  const timeout = Math.max(1000, callTimeoutMs - 1000)
  return {
    host: hostname.replace(/^\[|\]$/g, ''),
    port: port === '' ? (isSecure ? 465 : 587) : Number(port),
    secure: isSecure,
    requireTLS: !isSecure && !isLocal,
    ignoreTLS: !isSecure && isLocal,
    ...(username === '' ? {} : { auth: { user: decodeURIComponent(username), pass: decodeURIComponent(password) } }),
    maxConnections: 3,
    // Only where the server had closed an idle connection and not a byte of the mail was sent.
    maxRequeues: 1,
    idleTimeout: 30_000,
    connectionTimeout: Math.min(10_000, timeout),
    greetingTimeout: Math.min(10_000, timeout),
    socketTimeout: timeout,
    disableFileAccess: true,
    disableUrlAccess: true,
  }
}

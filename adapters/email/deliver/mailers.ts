// Mailers: an SMTP relay (nodemailer's pool), a folder for development, and the binding of Workers. None retries by itself, so
// that every try is a row of ours.
import type { Attempt, ChannelDeps, DeliveryResult } from '../../../src/contract/index.ts'
import { cleanName, GatewayError, rejectWhenAborted, type Secret } from '../../../src/lib/index.ts'
import { autoReplyHeaders, type Enclosed, type MailEnvelope, type MailToCompose } from './compose.ts'
import { deliveredOutcome } from './message-ids.ts'
import { createSmtpPool, importNodeFs, type MailStream, type Pool } from './node-modules.ts'
import type { BoundFile, BoundMail, DeliverySettings } from './settings.ts'

export type FinishedMail = { readonly raw: Uint8Array; readonly envelope: MailEnvelope; readonly messageId: string }
export type SendMail = (mail: FinishedMail, attempt: Pick<Attempt, 'signal' | 'clientId'>) => Promise<DeliveryResult>

export function createSmtpMailer(
  url: Secret,
  { callTimeoutMs, isPooled = true }: Pick<DeliverySettings, 'callTimeoutMs' | 'isPooled'>,
): SendMail {
  const options = { ...poolOptions(url, callTimeoutMs), pool: isPooled }
  let pool: Promise<Pool> | undefined
  return async ({ raw, envelope, messageId }, { signal }) => {
    pool ??= createSmtpPool(options)
    let stream: MailStream | undefined
    const rememberStream = (given: MailStream): void => {
      stream = given
    }
    try {
      const sending = (await pool).sendMail({ envelope, raw, watch: rememberStream })
      const { serverMessageId } = await rejectWhenAborted(sending, signal)
      return deliveredOutcome(serverMessageId, messageId)
    } catch (error) {
      if (error instanceof GatewayError) throw error
      return smtpOutcome(error, stream?.readableDidRead === true)
    }
  }
}

/** Greets the server and logs in, on a connection of its own; rejects where that fails. */
export async function checkSmtpLogin(url: Secret, callTimeoutMs: number): Promise<void> {
  await (await createSmtpPool({ ...poolOptions(url, callTimeoutMs), pool: false })).verify()
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

// Of a server's answer its own words are shown, cleaned and short.

/** A server that puts off whom it does not know yet wants some minutes (RFC 6647, 2.1). */
const greylistMs = 5 * 60_000
const pauseMs = 60_000
const greylisting = /gr[ae]y.?list|try again later|temporarily deferred|4\.7\.[01]\b/i

/** `isUnderWay`: bytes of the mail were asked for, so it may have arrived although the server did not say so. */
function smtpOutcome(error: unknown, isUnderWay: boolean): DeliveryResult {
  const { code, responseCode, response = '' } = smtpErrorFields(error)
  if (code === 'EAUTH') return { kind: 'retry', reason: 'smtp_login_refused', afterMs: pauseMs, scope: 'connection' }
  if (responseCode !== undefined && responseCode >= 500)
    return { kind: 'refused', reason: smtpReason(responseCode, response) }
  if (responseCode === 421)
    return { kind: 'retry', reason: smtpReason(421, response), afterMs: pauseMs, scope: 'connection' }
  if (responseCode !== undefined && responseCode >= 400) {
    const isGreylisted = greylisting.test(response)
    return {
      kind: 'retry',
      reason: smtpReason(responseCode, response),
      ...(isGreylisted ? { afterMs: greylistMs, scope: 'conversation' as const } : {}),
    }
  }
  if (code === 'EMESSAGE') return { kind: 'refused', reason: 'mail_too_large_for_server' }
  if (code === 'EENVELOPE') return { kind: 'refused', reason: 'invalid_envelope' }
  if (code === 'ETLS' || code === 'EREQUIRETLS') return { kind: 'retry', reason: 'smtp_without_tls' }
  if (isUnderWay) return { kind: 'unknown', reason: 'smtp_connection_lost' }
  return { kind: 'retry', reason: 'smtp_unreachable' }
}

function smtpErrorFields(error: unknown): { code?: unknown; responseCode?: number; response?: string } {
  if (typeof error !== 'object' || error === null) return {}
  const { code, responseCode, response } = error as Record<string, unknown>
  return {
    code,
    ...(typeof responseCode === 'number' ? { responseCode } : {}),
    ...(typeof response === 'string' ? { response } : {}),
  }
}

/** `smtp_550: 5.1.1 no such mailbox`. Addresses in it are not ours to repeat. */
function smtpReason(code: number, response: string): string {
  const words = cleanName(response.replace(/^\d{3}[ -]?/, ''))
    .replace(/\s+/g, ' ')
    .replace(/[^\s<>]+@[^\s<>]+/g, '…')
    .slice(0, 200)
  return words === '' ? `smtp_${code}` : `smtp_${code}: ${words.toWellFormed()}`
}

// Writes each mail as a file into a folder, for development without a server. The envelope stands before it, as servers note it.

export function createFolderMailer(folder: string): SendMail {
  return async ({ raw, envelope, messageId }) => {
    const { mkdir, open, rename } = await importNodeFs()
    // The id is ours: letters, digits, dots and one at sign. The same mail again is the same file.
    const path = `${folder}/${messageId.replace('@', '_at_')}.eml`
    const head = `X-Envelope-From: <${envelope.from}>\r\nX-Envelope-To: ${envelope.to.map((to) => `<${to}>`).join(', ')}\r\n`
    try {
      await mkdir(folder, { recursive: true, mode: 0o700 })
      const file = await open(`${path}.part`, 'w', 0o600)
      try {
        await file.writeFile(head)
        await file.writeFile(raw)
        await file.sync()
      } finally {
        await file.close()
      }
      await rename(`${path}.part`, path)
      return { kind: 'delivered', vendorId: messageId }
    } catch {
      return { kind: 'retry', reason: 'mail_folder_not_writable' }
    }
  }
}

// On Workers mail goes by the binding `send_email`. Cloudflare makes the bytes, signs them and names them; of our headers it
// takes those of threads, those that begin with X-, and a few more.

/** The id is Cloudflare's and another at every try: a recipient could not tell a second mail from the first. */
export async function sendByCloudflareBinding(
  mailer: NonNullable<ChannelDeps['mailer']>,
  mail: Omit<MailToCompose, 'at'>,
  { signal }: Pick<Attempt, 'signal'>,
): Promise<DeliveryResult> {
  const files = await Promise.all(mail.enclosed.map(readCloudflareAttachment)).catch(() => undefined)
  if (files === undefined) return { kind: 'retry', reason: 'file_unavailable' }
  if (signal.aborted) return { kind: 'retry', reason: 'aborted_before_sending' }
  try {
    const { messageId } = await rejectWhenAborted(mailer.send(toCloudflareEmail(mail, files)), signal)
    return await deliveredOutcome(messageId, mail.names.messageId)
  } catch (error) {
    return cloudflareErrorOutcome(error)
  }
}

function toCloudflareEmail({ call, names, bodies, headers }: Omit<MailToCompose, 'at'>, files: BoundFile[]): BoundMail {
  const threading = {
    ...(call.in_reply_to === null ? {} : { 'In-Reply-To': `<${call.in_reply_to}>` }),
    ...(call.references.length === 0 ? {} : { References: call.references.map((id) => `<${id}>`).join(' ') }),
  }
  return {
    from: { name: call.from.name, email: call.from.address },
    to: call.to.map(({ address }) => address),
    ...(call.cc.length === 0 ? {} : { cc: call.cc.map(({ address }) => address) }),
    replyTo: { name: call.from.name, email: names.replyTo },
    subject: call.subject,
    ...bodies,
    headers: { ...autoReplyHeaders, ...threading, ...headers },
    ...(files.length === 0 ? {} : { attachments: files }),
  }
}

async function readCloudflareAttachment({ name, mime, cid, body }: Enclosed): Promise<BoundFile> {
  const content = new Uint8Array(await new Response(body).arrayBuffer())
  const file = { content, filename: name, type: mime }
  return cid === undefined ? { ...file, disposition: 'attachment' } : { ...file, disposition: 'inline', contentId: cid }
}

const retryCodes: ReadonlySet<string> = new Set(['E_RATE_LIMIT_EXCEEDED', 'E_DAILY_LIMIT_EXCEEDED'])

/** Cloudflare's errors have codes; what has none, or failed in there, may have been sent. */
function cloudflareErrorOutcome(error: unknown): DeliveryResult {
  const code = typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : ''
  if (!/^E_[A-Z_]{1,60}$/.test(code)) return { kind: 'unknown', reason: 'no_readable_answer' }
  const reason = code.toLowerCase()
  if (code === 'E_INTERNAL_SERVER_ERROR') return { kind: 'unknown', reason }
  return retryCodes.has(code)
    ? { kind: 'retry', reason, afterMs: 60_000, scope: 'connection' }
    : { kind: 'refused', reason }
}

// Sends mail on Workers, by the binding `send_email`. Cloudflare makes the bytes, signs them and names them; of our headers it takes those of
// threads, those that begin with X-, and a few more.
import type { Attempt, DeliveryOutcome, Mailer } from '../../../src/contract/index.ts'
import type { Enclosed } from './attach.ts'
import { autoReplyHeaders, type MailToCompose } from './compose.ts'
import { deliveredOutcome } from './names.ts'
import type { BoundFile, BoundMail } from './settings.ts'
import { abortable } from './until-aborted.ts'

/** The id is Cloudflare's and another at every try: a recipient could not tell a second mail from the first. */
export async function sendByBinding(
  carrier: Mailer,
  mail: Omit<MailToCompose, 'at'>,
  { signal }: Pick<Attempt, 'signal'>,
): Promise<DeliveryOutcome> {
  const files = await Promise.all(mail.enclosed.map(readBoundFile)).catch(() => undefined)
  if (files === undefined) return { kind: 'retry', reason: 'file_unavailable' }
  if (signal.aborted) return { kind: 'retry', reason: 'aborted_before_sending' }
  try {
    const { messageId } = await abortable(carrier.send(toBoundMail(mail, files)), signal)
    return await deliveredOutcome(messageId, mail.names.messageId)
  } catch (error) {
    return bindingOutcome(error)
  }
}

function toBoundMail({ call, names, bodies, headers }: Omit<MailToCompose, 'at'>, files: BoundFile[]): BoundMail {
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

async function readBoundFile({ name, mime, cid, body }: Enclosed): Promise<BoundFile> {
  const content = new Uint8Array(await new Response(body).arrayBuffer())
  const file = { content, filename: name, type: mime }
  return cid === undefined ? { ...file, disposition: 'attachment' } : { ...file, disposition: 'inline', contentId: cid }
}

const retryCodes: ReadonlySet<string> = new Set(['E_RATE_LIMIT_EXCEEDED', 'E_DAILY_LIMIT_EXCEEDED'])

/** Cloudflare's errors have codes; what has none, or failed in there, may have been sent. */
function bindingOutcome(error: unknown): DeliveryOutcome {
  const code = typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : ''
  if (!/^E_[A-Z_]{1,60}$/.test(code)) return { kind: 'unknown', reason: 'no_readable_answer' }
  const reason = code.toLowerCase()
  if (code === 'E_INTERNAL_SERVER_ERROR') return { kind: 'unknown', reason }
  return retryCodes.has(code)
    ? { kind: 'retry', reason, afterMs: 60_000, scope: 'connection' }
    : { kind: 'refused', reason }
}

// Sends one test mail the way replies go: composed, signed and handed over as any other, with its outcome at once.
import type { CommandResult, DeliveryOutcome } from '../../../src/contract/index.ts'
import { webHmac } from '../../../src/lib/index.ts'
import { deliverMail } from '../deliver/mail.ts'
import type { DeliverySettings } from '../deliver/settings.ts'
import { base32 } from '../threads/key.ts'
import type { MailCall } from '../wire/call.ts'

export async function sendTestMail(given: DeliverySettings, to: string): Promise<CommandResult> {
  const settings = { ...given, isPooled: false }
  const randomKey = (): string => base32(crypto.getRandomValues(new Uint8Array(10)))
  const key = randomKey()
  const deliver = deliverMail(settings, {
    connection: { tenant: 'default', id: 'default', agent: 'test', domain: settings.domain },
    hmac: webHmac(),
    now: Date.now,
    // Nothing is kept of it: an answer begins a conversation of its own.
    secret: async () => key,
    tokens: async () => ({ mint: async (name) => `${name}${key}` }),
  })
  const outcome = await deliver(testMailCall(settings, to, randomKey()), {
    outboxId: key,
    runId: undefined,
    number: 1,
    clientId: `send-test:${key}`,
    isMaybeRepeat: false,
    signal: AbortSignal.timeout(settings.callTimeoutMs),
  })
  const way = describeMailer(settings)
  const value = { to, way, outcome: { ...outcome } }
  const isSent = outcome.kind === 'delivered'
  const lines = [
    `To          ${to}`,
    `Through     ${way}`,
    `Signed      ${isDkimConfigured(settings) ? 'with DKIM' : 'not at all; run: parley email setup <domain>'}`,
    `Came of it  ${describeOutcome(outcome)}`,
  ]
  return {
    value,
    text: lines.join('\n'),
    ...(isSent ? {} : { problem: `the mail was not sent: ${describeOutcome(outcome)}` }),
  }
}

function testMailCall({ domain, mailbox }: DeliverySettings, to: string, thread: string): MailCall {
  const words = `This mail was sent by parley email send-test, from ${mailbox ?? domain}. If you can read it, replies can reach you.`
  return {
    op: 'send',
    from: { name: 'Parley', address: mailbox ?? `postmaster@${domain}` },
    to: [{ name: '', address: to }],
    cc: [],
    subject: `Test mail from ${mailbox ?? domain}`,
    text: words,
    html: `<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"></head><body><p>${words}</p></body></html>\n`,
    quote: null,
    in_reply_to: null,
    references: [],
    thread,
    files: [],
    decisions: [],
    decided: null,
    hop: 1,
  }
}

function describeMailer({ smtpUrl, mailFolder }: DeliverySettings): string {
  if (smtpUrl !== undefined) return `the server ${new URL(smtpUrl.reveal()).host}`
  return mailFolder === undefined ? 'nothing; set SMTP_URL' : `a file in ${mailFolder}, because SMTP_URL is not set`
}

function isDkimConfigured({ dkimKeys = [], dkimKeyFile }: DeliverySettings): boolean {
  return dkimKeys.length > 0 || dkimKeyFile !== undefined
}

function describeOutcome(outcome: DeliveryOutcome): string {
  switch (outcome.kind) {
    case 'delivered':
      return `taken, as ${outcome.vendorId ?? 'a mail without an id'}`
    case 'refused':
      return `refused for good: ${outcome.reason}`
    case 'retry':
      return `not now: ${outcome.reason}`
    case 'unknown':
      return `not known: ${outcome.reason}`
    default:
      return outcome satisfies never
  }
}

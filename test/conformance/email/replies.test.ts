// Conformance cases of replies by mail, each by its id: what goes in, and what must come of it. The server is real.

import { generateKeyPairSync } from 'node:crypto'
import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import MailComposer from 'nodemailer/lib/mail-composer'
import { afterAll, beforeAll, expect } from 'vitest'
import { createDecisionLinks } from '../../../adapters/email/approval-links/links.ts'
import { deliverMail } from '../../../adapters/email/deliver/mail.ts'
import type { DeliveryDeps, DeliverySettings } from '../../../adapters/email/deliver/settings.ts'
import { renderMailReply } from '../../../adapters/email/render/reply.ts'
import type { MailCall } from '../../../adapters/email/wire/call.ts'
import type { NormalizedResponse } from '../../../src/contract/index.ts'
import type { JsonObject } from '../../../src/lib/json-value.ts'
import { secret } from '../../../src/lib/secret.ts'
import * as out from '../../doubles/mailer-deps.ts'
import { emailSay } from '../../doubles/say.ts'
import { type SmtpSink, startHangUp, startSmtpSink, type TakenMail } from '../../doubles/smtp-sink.ts'
import { conform, refusal } from '../conform.ts'

let sink: SmtpSink
beforeAll(async () => {
  sink = await startSmtpSink(['ann@example.org'])
})
afterAll(async () => {
  expect(sink.unexpected).toEqual([])
  await sink.close()
})

const key = generateKeyPairSync('rsa', { modulusLength: 2048 })
const dkimKeys = [
  { selector: 's1', privateKey: secret(key.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()) },
]
const record = `v=DKIM1; k=rsa; p=${key.publicKey.export({ type: 'spki', format: 'der' }).toString('base64')}`

function callOf(reply: NormalizedResponse = out.replyOf('Hello'), to: JsonObject = out.replyTo): MailCall {
  return renderMailReply(emailSay, reply, to)[0]?.call ?? expect.unreachable('nothing was rendered')
}

async function send(call: MailCall, more: Partial<DeliverySettings> = {}, deps: DeliveryDeps = out.mailDeps()) {
  return deliverMail(out.mailSettings({ smtpUrl: secret(sink.url), ...more }), deps)(call, out.attemptOf())
}

async function sent(...given: Parameters<typeof send>): Promise<TakenMail> {
  expect(await send(...given)).toMatchObject({ kind: 'delivered' })
  return sink.mails.at(-1) ?? expect.unreachable('nothing was taken')
}

async function hungUp(when: 'mail' | 'data_end') {
  const server = await startHangUp(when)
  try {
    return await send(callOf(), { smtpUrl: secret(server.url) })
  } finally {
    await server.close()
  }
}

const idOf = (raw: string) => /^Message-ID: (<[^>]+>)/im.exec(headOf(raw))?.[1]
const headOf = (raw: string) => raw.slice(0, raw.indexOf('\r\n\r\n')).replace(/\r\n[ \t]+/g, ' ')
const large = '0190a000-0000-7000-8000-000000000002'
const largeReply = (size: number) => out.replyOf('', { parts: [out.storedFile(large, 'big.png', 'image/png', size)] })

conform('replies by mail', [
  {
    id: 'EM-117',
    claim: 'a provider’s own id for our mail is a name of the thread from then on',
    run: () =>
      send(
        callOf(),
        { smtpUrl: undefined } as never,
        out.mailDeps({ mailer: { maxBytes: 5_000_000, send: async () => ({ messageId: '<other@ses.example>' }) } }),
      ),
    expected: { kind: 'delivered', vendorId: 'other@ses.example', name: expect.stringMatching(/^t:[a-z2-7]{16}$/) },
  },
  {
    id: 'EM-134',
    claim:
      'a reply is from the agent, to the authenticated sender, in its thread, marked as automatic, in two forms, and signed',
    async run() {
      const { raw, to } = await sent(callOf(), { dkimKeys })
      const { results } = await dkimVerify(Buffer.from(raw, 'latin1'), {
        resolver: async () => [[record]],
        sender: '',
      } as never)
      const signed = / h=([^;]+);/.exec(headOf(raw))?.[1]?.replace(/\s/g, '').split(':') ?? []
      const must = ['from', 'subject', 'date', 'message-id', 'to', 'in-reply-to', 'references', 'content-type']
      return {
        to,
        head: headOf(raw),
        result: results[0]?.status.result,
        isCovered: must.every((each) => signed.includes(each)),
      }
    },
    expected: {
      to: ['ann@example.org'],
      head: expect.stringMatching(/From: helper <helper@agents\.example>[\s\S]*multipart\/alternative/),
      result: 'pass',
      isCovered: true,
    },
  },
  {
    id: 'EM-135',
    claim: 'line ends, markup, large pictures and paths in what an agent says do nothing',
    async run() {
      const hostile = out.replyOf('</body><script>alert(1)</script>\r\n.\r\nQUIT')
      const { raw } = await sent(callOf(hostile, { ...out.replyTo, reply_to_subject: 'x\r\nBcc: z@e.example' }))
      const linked = await sent(
        callOf(largeReply(10_000_001)),
        {},
        out.mailDeps({ files: out.filesOf({ [large]: 10_000_001 }) }),
      )
      const composer = new MailComposer({ disableFileAccess: true, attachments: [{ path: '/etc/passwd' }] })
      return {
        hasBcc: /^bcc:/im.test(headOf(raw)),
        hasScript: raw.slice(raw.indexOf('Content-Type: text/html')).includes('<script'),
        isLinked: linked.raw.includes('Too large for a mail') && linked.raw.length < 20_000,
        path: await refusal(() => composer.compile().build()),
      }
    },
    expected: {
      hasBcc: false,
      hasScript: false,
      isLinked: true,
      path: expect.stringContaining('File access rejected'),
    },
  },
  {
    id: 'EM-136',
    claim: 'a recipient with a line end is refused before any library sees it',
    async run() {
      const address = 'bob@x\r\nRCPT TO:<z@e.example>'
      const rendered = await refusal(() => callOf(out.replyOf('x'), { ...out.replyTo, address }))
      const call = { ...callOf(), to: [{ name: '', address }] } as MailCall
      return { rendered, delivered: await send(call) }
    },
    expected: {
      rendered: expect.stringContaining('is no plain address'),
      delivered: { kind: 'refused', reason: 'invalid_recipient' },
    },
  },
  {
    id: 'EM-137',
    claim:
      'a temporary answer is tried again with the same id, a final one is final, and a lost answer is known to be lost',
    async run() {
      sink.failOnce({ at: 'DATA', code: 451, words: 'busy' })
      const busy = await send(callOf())
      const first = await sent(callOf())
      const again = await sent(callOf())
      sink.failOnce({ at: 'RCPT', code: 550, words: '5.1.1 unknown' })
      const gone = await send(callOf())
      const isSame = idOf(first.raw) !== undefined && idOf(first.raw) === idOf(again.raw)
      return { busy, isSame, gone, before: await hungUp('mail'), after: await hungUp('data_end') }
    },
    equals: {
      busy: { kind: 'retry', reason: 'smtp_451: busy' },
      isSame: true,
      gone: { kind: 'refused', reason: 'smtp_550: 5.1.1 unknown' },
      before: { kind: 'retry', reason: 'smtp_unreachable' },
      after: { kind: 'unknown', reason: 'smtp_connection_lost' },
    },
  },
  {
    id: 'EM-138',
    claim: 'over the limit of the platform files become links that end',
    async run() {
      const given: JsonObject[] = []
      const mailer = {
        maxBytes: 5 * 1024 * 1024,
        async send(mail: unknown) {
          given.push(mail as JsonObject)
          return { messageId: '<x@y.example>' }
        },
      }
      const size = 5 * 1024 * 1024 + 1
      const deps = out.mailDeps({ mailer, files: out.filesOf({ [large]: size }) })
      const settings = out.mailSettings({ maxMailBytes: 5 * 1024 * 1024 })
      await deliverMail(settings, deps)(callOf(largeReply(size)), out.attemptOf())
      return { attachments: given[0]?.['attachments'] ?? null, text: given[0]?.['text'] }
    },
    expected: {
      attachments: null,
      text: expect.stringMatching(/big\.png \(5\.2 MB\)[\s\S]*https:\/\/gw\.example\/storage\//),
    },
  },
  {
    id: 'X-003',
    claim: 'a link that decides goes to the authenticated address and to nobody else',
    async run() {
      const reply = out.replyOf('@researcher', { parts: [...out.replyOf('@researcher').parts, out.question()] })
      const [rendered] = renderMailReply(emailSay, reply, out.replyTo, new Set(['@researcher', '@bob@example.org']))
      const call = rendered?.call ?? expect.unreachable('nothing was rendered')
      const [link] = await createDecisionLinks(call, out.attemptOf(), out.mailDeps())
      const { raw, to } = await sent(call)
      return { to, cc: call.cc, hasLink: raw.replace(/=\r\n/g, '').includes(link?.url ?? 'no link') }
    },
    equals: { to: ['ann@example.org'], cc: [], hasLink: true },
  },
])

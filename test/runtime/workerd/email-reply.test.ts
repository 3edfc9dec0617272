// Mail in by the runtime, and out by the runtime: what Cloudflare handed over is answered through the binding, once.
import { createExecutionContext, waitOnExecutionContext } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { beforeEach, expect, inject, test } from 'vitest'
import { signMail } from '../../../adapters/email/dkim/sign.ts'
import { email } from '../../../src/channels.ts'
import { secret } from '../../../src/lib/secret.ts'
import { createWorker } from '../../../src/worker.ts'
import { describeInWorkerd } from './harness.ts'

const sender = 'ada@sender.example'
const { namesUrl, mailKey } = inject('runtime')

/** Signed now, by a domain that the peers of this run vouch for. */
async function letter(id: string, words: string): Promise<Uint8Array> {
  const at = new Date()
  const head = [
    `From: Ada <${sender}>`,
    'To: demo@agents.example',
    'Subject: Tea',
    `Message-ID: <${id}@sender.example>`,
  ]
  const text = [...head, `Date: ${at.toUTCString()}`, 'MIME-Version: 1.0', 'Content-Type: text/plain', '', words, '']
  const keys = [{ selector: 's1', privateKey: secret(mailKey) }]
  return signMail(new TextEncoder().encode(text.join('\r\n')), keys, { domain: 'sender.example', at })
}

describeInWorkerd('mail in and out of a Worker', () => {
  const lines: string[] = []
  const write = (event: string, facts: object = {}) => void lines.push(JSON.stringify({ event, ...facts }))
  const log = { info: write, warn: write, error: write }
  const sent: Parameters<SendEmail['send']>[0][] = []
  let failure: Error | undefined
  // Looks on; what is sent goes to the simulator of the binding.
  const watched = {
    async send(mail: EmailMessageBuilder) {
      sent.push(mail)
      if (failure !== undefined) throw failure
      return env.SEND_EMAIL.send(mail)
    },
  }
  const domain = { domain: 'agents.example', dnsOverHttps: namesUrl, access: { mode: 'public', allow: [] } } as const
  const unsealed = { ...env, HYPERDRIVE: env.MAIL, SEND_EMAIL: watched as SendEmail }
  const bound = { ...unsealed, PARLEY_SEAL_KEY: '5e'.repeat(32) }
  const worker = createWorker({ connections: [email(domain)] }, { log })
  beforeEach(() => {
    lines.length = 0
    sent.length = 0
    failure = undefined
  })
  const hand = async (raw: Uint8Array, { through = worker, at = bound as typeof env } = {}) => {
    const context = createExecutionContext()
    const body = new Blob([raw as Uint8Array<ArrayBuffer>]).stream()
    const setReject = (why: string) => expect.unreachable(why)
    const message = { from: sender, to: 'demo@agents.example', raw: body, rawSize: raw.length, setReject }
    try {
      await through.email(message, at, context)
    } finally {
      await waitOnExecutionContext(context)
    }
  }
  const drain = async () => {
    const context = createExecutionContext()
    await worker.queue({ queue: 'parley-wake', messages: [], ackAll: () => {} }, bound, context)
    await waitOnExecutionContext(context)
  }

  test('a mail is answered through the binding, in its thread, once, however often it is handed over', async () => {
    const mail = await letter('tea', 'Is there tea?')
    await hand(mail)
    await drain()
    await hand(mail)
    await drain()
    expect(sent).toEqual([
      {
        from: { name: 'Demo agent', email: 'demo@agents.example' },
        to: [sender],
        replyTo: { name: 'Demo agent', email: expect.stringMatching(/^demo\+[a-z2-7]{32}@agents\.example$/) },
        subject: 'Re: Tea',
        text: expect.stringContaining('Is there tea?'),
        html: expect.stringContaining('Is there tea?'),
        headers: {
          'Auto-Submitted': 'auto-replied',
          'X-Auto-Response-Suppress': 'OOF, AutoReply, DR, RN, NRN',
          'In-Reply-To': '<tea@sender.example>',
          References: '<tea@sender.example>',
        },
      },
    ])
  })

  test('a send that nobody can tell the end of is not repeated: Cloudflare would name it anew', async () => {
    failure = new Error('connection lost')
    await hand(await letter('coffee', 'Is there coffee?'))
    await drain()
    expect(lines).toContainEqual(expect.stringMatching(/"delivery_failed".*"state":"unknown"/))
    failure = undefined
    await drain()
    expect(sent).toHaveLength(1)
  })

  test('without a key to seal with no mail is taken, since no answer could be addressed', async () => {
    const other = [email({ ...domain, id: 'other' })]
    const through = createWorker({ connections: other }, { log })
    await expect(hand(await letter('rice', 'Is there rice?'), { through, at: unsealed })).rejects.toThrow(
      'PARLEY_SEAL_KEY',
    )
    expect(lines).toEqual([expect.stringMatching(/"mail_not_taken".*set PARLEY_SEAL_KEY/)])
  })

  test('without the binding no mail is taken, and the log says what to add to wrangler.toml', async () => {
    const at = { ...env, HYPERDRIVE: env.MAIL, SEND_EMAIL: undefined } as unknown as typeof env
    await expect(hand(await letter('milk', 'Is there milk?'), { at })).rejects.toThrow('[[send_email]]')
    expect(lines).toEqual([expect.stringMatching(/"mail_not_taken".*add \[\[send_email\]\] with name = .+SEND_EMAIL/)])
  })

  test('what only Node can follow is refused by its name', async () => {
    const connections = [email({ ...domain, smtpUrl: 'smtps://mail.example', mailFolder: '/tmp', dkimKeyFile: '/k' })]
    const through = createWorker({ connections }, { log })
    await expect(hand(await letter('salt', 'Is there salt?'), { through })).rejects.toThrow(
      /SMTP_URL is for Node.*mailFolder is for Node.*EMAIL_DKIM_KEY is for Node/,
    )
  })
})

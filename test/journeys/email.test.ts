// A mail over real SMTP, through the gateway, to a reply that any mail program opens, and back.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { defineAgent } from '../../src/agents/define-agent.ts'
import { nameStatement } from '../../src/db/client.ts'
import { startNameServer } from '../doubles/dns-server.ts'
import { localDomain, type MailScene, openMailScene } from '../doubles/mail-setup.ts'
import { draftMail, mailKey, signMail } from '../doubles/signed-mails.ts'
import { settleUntil } from '../doubles/test-gateway.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'

const from = 'Ada <ada@people.example>'
const now = () => `Date: ${new Date().toUTCString()}`

describeOnDatabase('a mail', (database) => {
  let scene: MailScene
  beforeEach(async () => {
    scene = await openMailScene(database())
  })
  afterEach(() => scene.close())
  const answered = (count: number) => settleUntil(scene.gateway, async () => (await scene.sent()).length >= count)
  const write = (head: readonly string[], body: string, to = `demo@${localDomain}`) =>
    scene.send(draftMail({ from, to, head: [now(), ...head], body }), { to: [to] })

  test('is answered once, in its thread, however often it comes', async () => {
    const head = ['Message-ID: <first@people.example>', 'Subject: Good morning']
    expect(await write(head, 'How are you?')).toMatch(/^250 /)
    await answered(1)
    expect(await write(head, 'How are you?')).toMatch(/^250 /)
    await scene.gateway.settle()
    const sent = await scene.sent()
    expect(sent).toHaveLength(1)
    expect(sent[0]).toMatchObject({ to: ['ada@people.example'] })
    expect(sent[0]?.from).toMatch(/^bounce\+[a-z2-7]{32}@parley\.localhost$/)
    expect(sent[0]?.head).toMatchObject({
      from: { address: 'demo@parley.localhost' },
      to: [{ address: 'ada@people.example' }],
      subject: 'Re: Good morning',
      inReplyTo: ['first@people.example'],
      references: ['first@people.example'],
    })
    expect(sent[0]?.text).toContain('demo heard: [subject: Good morning]')
    expect(sent[0]?.text).toContain('How are you?')
  })

  test.each(['1 Jan 1970 00:00:00 +0000', '-8', '+400'])('dated %s is answered: when it came counts', async (date) => {
    const written = /^[-+]\d+$/.test(date) ? new Date(Date.now() + Number(date) * 86_400_000).toUTCString() : date
    const mail = draftMail({ from, to: `demo@${localDomain}`, head: [`Date: ${written}`], body: 'Are you there?' })
    expect(await scene.send(mail)).toMatch(/^250 /)
    await answered(1)
    expect((await scene.sent())[0]?.text).toContain('Are you there?')
  })

  test('X-004: is taken at once, however long the agent thinks, and answered once', async () => {
    const thinking = Promise.withResolvers<void>()
    const slow = defineAgent({
      slug: 'slow',
      run: async () => {
        await thinking.promise
        return 'At last.'
      },
    })
    const patient = await openMailScene(database(), { agents: [slow] })
    try {
      const to = `slow@${localDomain}`
      const mail = (id: string) => draftMail({ from, to, head: [now(), `Message-ID: <${id}@people.example>`] })
      expect(await patient.send(mail('one'), { to: [to] })).toMatch(/^250 /)
      const work = patient.gateway.settle()
      expect(await patient.send(mail('two'), { to: [to] })).toMatch(/^250 /)
      expect(await patient.sent()).toEqual([])
      thinking.resolve()
      await work
      await settleUntil(patient.gateway, async () => (await patient.sent()).length >= 2)
    } finally {
      thinking.resolve()
      await patient.close()
    }
  })

  test('with a file gives the agent its bytes, and so does one that is too large for a row', async () => {
    const files: string[] = []
    const reader = defineAgent({
      slug: 'reader',
      run: async (message) => {
        for (const part of message.parts)
          if (part.kind === 'file') files.push(`${String(part.name)} ${String(part.size)}`)
        return 'Read.'
      },
    })
    const enclosed = await openMailScene(database(), { agents: [reader] })
    try {
      const to = `reader@${localDomain}`
      const content = Buffer.from('x'.repeat(300_000)).toString('base64').replace(/.{76}/g, '$&\r\n')
      const part = (name: string, text: string) =>
        `--b\r\nContent-Type: text/plain; name=${name}\r\nContent-Disposition: attachment; filename=${name}\r\nContent-Transfer-Encoding: base64\r\n\r\n${text}\r\n`
      const body = `--b\r\nContent-Type: text/plain\r\n\r\nTwo files.\r\n${part('small.txt', btoa('the bytes'))}${part('large.txt', content)}--b--\r\n`
      const head = [now(), 'Content-Type: multipart/mixed; boundary=b']
      expect(await enclosed.send(draftMail({ from, to, head, body }), { to: [to] })).toMatch(/^250 /)
      await settleUntil(enclosed.gateway, async () => (await enclosed.sent()).length >= 1)
      expect(files).toEqual(['small.txt 9', 'large.txt 300000'])
    } finally {
      await enclosed.close()
    }
  })

  test('to an agent at the host of the public URL is taken and answered from there', async () => {
    const PARLEY_PUBLIC_URL = 'https://bots.example.org'
    const names = await startNameServer({
      's1._domainkey.people.example': [mailKey().record.match(/.{1,255}/g) ?? []],
      '_dmarc.people.example': [['v=DMARC1; p=reject']],
    })
    const settings = { trustLoopback: false, dnsServers: [names.address] }
    const open = await openMailScene(database(), { environment: { PARLEY_PUBLIC_URL }, settings })
    try {
      const to = 'demo@bots.example.org'
      const mail = await signMail(draftMail({ from, to, head: [now()] }), {
        domain: 'people.example',
        signTime: new Date().toISOString(),
      })
      expect(await open.send(mail, { to: [to] })).toMatch(/^250 /)
      expect(await open.send(mail, { to: ['nobody@bots.example.org'] })).toMatch(/^550 5\.1\.1/)
      await settleUntil(open.gateway, async () => (await open.sent()).length >= 1)
      const [reply] = await open.sent()
      expect(reply?.head).toMatchObject({
        from: { address: to },
        messageId: expect.stringMatching(/@bots\.example\.org$/),
      })
      expect(reply?.from).toMatch(/^bounce\+.*@bots\.example\.org$/)
    } finally {
      await open.close()
      await names.close()
    }
  })

  test('that answers ours goes on with the same conversation', async () => {
    await write(['Message-ID: <first@people.example>', 'Subject: Good morning'], 'How are you?')
    await answered(1)
    const [reply] = await scene.sent()
    const head = ['Message-ID: <second@people.example>', 'Subject: Re: Good morning']
    const ids = [
      `In-Reply-To: <${reply?.head.messageId}>`,
      `References: <first@people.example> <${reply?.head.messageId}>`,
    ]
    await write([...head, ...ids], 'Thank you.', reply?.head.replyTo[0]?.address)
    await answered(2)
    const conversations = await database().query<{ count: number }>(
      nameStatement('test_conversations', 'select count(*)::int as count from conversations'),
      [],
    )
    expect(conversations).toEqual([{ count: 1 }])
  })
})

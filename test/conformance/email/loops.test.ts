// The email cases about machines that write to machines: what is never answered, and what stops by itself.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { maxHops, signHopHeader } from '../../../adapters/email/loop-prevention.ts'
import { defineAgent } from '../../../src/agents/define-agent.ts'
import { nameStatement } from '../../../src/db/client.ts'
import { createWebHmac } from '../../../src/lib/index.ts'
import { localDomain, type MailScene, openMailScene } from '../../doubles/mail-setup.ts'
import { draftMail } from '../../doubles/signed-mails.ts'
import { settleUntil } from '../../doubles/test-gateway.ts'
import { describeOnDatabase } from '../../setup/describe-on-database.ts'

type Row = { readonly state: string; readonly reason: string | null }
type Mail = { readonly from?: string; readonly to?: string; readonly envelopeFrom?: string; readonly body?: string }

const rows = nameStatement('test_mail_rows', 'select state, reason from inbox order by seq')
const deliveries = nameStatement('test_mail_deliveries', 'select * from outbox order by ordinal')
const siblingSecret = 'a-secret-that-two-gateways-share-0001'

describeOnDatabase('mail from machines', (database) => {
  let scene: MailScene
  let mails = 0
  beforeEach(async () => {
    const agents = ['demo', 'billing'].map((slug) => defineAgent({ slug, run: () => 'Yes.' }))
    scene = await openMailScene(database(), { agents, settings: { siblings: ['sibling.example'], siblingSecret } })
  })
  afterEach(() => scene.close())

  const ada = 'ada@people.example'
  const say = async (
    head: readonly string[] = [],
    { from = ada, to = `demo@${localDomain}`, envelopeFrom, body = 'Hello.' }: Mail = {},
  ): Promise<string> => {
    mails += 1
    const usual = [`Message-ID: <m${mails}@people.example>`, `Date: ${new Date().toUTCString()}`]
    const given = new Set(head.map((line) => line.split(':')[0]))
    const lines = [...usual.filter((line) => !given.has(line.split(':')[0])), ...head]
    return scene.send(draftMail({ from: `<${from}>`, to, head: lines, body }), { from: envelopeFrom ?? from, to: [to] })
  }
  const ended = async (): Promise<readonly (readonly [string, string | null])[]> => {
    await settleUntil(scene.gateway, async () =>
      (await database().query<Row>(rows, [])).every(({ state }) => !['queued', 'in_turn'].includes(state)),
    )
    return (await database().query<Row>(rows, [])).map(({ state, reason }) => [state, reason])
  }
  const answers = async () => (await scene.sent()).length
  const replied = async (count: number) => settleUntil(scene.gateway, async () => (await answers()) >= count)

  test.each(['auto-replied', 'auto-generated', 'AUTO-NOTIFIED; x=y'])(
    'EM-124: Auto-Submitted: %s is not answered (also msg EM-06)',
    async (value) => {
      expect(await say([`Auto-Submitted: ${value}`])).toMatch(/^250 /)
      expect(await ended()).toEqual([['ignored', 'auto_submitted']])
      expect(await answers()).toBe(0)
    },
  )

  test('EM-06: what says that it was sent by nobody runs nothing, and "no" is a person', async () => {
    await say(['Auto-Submitted: auto-replied'])
    await say(['Auto-Submitted: no'])
    await replied(1)
    expect(await ended()).toEqual([
      ['ignored', 'auto_submitted'],
      ['answered', null],
    ])
  })

  test('EM-125: the null sender is not answered', async () => {
    await say([], { envelopeFrom: '' })
    await say(['Return-Path: <>'])
    expect(await ended()).toEqual([
      ['ignored', 'null_sender'],
      ['ignored', 'null_sender'],
    ])
  })

  test('EM-126: an out-of-office that says only X-Auto-Response-Suppress is not answered; None is nothing', async () => {
    await say(['X-Auto-Response-Suppress: OOF'])
    await say(['X-Auto-Response-Suppress: None'])
    await replied(1)
    expect(await ended()).toEqual([
      ['ignored', 'auto_response_suppressed'],
      ['answered', null],
    ])
  })

  test('EM-127: lists and bulk mail are not answered', async () => {
    for (const line of ['List-Id: <l.example>', 'Precedence: bulk', 'Precedence: list', 'Precedence: junk'])
      await say([line])
    expect((await ended()).map(([, reason]) => reason)).toEqual(['mailing_list', 'bulk', 'bulk', 'bulk'])
    expect(await answers()).toBe(0)
  })

  /** As a server writes it about a mail of ours. */
  const report = (type: string, about: string): string =>
    [
      'From: <mailer-daemon@people.example>',
      'To: <x@parley.localhost>',
      `Message-ID: <report${mails++}@people.example>`,
      `Date: ${new Date().toUTCString()}`,
      `Content-Type: multipart/report; report-type=${type}; boundary=b`,
      'MIME-Version: 1.0',
      '',
      '--b',
      'Content-Type: text/plain',
      '',
      'Something happened.',
      '--b',
      about,
      '--b--',
      '',
    ].join('\r\n')
  const status = (code: string, action: string) =>
    report(
      'delivery-status',
      `Content-Type: message/delivery-status\r\n\r\nReporting-MTA: dns; mx.people.example\r\n\r\nFinal-Recipient: rfc822; ${ada}\r\nAction: ${action}\r\nStatus: ${code}\r\n`,
    )
  const bounceTo = async (mail: string, to: string) => scene.send(mail, { from: '', to: [to] })
  const answeredOnce = async (): Promise<string> => {
    await say()
    await replied(1)
    return (await scene.sent())[0]?.from ?? ''
  }

  test('EM-128: a report of 5.1.1 fails the delivery and closes the address; a delay only tells; a forged one is nothing', async () => {
    const to = await answeredOnce()
    const forged = to.replace(/\+./, (found) => (found === '+a' ? '+b' : '+a'))
    expect(await bounceTo(status('5.1.1', 'failed'), forged)).toMatch(/^250 /)
    expect((await ended()).at(-1)).toEqual(['ignored', 'delivery_unmatched'])
    expect(JSON.stringify(await database().query(deliveries, []))).not.toContain('status_5.1.1')
    await bounceTo(status('4.4.1', 'delayed'), to)
    expect((await ended()).at(-1)).toEqual(['ignored', 'delayed'])
    await bounceTo(status('5.1.1', 'failed'), to)
    expect((await ended()).at(-1)).toEqual(['ignored', 'bounced'])
    expect(JSON.stringify(await database().query(deliveries, []))).toContain('status_5.1.1')
    expect(await answers()).toBe(1)
  })

  test('EM-129: a complaint closes the address, a receipt is nothing', async () => {
    const to = await answeredOnce()
    const receipt = report(
      'disposition-notification',
      `Content-Type: message/disposition-notification\r\n\r\nFinal-Recipient: rfc822; ${ada}\r\nDisposition: manual-action/MDN-sent-manually; displayed\r\n`,
    )
    await bounceTo(receipt, to)
    expect((await ended()).at(-1)).toEqual(['ignored', 'receipt'])
    const complaint = report(
      'feedback-report',
      'Content-Type: message/feedback-report\r\n\r\nFeedback-Type: abuse\r\nUser-Agent: x/1\r\nVersion: 1\r\n',
    )
    await bounceTo(complaint, to)
    expect((await ended()).at(-1)).toEqual(['ignored', 'complaint'])
    const closed = await database().query(
      nameStatement('test_mail_closed', 'select room as place, reason from room_status where reason is not null'),
      [],
    )
    expect(closed).toEqual([{ place: ada, reason: 'complaint' }])
  })

  test('EM-130: two gateways stop after one exchange, unless they know each other, and then after four mails', async () => {
    const from = 'helper@sibling.example'
    const marked = async (hop: number, id: string) => [
      'Auto-Submitted: auto-replied',
      `Message-ID: <${id}@sibling.example>`,
      `X-Agent-Hop: ${await signHopHeader(createWebHmac(), siblingSecret, hop, `${id}@sibling.example`)}`,
    ]
    await say(['Auto-Submitted: auto-replied'], { from })
    await say(await marked(maxHops, 'a'), { from })
    await say(await marked(maxHops + 1, 'b'), { from })
    // Nobody else's header counts, and none counts in another mail.
    await say(await marked(1, 'c'))
    await say([...(await marked(1, 'd')).slice(0, 1), ...(await marked(1, 'e')).slice(2)], { from })
    await replied(1)
    expect((await ended()).map(([state, reason]) => reason ?? state)).toEqual([
      'auto_submitted',
      'answered',
      'too_many_hops',
      'auto_submitted',
      'auto_submitted',
    ])
  })

  test('EM-08: a reply wakes a sibling by Cc, under a count, and a mention in words alone does nothing', async () => {
    const from = `demo@${localDomain}`
    const to = `billing@${localDomain}`
    const id = `x@${localDomain}`
    await say([`Message-ID: <${id}>`, 'Auto-Submitted: auto-replied'], { from, to })
    await say([`Message-ID: <${id}>`, `X-Agent-Hop: ${await signHopHeader(createWebHmac(), siblingSecret, 1, id)}`], {
      from,
      to,
    })
    await replied(1)
    expect(await ended()).toEqual([
      ['ignored', 'own_message'],
      ['answered', null],
    ])
  })

  test('EM-131: whoever changes their address each time is stopped by the words they repeat', async () => {
    for (let at = 0; at < 7; at += 1) await say([], { from: `robot${at}@people${at}.example`, body: 'I am away.' })
    const reasons = (await ended()).map(([state, reason]) => reason ?? state)
    expect(reasons.filter((each) => each === 'answered')).toHaveLength(5)
    expect(reasons.filter((each) => each === 'reply_limit')).toHaveLength(2)
  })

  test('EM-132: the eleventh answer in a thread within an hour is not given, and the operator is told once', async () => {
    const head = ['In-Reply-To: <m0@people.example>', 'References: <m0@people.example>']
    await say(['Message-ID: <m0@people.example>'], { body: 'number 0' })
    for (let at = 1; at < 12; at += 1) {
      await ended()
      await say(head, { body: `number ${at}` })
    }
    const reasons = (await ended()).map(([state, reason]) => reason ?? state)
    expect(reasons.filter((each) => each === 'answered')).toHaveLength(10)
    expect(reasons.slice(10)).toEqual(['reply_limit', 'reply_limit'])
    expect(scene.gateway.logged.filter(({ event }) => event.includes('reply_limit'))).toHaveLength(1)
  })
})

describeOnDatabase('mail from nobody', (database) => {
  let scene: MailScene
  beforeEach(async () => {
    // Nobody is believed for being near: what is not signed is from nobody.
    scene = await openMailScene(database(), { settings: { trustLoopback: false, domain: 'agents.example' } })
  })
  afterEach(() => scene.close())

  test('EM-133: an unverified sender is never written to, not even to be told so', async () => {
    const head = [`Date: ${new Date().toUTCString()}`, 'From: <second@people.example>']
    const mail = draftMail({ to: 'demo@agents.example', head }).replace(/^/, 'From: <ada@people.example>\r\n')
    expect(await scene.send(mail, { to: ['demo@agents.example'] })).toMatch(/^250 /)
    await scene.gateway.settle()
    expect(await database().query<Row>(rows, [])).toEqual([{ state: 'refused', reason: 'no_evidence' }])
    expect(await database().query(deliveries, [])).toEqual([])
    expect(await scene.sent()).toEqual([])
  })
})

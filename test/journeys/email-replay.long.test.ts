// Genuine mail that others send again, or change where its signature does not reach: every mail is signed with a real key, comes over SMTP
// (and once by a post), and is judged with a name server that knows the key.
import { afterEach, beforeEach, expect, test } from 'vitest'
import * as z from 'zod'
import { webhookHeaders, webhookSignedText } from '../../adapters/email/webhooks/signed-webhook.ts'
import { envelopeHeaders } from '../../adapters/email/wire/mail.ts'
import { type Agent, defineAgent } from '../../src/agents/define-agent.ts'
import { openAiCompatible } from '../../src/agents/models/openai-compatible.ts'
import { defineTool } from '../../src/agents/tools/define-tool.ts'
import { textOf } from '../../src/contract/index.ts'
import { nameStatement } from '../../src/db/client.ts'
import { createWebHmac, sha256Bytes, toHex } from '../../src/lib/index.ts'
import { secret } from '../../src/lib/secret.ts'
import { type NameServer, startNameServer } from '../doubles/dns-server.ts'
import { localDomain, type MailScene, openMailScene, type SceneOptions } from '../doubles/mail-setup.ts'
import { type ScriptedModelServer, startScriptedModel } from '../doubles/scripted-model-server.ts'
import { draftMail, mailKey, type Signing, sealMail, signMail } from '../doubles/signed-mails.ts'
import { createTestApp } from '../doubles/test-app.ts'
import { settleUntil } from '../doubles/test-gateway.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'

const repeats = nameStatement('test_repeats', 'select sum(count)::int as count from duplicates')
const rows = nameStatement(
  'test_arrived',
  `select state, reason, message_id as id, message #>> '{channel,room_kind}' as room from inbox order by seq`,
)
const actions = nameStatement(
  'test_actions',
  'select summary, status, resolver from pending_actions order by created_at',
)
const places = nameStatement(
  'test_places',
  'select distinct conversation_id as id from inbox where conversation_id is not null',
)

const domain = 'people.example'
const hookSecret = 'a-secret-of-the-forwarder-0000000001'
const chunks = (text: string): readonly string[] => text.match(/.{1,255}/g) ?? []
/** What a careful signer signs, but for what names, threads and describes the mail. */
const few = ['From', 'To', 'Cc', 'Date']

describeOnDatabase('genuine mail', (database) => {
  let names: NameServer
  let scene: MailScene
  const others: MailScene[] = []
  let heard: { readonly agent: string; readonly said: string }[] = []
  const listener = (slug: string): Agent =>
    defineAgent({
      slug,
      run: ({ parts }) => {
        heard.push({ agent: slug, said: textOf(parts) })
        return 'Noted.'
      },
    })

  const open = (options: SceneOptions = {}): Promise<MailScene> =>
    openMailScene(database(), {
      agents: [listener('demo'), listener('other')],
      ...options,
      settings: {
        trustLoopback: false,
        dnsServers: [names.address],
        trustedSealers: ['list.example'],
        webhookSecret: secret(hookSecret),
        unnamedRecipients: [],
        ...options.settings,
      } as NonNullable<SceneOptions['settings']>,
    })

  beforeEach(async () => {
    heard = []
    names = await startNameServer({
      's1._domainkey.people.example': [chunks(mailKey().record)],
      's2._domainkey.people.example': [chunks(mailKey('ed25519').record)],
      's1._domainkey.list.example': [chunks(mailKey('rsa-2048', 'list').record)],
      '_dmarc.people.example': [['v=DMARC1; p=reject']],
    })
    scene = await open()
  })
  afterEach(async () => {
    for (const each of [scene, ...others.splice(0)]) await each.close()
    await names.close()
  })

  const now = () => new Date().toISOString()
  const draft = (id: string, body: string, head: readonly string[] = [], to = `demo@${localDomain}`) =>
    draftMail({
      from: 'Ada <ada@people.example>',
      to,
      body,
      head: [`Date: ${new Date().toUTCString()}`, `Message-ID: <${id}@people.example>`, ...head],
    })
  const sign = (mail: string, signing: Signing = {}) =>
    signMail(mail, { domain, headers: few, signTime: now(), ...signing })
  /** Each mail is signed at a time of its own: a signature says nothing of an id that it does not cover. */
  const laterBy = (n: number): Signing => ({ signTime: new Date(Date.now() - 3_600_000 + n * 1000).toISOString() })
  const twice = async (mail: string, signing: Signing = {}) =>
    sign(await sign(mail, signing), {
      ...signing,
      selector: 's2',
      key: mailKey('ed25519'),
      algorithm: 'ed25519-sha256',
    })
  const send = async (mail: string, to: readonly string[] = [`demo@${localDomain}`], at = scene) => {
    const answer = await at.send(mail, { to, from: 'mallory@elsewhere.example' })
    await at.gateway.settle()
    return answer
  }
  /** What one person is answered in an hour has a limit. */
  const by = (n: number, mail: string): string => mail.replace('ada@people', `ada${n}@people`)
  /** One after the other; answers that are not 250. */
  const sendAll = async (mails: readonly string[]) => {
    const answers: string[] = []
    for (const mail of mails) answers.push(await scene.send(mail))
    await scene.gateway.settle()
    return answers.filter((answer) => !answer.startsWith('250 '))
  }
  const said = () => heard.map((each) => each.said)
  const counted = async () => (await database().query<{ count: number | null }>(repeats, []))[0]?.count ?? 0
  const renamed = (mail: string, id = 'another') =>
    mail.replace(/^Message-ID: .*$/m, `Message-ID: <${id}@evil.example>`)
  const withField = (line: string) => (mail: string) => `${line}\r\n${renamed(mail)}`
  /** The signature of `b=` written in another way. */
  const rewritten = (mail: string, rewrite: (signature: string) => string) =>
    mail.replace(/( b=)([A-Za-z0-9+/=\s]+?)(\r\n(?=\S))/, (_, tag, value: string, end) => {
      return `${tag}${rewrite(value.replace(/\s/g, ''))}${end}`
    })

  const copies: readonly (readonly [string, (mail: string) => string | Promise<string>, boolean?])[] = [
    ['as it is', (mail) => mail],
    ['under another Message-ID', renamed],
    ['without its Message-ID', (mail) => mail.replace(/^Message-ID: .*\r\n/m, '')],
    ['with In-Reply-To', withField('In-Reply-To: <one@people.example>')],
    ['with References', withField('References: <one@people.example> <two@people.example>')],
    ['with Thread-Index', withField('Thread-Index: AdrTwU1h0123456789abcdefghijkl==')],
    ['with Reply-To', withField('Reply-To: mallory@evil.example')],
    ['with another Subject', (mail) => renamed(mail).replace(/^Subject: .*$/m, 'Subject: /approve')],
    ['with another Content-Type', (mail) => renamed(mail).replace(/^Content-Type: .*$/m, 'Content-Type: text/html')],
    ['with a transfer encoding', withField('Content-Transfer-Encoding: quoted-printable')],
    [
      'with a trace of its way',
      withField('Received: from mx.evil.example by elsewhere.example; Tue, 17 Nov 2026 12:00:00 +0000'),
    ],
    ['with fields that mean nothing', withField('X-Anything: else')],
    [
      'with its signature folded otherwise',
      (mail) => renamed(rewritten(mail, (b) => b.replace(/(.{7})/g, '$1\r\n\t'))),
    ],
    ['with its signature without padding', (mail) => renamed(rewritten(mail, (b) => b.replace(/=+$/, '')))],
    [
      'with other spare bits in its signature',
      (mail) => renamed(rewritten(mail, (b) => b.replace(/(.)==$/, (_, last: string) => `${nextSign(last)}==`))),
    ],
    [
      'with the name of the signature in small letters',
      (mail) => renamed(mail).replace('DKIM-Signature:', 'dkim-signature:'),
    ],
    ['with bare line feeds', (mail) => renamed(mail).replaceAll('\r\n', '\n')],
    ['with blank lines at its end', (mail) => `${renamed(mail)}\r\n\r\n`],
    ['without the first of its signatures', (mail) => renamed(mail.slice(second(mail))), true],
    [
      'without the second of its signatures',
      (mail) => renamed(mail.slice(0, second(mail)) + mail.slice(rest(mail))),
      true,
    ],
    [
      'with its signatures in another order',
      (mail) => renamed(mail.slice(second(mail), rest(mail)) + mail.slice(0, second(mail)) + mail.slice(rest(mail))),
      true,
    ],
    [
      'with one more signature of another domain',
      (mail) => signMail(renamed(mail), { domain: 'elsewhere.example', signTime: now() }),
    ],
  ]
  const second = (mail: string): number => mail.indexOf('DKIM-Signature:', 10)
  const rest = (mail: string): number => mail.search(/^From:/m)

  test('is heard once, however the copy was changed that comes again', async () => {
    const mails = await Promise.all(
      copies.map(([name, , isTwiceSigned = false], n) =>
        (isTwiceSigned ? twice : sign)(by(n % 2, draft(`one-${n}`, `It comes again ${name}.\n`)), laterBy(n)),
      ),
    )
    const expected = copies.map(([name]) => `It comes again ${name}.`).toSorted()
    expect(await sendAll(mails)).toEqual([])
    expect(said().toSorted()).toEqual(expected)
    expect(await sendAll(await Promise.all(mails.map((mail, n) => copies[n]?.[1](mail) ?? '')))).toEqual([])
    expect(said().toSorted()).toEqual(expected)
    expect(await counted()).toBe(copies.length)
  })

  test('is heard once when a part of its signatures came first', async () => {
    const mail = await twice(draft('one', 'Pay the rent.\n'))
    await send(renamed(mail.slice(second(mail)), 'a'))
    await send(mail)
    await send(renamed(mail.slice(0, second(mail)) + mail.slice(rest(mail)), 'b'))
    expect(said()).toEqual(['Pay the rent.'])
    expect(await counted()).toBe(2)
  })

  test('is heard once by each agent that it names, however often it is handed over', async () => {
    const two = [`demo@${localDomain}`, `other@${localDomain}`]
    const mail = await sign(draft('one', 'Hello both.\n', [], two.join(', ')))
    await send(mail, two)
    expect(heard.map(({ agent }) => agent).toSorted()).toEqual(['demo', 'other'])
    await send(renamed(mail, 'a'), two)
    await send(renamed(mail, 'b'), two.slice(1))
    expect(heard).toHaveLength(2)
    const apart = await sign(draft('two', 'Hello again.\n', [], two.join(', ')))
    for (const to of two) await send(apart, [to])
    for (const to of two) await send(renamed(apart), [to])
    expect(heard).toHaveLength(4)
  })

  test('is heard once when twenty copies race into two replicas', async () => {
    const replica = await open()
    others.push(replica)
    const mail = await sign(draft('one', 'Pay the rent.\n'))
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        (n % 2 === 0 ? scene : replica).send(renamed(mail, `copy-${n}`), { to: [`demo@${localDomain}`] }),
      ),
    )
    expect(answers.filter((answer) => !answer.startsWith('250 '))).toEqual([])
    await scene.gateway.settle()
    await replica.gateway.settle()
    expect(said()).toEqual(['Pay the rent.'])
  })

  test('is heard once when it came by SMTP and is posted by a forwarder', async () => {
    const mail = await sign(draft('one', 'Pay the rent.\n'))
    await send(mail)
    const copy = Buffer.from(renamed(mail), 'latin1')
    const headers = {
      'content-type': 'message/rfc822',
      [webhookHeaders.timestamp]: String(Math.floor(Date.now() / 1000)),
      [webhookHeaders.nonce]: 'nonce-of-the-test-00001',
      [envelopeHeaders.from]: 'ada@people.example',
      [envelopeHeaders.to]: JSON.stringify([`demo@${localDomain}`]),
    }
    const text = webhookSignedText(headers, toHex(await sha256Bytes(copy)))
    const mac = toHex(await createWebHmac().sha256(hookSecret, new TextEncoder().encode(text)))
    const app = createTestApp(scene.gateway, database())
    const posted = await app.request('/hooks/email/default', {
      method: 'POST',
      body: copy,
      headers: { ...headers, [webhookHeaders.signature]: `sha256=${mac}` },
    })
    expect(posted.status).toBe(200)
    await scene.gateway.settle()
    expect(said()).toEqual(['Pay the rent.'])
  })

  test('is heard once through a relay that changes it, with all its seals or fewer', async () => {
    const author = await sign(draft('one', 'Pay the rent.\n', ['Subject: Re: Rent']))
    const passed = 'mx.list.example; dmarc=pass header.from=people.example'
    const seal = (mail: string, cv: 'none' | 'pass' = 'none') => sealMail(mail, passed, { signTime: now(), cv })
    const changed = `${author}-- \r\nA list.\r\n`
    const once = await seal(changed)
    await send(await seal(once, 'pass'))
    expect(said()).toEqual(['Pay the rent.'])
    await send(once)
    // Through the relay once more, under another name: the relay vouches for it anew, and for the same author's signature.
    await send(await seal(renamed(changed)))
    expect(said()).toEqual(['Pay the rent.'])
  })

  test('is refused where it is handed in once its signature is old, and heard once by its arrival, whatever its Date says', async () => {
    const dayMs = 86_400_000
    const on = (days: number) => new Date(Date.now() + days * dayMs)
    const dated = (days: number, body: string) =>
      draft(`d${days}`, body).replace(/^Date: .*$/m, `Date: ${on(days).toUTCString()}`)
    expect(await send(await sign(draft('old', 'Old.\n'), { signTime: on(-8).toISOString() }))).toMatch(
      /^550 5\.7\.1 .*signed more than seven days ago/,
    )
    expect(await send(await sign(dated(-200, 'Far.\n'), { signTime: 'never' }))).toMatch(/^550 5\.7\.1 .*clock/)
    const mails = [
      await sign(dated(-8, 'Eight days.\n')),
      await sign(dated(-20_000, 'Long ago.\n')),
      await sign(dated(300, 'Next year.\n')),
      await sign(dated(-30, 'A month.\n'), { signTime: 'never' }),
    ]
    for (const mail of [...mails, ...mails.map((each) => renamed(each))]) expect(await send(mail)).toMatch(/^250 /)
    expect(said()).toEqual(['Eight days.', 'Long ago.', 'Next year.', 'A month.'])
    const remembered = nameStatement(
      'test_claims',
      `select round(extract(epoch from expires_at - now()) / 86400)::int as days from proof_claims order by 1`,
    )
    expect(await database().query(remembered, [])).toEqual([{ days: 16 }, { days: 16 }, { days: 16 }, { days: 69 }])
    const before = await counted()
    await database().query(nameStatement('test_forget', 'delete from inbox'), [])
    expect(await send(renamed(mails[3] ?? '', 'after its receipt'))).toMatch(/^250 /)
    expect(said()).toHaveLength(4)
    expect(await counted()).toBe(before)
  })

  test('is another mail when its author writes the same again', async () => {
    await send(await sign(draft('one', 'Yes.\n')))
    await send(await sign(draft('two', 'Yes.\n'), { signTime: new Date(Date.now() - 60_000).toISOString() }))
    expect(said()).toEqual(['Yes.', 'Yes.'])
  })

  test('comes in although a copy of it that looks automatic came before', async () => {
    const mail = await sign(draft('one', 'Pay the rent.\n'))
    await send(`Auto-Submitted: auto-replied\r\n${mail}`)
    expect(said()).toEqual([])
    await send(mail)
    expect(said()).toEqual(['Pay the rent.'])
  })

  const changes: readonly (readonly [string, string, (mail: string) => string])[] = [
    ['as a page', 'One < two > three', typed('text/html')],
    ['as a file', 'Pay the rent.', (mail) => `Content-Disposition: attachment; filename=a.txt\r\n${mail}`],
    ['as parts', 'Hi.\n\n--x\n\n/approve\n--x--\n', typed('multipart/mixed; boundary=x')],
    ['as one of its parts', '--x\nHi.\n--x\n\n/approve\n--x--\n', typed('multipart/mixed; boundary=x')],
    ['as quoted-printable', 'The code is a=41b', encoded('quoted-printable')],
    ['as base64', 'approve', encoded('base64')],
    ['in another charset', '+AC8-approve', typed('text/plain; charset=utf-7')],
    ['as UTF-16', 'Pay the rent', typed('text/plain; charset=utf-16le')],
    ['as flowed text', 'Do not \nworry', typed('text/plain; format=flowed; delsp=yes')],
    ['as bytes', 'Pay it.', typed('application/octet-stream; name=a.bin')],
    ['as nothing', 'Pay both.', (mail) => mail.replace(/^Content-Type: .*\r\n/m, '')],
  ]
  test('is read by what its author signed, whatever its Content-Type and encoding say', async () => {
    const mails = changes.map(async ([, body, change], n) =>
      change(await sign(draft(`one-${n}`, body, ['Subject: Re: Rent']), laterBy(n))),
    )
    expect(await sendAll(await Promise.all(mails))).toEqual([])
    expect(said().toSorted()).toEqual(changes.map(([, body]) => body.trim()).toSorted())
  })

  test('is read and threaded by the fields that its author signed, and not by others of their name above them', async () => {
    const twoFields = ['Content-Disposition', 'Thread-Index']
    const mail = await sign(
      draft('one', 'Pay the rent.\n', [
        'Subject: Re: Rent',
        'Content-Disposition: inline',
        `Thread-Index: ${index('a')}`,
      ]),
      { headers: [...few, 'Message-ID', ...twoFields] },
    )
    await send(`Content-Disposition: attachment; filename=a.txt\r\nThread-Index: ${index('b')}\r\n${mail}`)
    expect(said()).toEqual(['Pay the rent.'])
    await send(
      await sign(draft('two', 'Elsewhere.\n', [`Thread-Index: ${index('b')}`]), { headers: [...few, ...twoFields] }),
    )
    expect(await database().query(places, [])).toHaveLength(2)
  })
  const index = (letter: string): string => letter.repeat(30)

  const structured: readonly (readonly [string, readonly string[], string, string])[] = [
    [
      'two versions',
      ['Content-Type: multipart/alternative; boundary="000abc"'],
      '--000abc\nContent-Type: text/plain; charset="UTF-8"\nContent-Transfer-Encoding: base64\n\nR3LDvMOfZQ0K\n\n--000abc\nContent-Type: text/html; charset="UTF-8"\n\n<div>Gr&uuml;&szlig;e</div>\n\n--000abc--\n',
      'Gr\u00fc\u00dfe',
    ],
    [
      'a file beside its words',
      ['Content-Type: multipart/mixed; boundary="b1"'],
      'This is a multi-part message in MIME format.\n--b1\nContent-Type: multipart/alternative; boundary="b2"\n\n--b2\nContent-Type: text/plain\n\nSee it.\n--b2\nContent-Type: text/html\n\n<p>See it.</p>\n--b2--\n--b1\nContent-Type: text/csv; name=a.csv\nContent-Disposition: attachment; filename=a.csv\nContent-Transfer-Encoding: base64\n\nYSxiCg==\n--b1--\n',
      'See it.',
    ],
    [
      'quoted-printable',
      ['Content-Transfer-Encoding: quoted-printable'],
      'Gr=C3=BC=C3=9Fe aus Bonn, und zwar in einer sehr langen Zeile, die weiter=\n geht.\n',
      'Gr\u00fc\u00dfe aus Bonn, und zwar in einer sehr langen Zeile, die weiter geht.',
    ],
    ['base64', ['Content-Transfer-Encoding: base64'], 'R3LDvMOfZSBhdXMgQm9ubgo=\n', 'Gr\u00fc\u00dfe aus Bonn'],
    [
      'a page',
      ['Content-Type: text/html; charset=utf-8'],
      '<html><body><p>Hello <b>you</b></p></body></html>\n',
      'Hello you',
    ],
  ]
  test('is readable though its Content-Type is not signed, and reads the same whatever that says', async () => {
    const write = (n: number) =>
      Promise.all(
        structured.map(([, head, body], at) =>
          sign(draft(`one-${n + at}`, body, ['Subject: Re: Rent', ...head]), laterBy(n + at)),
        ),
      )
    const expected = structured.map(([, , , read]) => read).toSorted()
    expect(await sendAll(await write(0))).toEqual([])
    expect(said().toSorted()).toEqual(expected)
    heard = []
    expect(await sendAll((await write(100)).map(typed('text/plain; charset=utf-16le')))).toEqual([])
    expect(said().toSorted()).toEqual(expected)
  })

  test('says nothing in a Subject that is not signed', async () => {
    await send((await sign(draft('one', 'Pay the rent.\n'))).replace(/^Subject: .*$/m, 'Subject: and the yacht'))
    await send((await sign(draft('two', '\n'))).replace(/^Subject: .*$/m, 'Subject: /approve'))
    expect(said()).toEqual(['Pay the rent.'])
    expect((await scene.sent()).map(({ head }) => head.subject)).toEqual(['Re: (no subject)'])
    expect(await database().query(rows, [])).toMatchObject([
      { state: 'answered' },
      { state: 'ignored', reason: 'no_content' },
    ])
    await send(await sign(draft('three', 'Pay it.\n', ['Subject: Rent']), { headers: [...few, 'Subject'] }))
    expect(said()[1]).toContain('[subject: Rent]')
  })

  test('joins no thread that it is not signed to refer to, unless the address has our token', async () => {
    const all = [...few, 'Message-ID', 'Subject', 'In-Reply-To', 'References']
    await send(await sign(draft('one', 'First.\n'), { headers: all }))
    const [reply] = await scene.sent()
    const refers = [`In-Reply-To: <${reply?.head.messageId}>`, 'References: <one@people.example>', 'Subject: Re: Hello']
    const count = async () => (await database().query(places, [])).length
    expect(await count()).toBe(1)
    await send(await sign(draft('two', 'Unsigned.\n', refers)))
    expect(await count()).toBe(2)
    await send(await sign(draft('three', 'Signed.\n', refers), { headers: all }))
    expect(await count()).toBe(2)
    const tagged = reply?.head.replyTo[0]?.address ?? ''
    expect(tagged).toMatch(/^demo\+[a-z2-7]{32}@/)
    await send(await sign(draft('four', 'To the token.\n', refers, tagged)), [tagged])
    expect(await count()).toBe(2)
  })

  test('is answered to its author alone, and is not more direct for whom others wrote in', async () => {
    const mail = await sign(draft('one', 'Pay the rent.\n'), { headers: ['From', 'To', 'Date'] })
    await send(`Reply-To: mallory@evil.example\r\nCc: eve@evil.example\r\n${mail}`)
    expect((await scene.sent()).map(({ to }) => to)).toEqual([['ada@people.example']])
    expect(await database().query(rows, [])).toMatchObject([{ room: 'group' }])
  })

  test('has no author when a field that is signed stands in it twice', async () => {
    const mail = await sign(draft('one', 'Pay the rent.\n'), { headers: [...few, 'Message-ID', 'Subject'] })
    await send(`Subject: The yacht\r\n${mail}`)
    await send(`Message-ID: <x@evil.example>\r\n${mail}`)
    expect(said()).toEqual([])
  })
})

describeOnDatabase('an approval by mail', (database) => {
  let names: NameServer
  let scene: MailScene
  let server: ScriptedModelServer
  const bought: string[] = []
  const buy = defineTool({
    name: 'shop/buy',
    description: 'Buys.',
    parameters: z.object({ what: z.string() }),
    action_policy: 'preview',
    approval: { summary: ({ what }) => `buy ${what}` },
    execute: ({ what }) => {
      bought.push(what)
      return { bought: what }
    },
  })

  beforeEach(async () => {
    bought.length = 0
    names = await startNameServer({
      's1._domainkey.people.example': [chunks(mailKey().record)],
      '_dmarc.people.example': [['v=DMARC1; p=reject']],
    })
    server = await startScriptedModel()
    const model = openAiCompatible({ baseUrl: server.baseUrl, model: 'scripted' })
    const settings = { trustLoopback: false, dnsServers: [names.address] }
    scene = await openMailScene(database(), { agents: [defineAgent({ slug: 'demo', model, tools: [buy] })], settings })
  })
  afterEach(async () => {
    await scene.close()
    await server.close()
    await names.close()
  })

  const plainOf = (text: string) => text.replace(/=\r\n/g, '')
  const sentWith = async (words: string) => (await scene.sent()).filter(({ text }) => plainOf(text).includes(words))
  const write = async (id: string, body: string, to = `demo@${localDomain}`) => {
    const head = [`Date: ${new Date().toUTCString()}`, `Message-ID: <${id}@people.example>`, 'Subject: Re: Shopping']
    const mail = await signMail(draftMail({ from: 'Ada <ada@people.example>', to, body, head }), {
      domain,
      headers: few,
      signTime: new Date().toISOString(),
    })
    expect(await scene.send(mail, { to: [to] })).toMatch(/^250 /)
    return mail
  }
  const asked = async (id: string, what: string) => {
    server.script(
      { calls: [{ id: `buy-${id}`, name: 'shop__buy', arguments: JSON.stringify({ what }) }] },
      { text: `Bought ${what}.` },
    )
    const tagged = (await scene.sent())[0]?.head.replyTo[0]?.address
    await write(id, `Buy ${what}`, tagged)
    await settleUntil(scene.gateway, async () => (await sentWith(`buy ${what}`)).length > 0)
    const [question] = await sentWith(`buy ${what}`)
    const [, code = ''] = /\/approve ([0-9a-f]{6})/.exec(plainOf(question?.text ?? '')) ?? []
    return { code, to: question?.head.replyTo[0]?.address ?? '' }
  }
  const decided = () => database().query(actions, [])

  test('needs the code of its question, and says so where it is left out', async () => {
    const { code, to } = await asked('one', 'two apples')
    await write('two', '/approve', to)
    await settleUntil(scene.gateway, async () => (await sentWith('Nothing was decided')).length > 0)
    expect(await decided()).toMatchObject([{ status: 'pending' }])
    expect(plainOf((await sentWith('Nothing was decided'))[0]?.text ?? '')).toContain(`/approve ${code}`)
    await write('three', '/reject not now', to)
    await settleUntil(scene.gateway, async () => (await sentWith('Nothing was decided')).length > 1)
    expect(await decided()).toMatchObject([{ status: 'pending' }])
    await write('four', `/approve ${code}`, to)
    await settleUntil(scene.gateway, async () => (await sentWith('Bought two apples.')).length > 0)
    expect(bought).toEqual(['two apples'])
  })

  test('decides about nothing that is asked later, by a copy or by an old answer', async () => {
    const first = await asked('one', 'two apples')
    const old = await write('two', `/approve ${first.code}`, first.to)
    await settleUntil(scene.gateway, async () => (await sentWith('Bought two apples.')).length > 0)
    await asked('three', 'nine sports cars')
    for (const id of ['a', 'b', 'c'])
      expect(await scene.send(old.replace(/^Message-ID: .*$/m, `Message-ID: <${id}@x>`), { to: [first.to] })).toMatch(
        /^250 /,
      )
    await scene.gateway.settle()
    expect(bought).toEqual(['two apples'])
    expect(await decided()).toMatchObject([
      { summary: 'buy two apples', status: 'accepted', resolver: expect.stringContaining('mailto:ada@people.example') },
      { summary: 'buy nine sports cars', status: 'pending', resolver: null },
    ])
    expect(await database().query(repeats, [])).toEqual([{ count: 3 }])
  })

  test('without a code is not taken from an old mail that is sent again', async () => {
    const first = await asked('one', 'two apples')
    const bare = await write('two', '/approve', first.to)
    await write('three', `/approve ${first.code}`, first.to)
    await settleUntil(scene.gateway, async () => (await sentWith('Bought two apples.')).length > 0)
    await asked('four', 'nine sports cars')
    await scene.send(bare.replace('<two@', '<five@'), { to: [first.to] })
    await scene.gateway.settle()
    expect(bought).toEqual(['two apples'])
    expect(await decided()).toMatchObject([{ status: 'accepted' }, { status: 'pending' }])
  })
})

function typed(type: string): (mail: string) => string {
  return (mail) => mail.replace(/^Content-Type: .*\r\n/m, `Content-Type: ${type}\r\n`)
}

function encoded(encoding: string): (mail: string) => string {
  return (mail) => `Content-Transfer-Encoding: ${encoding}\r\n${mail}`
}

/** The same bytes in base64, but for a bit that stands for nothing. */
function nextSign(sign: string): string {
  const signs = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
  return signs[signs.indexOf(sign) ^ 1] ?? sign
}

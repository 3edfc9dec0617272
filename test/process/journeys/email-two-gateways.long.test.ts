// Two gateways whose agents answer whatever they are written: by mail they stop by themselves, and each can say why.
import { createTransport } from 'nodemailer'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { until } from '../../doubles/background-gateway.ts'
import { type NameServer, startNameServer } from '../../doubles/dns-server.ts'
import { type MailGateway, startMailGateway } from '../../doubles/mail-gateway.ts'
import { type Posted, type PostOffice, startPostOffice } from '../../doubles/mail-relay.ts'
import { draftMail, mailKey, signMail } from '../../doubles/signed-mails.ts'

const keys = { 'a.example': mailKey('rsa-2048', 'a'), 'b.example': mailKey('rsa-2048', 'b') } as const
type Domain = keyof typeof keys
const siblingSecret = 'a-secret-that-two-gateways-share-0001'

let names: NameServer
let post: PostOffice
let gateways: MailGateway[] = []
/** What becomes of a mail on its way. */
let pass: (mail: Posted) => Promise<Buffer>

beforeEach(async () => {
  const zone = Object.entries(keys).map(([domain, { record }]) => [
    `s1._domainkey.${domain}`,
    [record.match(/.{1,255}/g) ?? []],
  ])
  names = await startNameServer(Object.fromEntries(zone))
  pass = async ({ raw }) => raw
  post = await startPostOffice(async (mail) => {
    const domain = mail.to[0]?.split('@')[1]
    const to = gateways.find((each) => each.domain === domain) ?? expect.unreachable(`nobody is ${domain}`)
    await hand(to, mail, await pass(mail))
  })
})
afterEach(async () => {
  await Promise.all(gateways.splice(0).map((each) => each.close()))
  await post.close()
  await names.close()
})

async function hand({ port }: MailGateway, { from, to }: Omit<Posted, 'raw'>, raw: Buffer): Promise<void> {
  const line = createTransport({ host: '127.0.0.1', port, ignoreTLS: true })
  await line.sendMail({ envelope: { from, to: [...to] }, raw })
  line.close()
}

async function startBoth(
  settings: (other: Domain) => object = () => ({}),
): Promise<readonly [MailGateway, MailGateway]> {
  const start = (domain: Domain, other: Domain) =>
    startMailGateway({
      domain,
      key: keys[domain],
      dnsServer: names.address,
      smtpUrl: post.url,
      settings: settings(other),
    })
  gateways = await Promise.all([start('a.example', 'b.example'), start('b.example', 'a.example')])
  const [a, b] = gateways
  return a === undefined || b === undefined ? expect.unreachable() : [a, b]
}

/** A mail that b.example signs as a person's: nothing in it says that an agent will read the answer. */
async function begin(a: MailGateway): Promise<void> {
  const [from, to, now] = ['desk@b.example', 'desk@a.example', new Date()]
  const head = [`Date: ${now.toUTCString()}`, 'Message-ID: <first@b.example>', 'Subject: A question']
  const mail = await signMail(draftMail({ from, to, head, body: 'Who are you?' }), {
    domain: 'b.example',
    key: keys['b.example'],
    signTime: now.toISOString(),
  })
  await hand(a, { from, to: [to] }, Buffer.from(mail, 'latin1'))
}

/** So many mails were sent, and nothing is under way at either. */
async function silence(mails: number): Promise<void> {
  await until(() => post.brought.length >= mails, 120_000)
  const isOver = async () =>
    (await Promise.all(gateways.map((each) => each.books()))).every(({ inFlight }) => inFlight === 0)
  await expect.poll(isOver, { timeout: 60_000 }).toBe(true)
  expect(post.brought.map(({ from }) => from.split('@')[1])).toEqual(
    Array.from({ length: mails }, (_, at) => (at % 2 === 0 ? 'a.example' : 'b.example')),
  )
}

const lastId = (): string =>
  /^Message-ID:\s*<(.*)>/im.exec(post.brought.at(-1)?.raw.toString('latin1') ?? '')?.[1] ?? ''

test('two gateways that do not know each other stop after one mail: it says that nobody wrote it', {
  timeout: 300_000,
}, async () => {
  const [a, b] = await startBoth()
  await begin(a)
  await silence(1)
  const story = await b.parley('explain', '--', lastId())
  expect(story).toContain(
    'Ignored: it says that a machine wrote it by itself, and machines are not answered (auto_submitted).',
  )
  expect(await a.books()).toMatchObject({ received: 1, answered: 1 })
  expect(await b.books()).toMatchObject({ received: 0, ignored: 1 })
})

test('two gateways that know each other stop after five mails that agents wrote, the last of which nobody takes', {
  timeout: 300_000,
}, async () => {
  const [a, b] = await startBoth((other) => ({ siblings: [other], siblingSecret }))
  await begin(a)
  await silence(5)
  const story = await b.parley('explain', '--', lastId())
  expect(story).toContain('Ignored: agents had answered each other as often in a row as they may')
  expect(story).toContain('(too_many_hops)')
  expect(await a.books()).toMatchObject({ received: 3, answered: 3 })
  expect(await b.books()).toMatchObject({ received: 2, answered: 2, ignored: 1 })
})

test('two gateways whose mails lose every mark on the way, and are signed again, stop when they have answered too often', {
  timeout: 300_000,
}, async () => {
  const [a, b] = await startBoth()
  pass = async ({ from, raw }) => {
    const domain = from.split('@')[1] as Domain
    const text = raw.toString('latin1')
    const bare = text.replaceAll(
      /^(?:DKIM-Signature|Auto-Submitted|X-Auto-Response-Suppress):.*\r\n(?:[ \t].*\r\n)*/gim,
      '',
    )
    return Buffer.from(
      await signMail(bare, { domain, key: keys[domain], signTime: new Date().toISOString() }),
      'latin1',
    )
  }
  await begin(a)
  await silence(20)
  const story = await a.parley('explain', '--', lastId())
  expect(story).toContain('Refused: more was answered there of late than the connection allows')
  expect(story).toContain('two machines may be answering each other (reply_limit)')
  expect(await a.books()).toMatchObject({ received: 11, answered: 10, refused: 1 })
  expect(await b.books()).toMatchObject({ received: 10, answered: 10 })
})

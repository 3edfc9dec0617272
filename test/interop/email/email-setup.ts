// A world with mail in it: the program in a process of its own with a mail domain, name servers that know who signs, Dovecot with
// everybody's mailbox, a post office that brings mail there, and an agent that says what the test tells it to.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startNameServer } from '../../doubles/dns-server.ts'
import { freePort } from '../../doubles/free-port.ts'
import { runParley } from '../../doubles/gateway-child.ts'
import { type Posted, type PostOffice, startPostOffice } from '../../doubles/mail-relay.ts'
import { type ParleyProcess, startParley } from '../../doubles/parley-process.ts'
import { mailKey } from '../../doubles/signed-mails.ts'
import type { DebianFiles } from '../debian.ts'
import { type Curl, type CurlMailbox, curlMailbox } from './curl-mailbox.ts'
import { type Dovecot, newPlace, startDovecot } from './dovecot.ts'
import { ada } from './person.ts'

export const ways = ['smtp', 'imap'] as const
/** `provider`: a mailbox at somebody else's domain, which is all there is. */
export type Way = (typeof ways)[number] | 'provider'

/** What the agent was told, and which session it was in. */
export type Heard = {
  readonly said: string
  readonly session: string
  readonly auth: string
  readonly files: readonly { readonly name: string; readonly mime: string; readonly base64: string }[]
}
export type Said = { readonly parts: readonly object[] }

export type MailStage = {
  /** Where mail for the agent is handed in. */
  readonly port: number
  readonly heard: readonly Heard[]
  /** What the agent says; it waits for as long as this does. */
  answer: (heard: Heard) => Promise<Said>
  readonly start: () => Promise<ParleyProcess>
  /** kill -9 to the mail server, and another one on the same mailboxes. */
  readonly cutMailServer: () => Promise<() => Promise<void>>
  readonly inbox: CurlMailbox
  readonly post: PostOffice
  /** What the command line prints, as JSON. */
  readonly parley: (...args: readonly string[]) => Promise<string>
  /** What each part of it has seen, for a test that failed. */
  readonly account: () => Promise<string>
  readonly close: () => Promise<void>
}

export const atProvider = 'desk@provider.example'

function userOf(address: string): string | undefined {
  if (address === ada) return 'ada'
  if (address === atProvider) return atProvider
  return address.toLowerCase().endsWith('@agents.example') ? 'desk' : undefined
}

function failed(text: string): never {
  throw new Error(text)
}

const library = new URL('../../../dist/index.js', import.meta.url).href
const password = 'hunter2'

export type MailPeers = { readonly dovecot: DebianFiles; readonly curl: Curl }

export async function openMailStage({ dovecot: files, curl }: MailPeers, way: Way): Promise<MailStage> {
  const key = mailKey()
  const ours = mailKey('rsa-2048', 'agents')
  const chunks = (text: string): readonly string[] => text.match(/.{1,255}/g) ?? []
  const names = await startNameServer({
    's1._domainkey.people.example': [chunks(key.record)],
    '_dmarc.people.example': [['v=DMARC1; p=reject; adkim=s']],
    'parley._domainkey.agents.example': [chunks(ours.record)],
  })
  const place = await newPlace()
  let dovecot: Dovecot = await startDovecot(files, place)
  const mailbox = (user: string): CurlMailbox => curlMailbox(curl, place.port, user, password)
  const post = await startPostOffice(async ({ from, to, raw }: Posted) => {
    for (const address of to) {
      const user = userOf(address) ?? failed(`nobody has ${address}`)
      // As providers do: whoever has an account sends as that account.
      if (way === 'provider' && ![ada, atProvider].includes(from)) failed(`${from} is not yours`)
      const above = `Return-Path: <${from}>\r\nDelivered-To: ${address}\r\n`
      await mailbox(user).append(Buffer.concat([Buffer.from(above), raw]))
    }
  })
  const desk = await startDesk()
  const dataDir = await mkdtemp(join(tmpdir(), 'parley-mail-story-'))
  const smtpPort = await freePort()
  const privateKey = { privateKey: ours.privateKey }
  const connection = {
    smtpUrl: post.url,
    dnsServers: [names.address],
    access: { mode: 'public', allow: [] },
    callTimeoutMs: 6000,
    ...wayIn(way, { smtpPort, imapPort: place.port }),
    ...(way === 'provider' ? {} : { domain: 'agents.example', dkimKeys: [{ selector: 'parley', ...privateKey }] }),
  }
  await writeFile(join(dataDir, 'parley.config.mjs'), configText(connection, desk.url))
  let gateway: ParleyProcess | undefined
  return {
    port: way === 'smtp' ? smtpPort : post.port,
    heard: desk.heard,
    get answer() {
      return desk.answer
    },
    set answer(given) {
      desk.answer = given
    },
    async start() {
      gateway = await startParley({ dataDir, database: 'embedded', patienceMs: 150_000 })
      return gateway
    },
    async cutMailServer() {
      await dovecot.stop()
      return async () => {
        dovecot = await startDovecot(files, place)
      }
    },
    inbox: mailbox('ada'),
    post,
    async parley(...args) {
      const env = { PARLEY_DATA_DIR: dataDir, PARLEY_ADMIN_TOKEN: 'operator-token-of-the-tests', EMAIL_CHANNEL: 'off' }
      return (await runParley({ cwd: dataDir, env, args })).output
    },
    async account() {
      const count = async (user: string): Promise<string> =>
        mailbox(user)
          .fetchAll()
          .then(({ length }) => `${length} mails`, String)
      const users = way === 'provider' ? ['ada', atProvider] : ['ada', 'desk']
      const boxes = await Promise.all(users.map(async (user) => `${user}: ${await count(user)}`))
      // The test itself looks into her mailbox many times a second.
      const ownLooks = /^.*(?:user=<ada>|imap\(ada\)).*\n/gm
      const last = (text = '') => text.trim().split('\n').slice(-30).join('\n')
      return [
        `the agent was told ${desk.heard.length} times`,
        `the post office brought ${post.brought.length}: ${post.brought.map(({ to }) => to.join(' ')).join(', ')}`,
        `and could not bring ${post.refused()}: ${post.complaints.join('; ')}`,
        `mailboxes: ${boxes.join(', ')}`,
        `the gateway said last:\n${last(gateway?.output())}`,
        `Dovecot said last:\n${last(dovecot.log().replaceAll(ownLooks, ''))}`,
      ].join('\n')
    },
    async close() {
      await gateway?.kill()
      await post.close()
      await dovecot.stop()
      await names.close()
      await desk.close()
      for (const folder of [dataDir, place.folder]) await rm(folder, { recursive: true, force: true })
    },
  }
}

function wayIn(way: Way, { smtpPort, imapPort }: { smtpPort: number; imapPort: number }): object {
  if (way === 'smtp') return { smtp: { port: smtpPort } }
  const user = encodeURIComponent(way === 'imap' ? 'desk' : atProvider)
  return { imap: { url: `imap://${user}:${password}@127.0.0.1:${imapPort}/INBOX`, allowPlain: true, startAt: 'all' } }
}

type Desk = {
  readonly url: string
  readonly heard: Heard[]
  answer: (heard: Heard) => Promise<Said>
  readonly close: () => Promise<void>
}

/** The agent's function asks here what to say. */
async function startDesk(): Promise<Desk> {
  const heard: Heard[] = []
  const hear = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const told = JSON.parse(Buffer.concat(chunks).toString()) as Heard
    heard.push(told)
    response.end(JSON.stringify(await desk.answer(told)))
  }
  const server = createServer((request, response) => void hear(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const desk: Desk = {
    url: `http://127.0.0.1:${port}`,
    heard,
    answer: async () => ({ parts: [] }),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
  return desk
}

function configText(connection: object, deskUrl: string): string {
  return `
import { defineAgent, defineConfig, email } from ${JSON.stringify(library)}
const desk = defineAgent({
  slug: 'desk',
  async run(message, { attachments, sessionId }) {
    const files = []
    for (const { kind, name, mime, attachment } of message.parts) {
      if (kind !== 'file') continue
      const bytes = await attachments.bytes(attachment.id, 1_000_000)
      files.push({ name, mime, base64: Buffer.from(bytes).toString('base64') })
    }
    const said = message.parts.flatMap((part) => (part.kind === 'text' ? [part.content] : [])).join('\\n')
    const told = { said, session: sessionId, auth: message.sender.auth_method, files }
    return (await fetch(${JSON.stringify(deskUrl)}, { method: 'POST', body: JSON.stringify(told) })).json()
  },
})
export default defineConfig({
  agents: [desk],
  connections: [email(${JSON.stringify(connection)})],
  turns: { leaseMs: 18_000, pollMs: 200, retryFirstMs: 50 },
})
`
}

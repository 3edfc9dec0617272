// The strangers of the crash test `strangers`: unproven mails, follows and notes of unknown actors, webhooks with bad signatures.
import { Agent, request as httpRequest } from 'node:http'
import type { Fediverse } from '../doubles/fediverse.ts'
import { aMention, type Person, personKeys, settlePerson } from '../doubles/fediverse-person.ts'
import { draftMail } from '../doubles/signed-mails.ts'
import { submit } from '../doubles/submit-mail.ts'
import { delay } from './crash-test.ts'
import { accounts, type StrangersGateway } from './strangers-gateway.ts'

export type FloodKind = 'mails' | 'activities' | 'webhooks'
export type Flood = {
  /** How often each kind was answered what. */
  readonly answers: ReadonlyMap<string, number>
  readonly isOver: () => boolean
  readonly over: Promise<void>
  readonly seconds: () => number
}

export type FloodOptions = {
  readonly gateway: StrangersGateway
  /** A server of their own, so that what counts by server does not count admitted people. */
  readonly fediverse: Fediverse
  /** Of each kind: the number of the first, and how many. */
  readonly first: number
  readonly count: number
  /** Of each kind at the same time. */
  readonly lanes: number
  /** How long all of it should at least take. */
  readonly leastMs: number
}

const strangersHost = '127.0.0.1'

export function startFlood({ gateway, fediverse, first, count, lanes, leastMs }: FloodOptions): Flood {
  const answers = new Map<string, number>()
  const keys = personKeys()
  const agent = new Agent({ keepAlive: true, maxSockets: lanes * 3 })
  const started = performance.now()
  let [isOver, endedAt] = [false, 0]
  const one: Readonly<Record<FloodKind, (index: number) => Promise<string>>> = {
    mails: (index) => sendMail(gateway, index),
    activities: (index) => sendActivity({ gateway, fediverse, keys, agent }, index),
    webhooks: (index) => sendWebhook(gateway, agent, index),
  }
  const lane = async (kind: FloodKind, start: number): Promise<void> => {
    for (let index = start; index < count; index += lanes) {
      const answer = await one[kind](first + index).catch((error: unknown) =>
        error instanceof Error ? error.message : 'failed',
      )
      const key = `${kind}: ${answer}`
      answers.set(key, (answers.get(key) ?? 0) + 1)
      const early = started + (leastMs * index) / count - performance.now()
      if (early > 0) await delay(early)
    }
  }
  const kinds: readonly FloodKind[] = ['mails', 'activities', 'webhooks']
  const all = kinds.flatMap((kind) => Array.from({ length: lanes }, (_, start) => lane(kind, start)))
  const over = Promise.all(all).then(() => {
    ;[isOver, endedAt] = [true, performance.now()]
    agent.destroy()
  })
  return { answers, isOver: () => isOver, over, seconds: () => (endedAt - started) / 1000 }
}

/** Every fifth has a file, every third a signature that is none; each comes from another address. */
async function sendMail({ mailPort }: StrangersGateway, index: number): Promise<string> {
  const from = `stranger-${index}@domain-${index % 500}.example`
  const file = Buffer.alloc(index % 5 === 0 ? 100_000 : 300, `${index} `)
    .toString('base64')
    .replaceAll(/.{76}/g, '$&\n')
  const forged = `DKIM-Signature: v=1; a=rsa-sha256; c=relaxed/relaxed; d=domain-${index % 500}.example; s=s1; h=from; bh=${'A'.repeat(43)}=; b=${'A'.repeat(340)}`
  const mail = draftMail({
    from: `Stranger <${from}>`,
    to: accounts.mail.address,
    subject: `Number ${index}`,
    head: [
      `Message-ID: <${crypto.randomUUID()}@domain-${index % 500}.example>`,
      'Content-Type: multipart/mixed; boundary="b"',
      ...(index % 3 === 0 ? [forged] : []),
    ],
    body: `--b\nContent-Type: text/plain\n\n${'Something for customers. '.repeat(40)}\n--b\nContent-Type: application/pdf; name="a.pdf"\nContent-Transfer-Encoding: base64\n\n${file}\n--b--\n`,
  })
  const answer = await submit(mailPort, [`MAIL FROM:<${from}>`, `RCPT TO:<${accounts.mail.address}>`], mail)
  return answer.slice(0, 3)
}

type Inbox = {
  readonly gateway: StrangersGateway
  readonly fediverse: Fediverse
  readonly keys: ReturnType<typeof personKeys>
  readonly agent: Agent
}

/** In turn: unsigned, signed by an actor that is nowhere, and by one that is new and true. */
async function sendActivity({ gateway, fediverse, keys, agent }: Inbox, index: number): Promise<string> {
  const actor = `${gateway.url}/ap/echo`
  const inbox = `${actor}/inbox`
  const kind = index % 3
  const who: Person = settlePerson(fediverse, strangersHost, `stranger-${index}`, {}, keys)
  // Documents of those that are over need not be kept.
  fediverse.put(strangersHost, `/users/stranger-${index - 200}`, { status: 404 })
  if (kind === 1) fediverse.put(strangersHost, `/users/stranger-${index}`, { status: 404 })
  const follow = {
    '@context': 'https://www.w3.org/ns/activitystreams',
    id: `${who.id}/follow`,
    type: 'Follow',
    actor: who.id,
    object: actor,
  }
  const activity = index % 2 === 0 ? follow : aMention(who, actor, `Something for ${crypto.randomUUID()}.`)
  const bytes = Buffer.from(JSON.stringify(activity))
  if (kind === 0) return `unsigned ${await post(inbox, bytes, { 'content-type': 'application/activity+json' }, agent)}`
  return `${kind === 1 ? 'of nowhere' : 'new'} ${await who.send(inbox, bytes)}`
}

async function sendWebhook({ url }: StrangersGateway, agent: Agent, index: number): Promise<string> {
  const json = { 'content-type': 'application/json' }
  const seconds = String(Math.floor(Date.now() / 1000))
  const bad = 'ab'.repeat(32)
  const event = { type: 'event_callback', event_id: `EvX${index}`, event: { type: 'message', text: 'x'.repeat(2000) } }
  const targets = [
    {
      path: '/hooks/slack/default',
      headers: { ...json, 'x-slack-request-timestamp': seconds, 'x-slack-signature': `v0=${bad}` },
      body: event,
    },
    {
      path: '/hooks/telegram/default',
      headers: { ...json, 'x-telegram-bot-api-secret-token': 'x'.repeat(43) },
      body: { update_id: index, message: { message_id: 1, text: 'x'.repeat(2000) } },
    },
    {
      path: '/hooks/email/default',
      headers: {
        'content-type': 'message/rfc822',
        'x-mail-timestamp': seconds,
        'x-mail-nonce': crypto.randomUUID(),
        'x-mail-signature': `sha256=${bad}`,
      },
      body: 'x'.repeat(2000),
    },
    {
      path: '/a2a',
      headers: { ...json, 'a2a-version': '1.0', authorization: `Bearer ${bad}` },
      body: { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message: { parts: [{ text: 'x' }] } } },
    },
  ]
  const target = targets[index % targets.length] as (typeof targets)[number]
  const body = Buffer.from(typeof target.body === 'string' ? target.body : JSON.stringify(target.body))
  return `${target.path} ${await post(`${url}${target.path}`, body, target.headers, agent)}`
}

function post(url: string, body: Buffer, headers: Readonly<Record<string, string>>, agent: Agent): Promise<number> {
  return new Promise((resolve, reject) => {
    const options = { method: 'POST', agent, headers: { ...headers, 'content-length': body.length } }
    const request = httpRequest(url, options, (response) => {
      response.resume()
      response.on('end', () => resolve(response.statusCode ?? 0))
    })
    request.on('error', reject)
    request.end(body)
  })
}

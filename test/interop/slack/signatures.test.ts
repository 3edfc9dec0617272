// Our verdict on signed requests beside two others: Bolt's and Chat SDK's. Where they are known to be laxer or stricter, the
// difference is asserted, so that it is noticed when they change.
import { createHmac } from 'node:crypto'
import { expect, test } from 'vitest'
import { verifySlack } from '../../../adapters/slack/verify.ts'
import { createWebHmac } from '../../../src/lib/index.ts'
import { secret } from '../../../src/lib/secret.ts'
import { describeBeside, importPeer, loadPeer, provePeer } from '../peer.ts'

const key = '8f742231b10e8888abcd99yyyzzz85a5'
const nowMs = 1763300000_000
const now = nowMs / 1000
const body = JSON.stringify({ type: 'event_callback', text: 'Gr\u00fc\u00dfe \u{1f642}' })

const optionsForChat = { signingSecret: key, now: () => nowMs }

type Signed = { readonly time?: string; readonly signature?: string; readonly body: string }

function signed(time: string, change: Partial<Signed> = {}): Signed {
  const mac = createHmac('sha256', key).update(`v0:${time}:${body}`).digest('hex')
  return { time, signature: `v0=${mac}`, body, ...change }
}

const fresh = signed(String(now))
const mac = fresh.signature?.slice(3) ?? ''

/** Whether we take it, and whether they do. */
const cases: Readonly<Record<string, { request: Signed; ours: boolean; bolt: boolean; chat: boolean; why?: string }>> =
  {
    'a fresh request': { request: fresh, ours: true, bolt: true, chat: true },
    'other bytes': { request: { ...fresh, body: `${body} ` }, ours: false, bolt: false, chat: false },
    'another key': { request: { ...fresh, signature: `v0=${'0'.repeat(64)}` }, ours: false, bolt: false, chat: false },
    'six minutes old': { request: signed(String(now - 360)), ours: false, bolt: false, chat: false },
    'four minutes old': { request: signed(String(now - 240)), ours: true, bolt: true, chat: true },
    'a day ahead': {
      request: signed(String(now + 86_400)),
      ours: false,
      bolt: true,
      chat: false,
      why: 'Bolt looks only for what is old',
    },
    'a time that is no number': {
      request: signed('abc'),
      ours: false,
      bolt: true,
      chat: false,
      why: 'Bolt compares with NaN, which is never too old',
    },
    'something behind the signature': {
      request: { ...fresh, signature: `v0=${mac}=more` },
      ours: false,
      bolt: true,
      chat: false,
      why: 'Bolt drops what stands behind a second equals sign',
    },
    'capitals in the signature': {
      request: { ...fresh, signature: `v0=${mac.toUpperCase()}` },
      ours: false,
      bolt: false,
      chat: true,
      why: 'Chat SDK reads the digits; Slack writes small ones',
    },
    'another version': { request: { ...fresh, signature: `v1=${mac}` }, ours: false, bolt: false, chat: false },
    'no signature': { request: { time: String(now), body }, ours: false, bolt: false, chat: false },
  }

async function isOurs(request: Signed): Promise<boolean> {
  const headers = { 'content-type': 'application/json', ...headersOf(request) }
  const arrival = { bytes: new TextEncoder().encode(request.body), headers, receivedAt: '', from: 'remote' as const }
  const verdict = await verifySlack({ hmac: createWebHmac(), now: () => nowMs }, [secret(key)], arrival)
  return verdict.kind === 'genuine'
}

function headersOf({ time, signature }: Signed): Readonly<Record<string, string>> {
  return {
    ...(time === undefined ? {} : { 'x-slack-request-timestamp': time }),
    ...(signature === undefined ? {} : { 'x-slack-signature': signature }),
  }
}

type Bolt = { readonly verifySlackRequest: (options: object) => void }
type Webhook = {
  readonly verifySlackRequest: (request: Request, options: object) => Promise<string>
}

const bolt = await provePeer(
  '@slack/bolt',
  loadPeer('@slack/bolt', (require) => require('@slack/bolt') as Bolt),
  (module) => module.verifySlackRequest(optionsForBolt(fresh)),
)
const chat = await provePeer(
  '@chat-adapter/slack/webhook',
  await importPeer('@chat-adapter/slack/webhook', async (importHere) => {
    return (await importHere('@chat-adapter/slack/webhook')) as Webhook
  }),
  (module) => module.verifySlackRequest(requestForChat(fresh), optionsForChat),
)

function optionsForBolt(request: Signed): object {
  const headers = { 'content-type': 'application/json', ...headersOf(request) }
  return { signingSecret: key, body: request.body, headers, nowMilliseconds: nowMs, logger: { error() {} } }
}

function requestForChat(request: Signed): Request {
  const headers = { 'content-type': 'application/json', ...headersOf(request) }
  return new Request('http://127.0.0.1/', { method: 'POST', headers, body: request.body })
}

describeBeside('Slack signatures beside Bolt', bolt, (module) => {
  test.each(Object.entries(cases))('%s', async (_, { request, ours, bolt: theirs }) => {
    expect(await isOurs(request)).toBe(ours)
    const isTheirs = () => {
      try {
        module().verifySlackRequest(optionsForBolt(request))
        return true
      } catch {
        return false
      }
    }
    expect(isTheirs()).toBe(theirs)
  })
})

describeBeside('Slack signatures beside Chat SDK', chat, (module) => {
  test.each(Object.entries(cases))('%s', async (_, { request, ours, chat: theirs }) => {
    expect(await isOurs(request)).toBe(ours)
    const isTheirs = await module()
      .verifySlackRequest(requestForChat(request), optionsForChat)
      .then(
        () => true,
        () => false,
      )
    expect(isTheirs).toBe(theirs)
  })
})

// A story on Vercel's emulated Slack: one workspace, one thread, and a relay between it and the gateway. The emulator has no buttons
// that can be pressed and no streams: a press is signed here as Slack signs it, and the relay says about streams what Slack says
// where there are none.
import { createHmac } from 'node:crypto'
import type { ParleyProcess } from '../../doubles/parley-process.ts'
import { type DatabaseKind, eventually, openStage } from '../conversation/conversation-setup.ts'
import type { Story } from '../conversation/meetings.ts'
import { type Answer, fieldsOf, type Meeting, type Passing, startRelay } from '../conversation/relay.ts'
import { type Emulate, startSlackEmulator } from './emulator.ts'

const signingSecret = 'signing-secret-of-the-emulator-0'
const botToken = 'xoxb-emulated-0000'
const botUserId = 'U0PARLEY1'
const team = 'T000000001'
const withoutStreams = /^(chat\.(start|append|stop)Stream|assistant\.threads\.setStatus)$/

type Block = { readonly type: string; readonly elements?: readonly { action_id?: string; value?: string }[] }
type Said = {
  readonly text: string
  readonly ts: string
  readonly user?: string
  readonly thread_ts?: string
  readonly blocks?: readonly (Block & { readonly block_id?: string })[]
}

export type SlackStory = Story & {
  /** Starts a process and sends it what happens from now on. */
  readonly begin: () => Promise<ParleyProcess>
  /** kill -9. */
  readonly kill: () => Promise<void>
  /** Asks in a thread that somebody began; the id of what was asked. */
  readonly ask: () => Promise<string>
  /** So many edits are seen before the model goes on with its last words; one, unless it is said. */
  readonly wantFrames: (count: number) => void
  /** Presses Approve on the question, once it is there. */
  readonly press: () => Promise<void>
  readonly close: () => Promise<void>
}

/** Two at once would wrap the emulator's plugin twice. */
let starting: Promise<unknown> = Promise.resolve()

export async function openSlackStory(
  module: Emulate,
  database: DatabaseKind,
  postgresUrl: string,
): Promise<SlackStory> {
  const relay = await startRelay()
  const first = starting.then(() => startSlackEmulator(module, seed, relay.hookUrl))
  starting = first.catch(() => {})
  const emulator = await first
  relay.connect(emulator.url)
  const settings = JSON.stringify({ botToken, signingSecret, botUserId, apiUrl: `${relay.url}/api/` })
  const connection = `slack({ ...${settings}, access, limits, callTimeoutMs })`
  let framesWanted = 1
  const watch = {
    isOpened: (words: string) =>
      relay.calls.some((each) => each.method === 'chat.postMessage' && isBeginning(each, words)),
    frames: (words: string) =>
      relay.calls.filter((each) => each.method === 'chat.update' && isBeginning(each, words)).length,
  }
  const stage = await openStage({ database, postgresUrl, connection, watch, framesWanted: () => framesWanted })
  const call = createCall(emulator.url)
  const [channel, root] = await beginThread(call)
  let gateway: ParleyProcess | undefined
  const thread = async () => (await call('conversations.replies', botToken, { channel, ts: root })).messages ?? []
  const said = async () => (await thread()).filter(({ user }) => user === botUserId)
  const meet = (meeting: Meeting) => {
    relay.meet = (each, forward) => (withoutStreams.test(each.method) ? noStreams() : meeting(each, forward))
  }
  meet((_call, forward) => forward())
  return {
    stage,
    texts: async () => (await said()).map(({ text }) => text),
    meet,
    wantFrames(count) {
      framesWanted = count
    },
    gateway: () => gateway ?? failed('no gateway runs'),
    async begin() {
      gateway = await stage.start()
      relay.bringTo(`${gateway.url}/hooks/slack/default`)
      return gateway
    },
    async kill() {
      relay.bringTo(undefined)
      await gateway?.kill()
    },
    ask: async () =>
      (
        await call('chat.postMessage', 'xoxp-ada', {
          channel,
          thread_ts: root,
          text: `<@${botUserId}> pay for the lamps`,
        })
      ).ts ?? '',
    elsewhere: async () => {
      const { messages = [] } = await call('conversations.history', botToken, { channel })
      return messages.flatMap(({ ts, thread_ts, text }) => (ts !== root && thread_ts !== root ? text : []))
    },
    async press() {
      await eventually('a question with buttons', async () => buttonOf(await said()) !== undefined)
      const button = buttonOf(await said()) ?? failed('no button')
      const user = (await thread())[0]?.user ?? failed('nobody asked')
      await press(relay.hookUrl, { ...button, channel, root, user })
    },
    async close() {
      relay.bringTo(undefined)
      await stage.close()
      await relay.close()
      await emulator.close()
    },
  }
}

const app = { app_id: 'A0PARLEY1', client_id: 'c', client_secret: 's', name: 'parley', redirect_uris: [] }
const bot = { bot_id: 'B0PARLEY1', bot_user_id: botUserId, bot_name: 'parley', scopes: ['chat:write'] }
const ofBot = { type: 'bot', app_id: app.app_id, bot_id: bot.bot_id, bot_user_id: botUserId, user_id: botUserId }
const seed = {
  users: [{ name: 'ada' }],
  channels: [{ name: 'lamps' }],
  oauth_apps: [{ ...app, ...bot }],
  tokens: [
    { token: botToken, ...ofBot },
    { token: 'xoxp-ada', type: 'user', user: 'ada' },
  ],
  signing_secret: signingSecret,
}

type Reply = {
  readonly ok: boolean
  readonly ts?: string
  readonly messages?: readonly Said[]
  readonly channels?: readonly { readonly id: string; readonly name: string }[]
}
type Call = (method: string, token: string, fields: object) => Promise<Reply>

function createCall(url: string): Call {
  return async (method, token, fields) => {
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` }
    const response = await fetch(`${url}/api/${method}`, { method: 'POST', headers, body: JSON.stringify(fields) })
    const reply = (await response.json()) as Reply
    return reply.ok ? reply : failed(`${method}: ${JSON.stringify(reply)}`)
  }
}

/** No gateway runs yet that would hear of the first message. */
async function beginThread(call: Call): Promise<readonly [string, string]> {
  const { channels = [] } = await call('conversations.list', botToken, {})
  const channel = channels.find(({ name }) => name === 'lamps')?.id ?? ''
  const { messages = [] } = await call('conversations.history', botToken, { channel })
  const known = messages[0]?.ts
  if (known !== undefined) return [channel, known]
  const posted = call('chat.postMessage', 'xoxp-ada', { channel, text: 'the lamps have come' })
  return [channel, (await posted).ts ?? '']
}

type Button = { readonly block: string; readonly value: string; readonly message: string }

function buttonOf(messages: readonly Said[]): Button | undefined {
  for (const { ts, blocks = [] } of messages) {
    for (const { elements = [], block_id: block = '' } of blocks) {
      const approve = elements.find(({ action_id }) => action_id === 'approve')
      if (approve?.value !== undefined) return { block, value: approve.value, message: ts }
    }
  }
  return undefined
}

async function press(
  hook: string,
  { block, value, message, channel, root, user }: Button & Readonly<Record<'channel' | 'root' | 'user', string>>,
): Promise<void> {
  const payload = {
    type: 'block_actions',
    user: { id: user, team_id: team },
    team: { id: team },
    api_app_id: app.app_id,
    channel: { id: channel },
    container: { message_ts: message, thread_ts: root },
    actions: [{ action_id: 'approve', block_id: block, value, action_ts: String(Date.now() / 1000) }],
  }
  const body = new URLSearchParams({ payload: JSON.stringify(payload) }).toString()
  const time = String(Math.floor(Date.now() / 1000))
  const mac = createHmac('sha256', signingSecret).update(`v0:${time}:${body}`).digest('hex')
  const headers = {
    'content-type': 'application/x-www-form-urlencoded',
    'x-slack-request-timestamp': time,
    'x-slack-signature': `v0=${mac}`,
  }
  const response = await fetch(hook, { method: 'POST', headers, body })
  if (!response.ok) failed(`the press was answered with ${response.status}`)
}

function isBeginning(call: Passing, words: string): boolean {
  const text = String(fieldsOf(call)['text'] ?? '')
  return text !== '' && words.startsWith(text)
}

async function noStreams(): Promise<Answer> {
  const body = JSON.stringify({ ok: false, error: 'unknown_method' })
  return { status: 200, headers: { 'content-type': 'application/json' }, body }
}

function failed(text: string): never {
  throw new Error(text)
}

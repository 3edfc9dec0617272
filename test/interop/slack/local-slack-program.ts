// Runs inside a network namespace of its own, where nothing but it can be reached: local-slack listens on every address. Plays the
// story with a gateway that is killed while it sends its question, and prints what the peer then holds, as one line of JSON.
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ending, eventually, openStage } from '../conversation/conversation-setup.ts'
import { fieldsOf, type Passing, startRelay } from '../conversation/relay.ts'

// `smoke`: only listens and tells its state.
const [binary = '', what = 'story'] = process.argv.slice(2)
const port = 3210
const peerUrl = `http://127.0.0.1:${port}`
const [channel, ada, botUserId] = ['C0LAMPS01', 'U0ADA0001', 'U0PARLEY1']
const keys = { botToken: 'xoxb-local-0000', signingSecret: 'signing-secret-of-local-slack-00' }

type Action = { readonly action_id?: string; readonly value?: string }
type Said = {
  readonly ts: string
  readonly text: string
  readonly user: string
  readonly thread_ts?: string
  readonly blocks?: readonly { readonly block_id?: string; readonly elements?: readonly Action[] }[]
}

const folder = mkdtempSync(join(tmpdir(), 'parley-local-slack-'))
const relay = await startRelay()
const workspace = {
  workspace: { teamId: 'T0LOCAL01' },
  apps: [{ appId: 'A0PARLEY1', botUserId, botName: 'parley', ...keys, mode: 'events', requestUrl: relay.hookUrl }],
  users: [{ id: ada, name: 'ada' }],
  channels: [{ id: channel, name: 'lamps', members: [ada, botUserId] }],
}
writeFileSync(join(folder, 'workspace.json'), JSON.stringify(workspace))
const peer = spawn(
  binary,
  ['--config', 'workspace.json', '--port', String(port), '--base-host', '127.0.0.1', '--files-dir', folder],
  { cwd: folder, stdio: 'ignore' },
)
relay.connect(peerUrl)

const control = async (path: string, body?: object): Promise<unknown> => {
  const headers = { 'content-type': 'application/json' }
  const asked = body === undefined ? {} : { method: 'POST', headers, body: JSON.stringify(body) }
  return (await fetch(`${peerUrl}/_control/${path}`, asked)).json()
}
const says = async (text: string, thread: object = {}) =>
  ((await control('message', { channel, user: ada, text, ...thread })) as { message: Said }).message.ts
const messages = async () => ((await control(`messages/${channel}`)) as { messages: readonly Said[] }).messages
const isBeginning = (call: Passing, words: string) => {
  const text = String(fieldsOf(call)['text'] ?? '')
  return text !== '' && words.startsWith(text)
}
const seen = (method: string, words: string) =>
  relay.calls.filter((call) => call.method === method && isBeginning(call, words)).length

const isUp = () => eventually('local-slack', () => control('state').then(Boolean, () => false), 20_000)
if (what === 'smoke') {
  await isUp().finally(endPeer)
  process.stdout.write('{}\n')
  process.exit()
}

const settings = JSON.stringify({ ...keys, apiUrl: `${relay.url}/api/` })
const stage = await openStage({
  database: 'embedded',
  postgresUrl: '',
  connection: `slack({ ...${settings}, access, limits, callTimeoutMs })`,
  watch: { isOpened: (words) => seen('chat.postMessage', words) > 0, frames: (words) => seen('chat.update', words) },
  framesWanted: () => 1,
})

// The question has arrived, and its process dies before it hears of it.
let isUnheard = false
relay.meet = async (call, forward) => {
  const answer = await forward()
  if (isUnheard || call.method !== 'chat.postMessage' || !call.body.includes('approve')) return answer
  isUnheard = true
  return new Promise(() => {})
}

try {
  await isUp()
  const first = await stage.start()
  relay.bringTo(`${first.url}/hooks/slack/default`)
  const root = await says('the lamps have come')
  const asked = await says(`<@${botUserId}> pay for the lamps`, { thread_ts: root })
  const card = async () =>
    (await messages())
      .flatMap(({ ts, blocks = [] }) => blocks.map((block) => ({ ts, block })))
      .flatMap(({ ts, block }) => (block.elements ?? []).map((action) => ({ ts, action, block_id: block.block_id })))
      .find(({ action }) => action.action_id === 'approve')
  await eventually('a question with buttons', async () => (await card()) !== undefined)
  relay.bringTo(undefined)
  await first.kill()
  const second = await stage.start()
  relay.bringTo(`${second.url}/hooks/slack/default`)
  const { ts: messageTs, action, block_id } = (await card()) ?? {}
  await control('interact', { channel, messageTs, user: ada, action: { type: 'button', ...action, block_id } })
  await eventually('the last words', async () => (await messages()).at(-1)?.text === ending)
  await eventually('quiet', async () => (await stage.books(second))[0]?.inFlight === 0)
  const said = (await messages()).filter(({ user }) => user === botUserId)
  const told = {
    said: said.map(({ text, thread_ts }) => ({ text, inThread: thread_ts === root })),
    paid: stage.paid,
    books: (await stage.books(second))[0],
    explain: await stage.explain(asked),
  }
  process.stdout.write(`${JSON.stringify(told)}\n`)
} finally {
  await stage.close()
  await relay.close()
  endPeer()
}

function endPeer(): void {
  peer.kill('SIGKILL')
  rmSync(folder, { recursive: true, force: true })
}

// `npm run house -- --walk`: which files and functions of the product one message passes, from its bytes to the delivered reply.
// The sources run as they are, unbundled; V8 counts calls. What runs while the gateway is idle is left out.
import { mkdtemp, rm } from 'node:fs/promises'
import { Session } from 'node:inspector/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { a2aChannel } from '../adapters/a2a/index.ts'
import { emailChannel } from '../adapters/email/index.ts'
import { slackChannel } from '../adapters/slack/index.ts'
import { defineAgent } from '../src/agents/define-agent.ts'
import { loadConfig } from '../src/config.ts'
import { createNodeLog } from '../src/node/log.ts'
import { startNode } from '../src/node.ts'
import { freePort } from '../test/doubles/free-port.ts'
import { startSlackApi } from '../test/doubles/slack-api.ts'
import { submit } from '../test/doubles/submit-mail.ts'
import { a2aPath } from './platforms/a2a.ts'
import { slackAccount, slackRequests } from './platforms/slack.ts'

type Walk = { readonly files: ReadonlySet<string>; readonly functions: readonly string[]; readonly calls: number }

const root = fileURLToPath(new URL('..', import.meta.url))
const idleMs = 2_500
/** The slowest round of what runs beside messages is the look at the connections, every 5 s. */
const backgroundMs = 6_000
const answerMs = 20_000

export async function printWalks(showFunctions: boolean): Promise<void> {
  const dataDir = await mkdtemp(join(tmpdir(), 'parley-walk-'))
  const api = await startSlackApi()
  const mailPort = await freePort()
  const access = { mode: 'public', allow: [] } as const
  const connections = [
    { channel: 'slack', id: 'bench', access, settings: { ...slackAccount, apiUrl: `${api.origin}/api/` } },
    {
      channel: 'email',
      id: 'mail',
      access,
      settings: { domain: 'parley.localhost', trustLoopback: true, smtp: { port: mailPort } },
    },
    { channel: 'a2a', id: 'default', access, settings: { anonymous: true } },
  ]
  let answered = 0
  const agent = defineAgent({
    slug: 'bench',
    run() {
      answered += 1
      return 'Hello'
    },
  })
  const environment = { PARLEY_PORT: '0', PARLEY_DATA_DIR: dataDir, PARLEY_ADMIN_TOKEN: 'admin-token-of-the-walk' }
  const config = loadConfig(environment, { agents: [agent], connections }, [slackChannel, emailChannel, a2aChannel])
  const running = await startNode({ config, migrationsFolder: join(root, 'drizzle'), log: createNodeLog('error') })
  const port = Number(new URL(running.url).port)
  const inspector = new Session()
  inspector.connect()
  await inspector.post('Profiler.enable')
  await inspector.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  const senders: readonly (readonly [string, () => Promise<void>])[] = [
    ['Slack mention', () => sendSlackMention(port)],
    ['mail', () => sendMail(mailPort)],
    ['A2A SendMessage', () => sendA2a(running.url)],
  ]
  try {
    for (const [name, send] of senders) {
      const walk = await measure(inspector, async () => {
        const before = answered
        await send()
        for (let waitedMs = 0; answered === before; waitedMs += 20) {
          if (waitedMs > answerMs) throw new Error(`${name}: no answer within ${answerMs / 1000} s`)
          await sleep(20)
        }
        // Until the reply is settled; what runs meanwhile and is not its own runs in the idle time as well.
        await sleep(idleMs)
      })
      console.log(`${name}: ${walk.files.size} files, ${walk.functions.length} functions, ${walk.calls} calls`)
      if (showFunctions) for (const each of walk.functions) console.log(`  ${each}`)
    }
  } finally {
    inspector.disconnect()
    await running.stop(2_000)
    await api.close()
    await rm(dataDir, { recursive: true, force: true })
  }
}

/** The first message warms up, the second is counted. */
async function measure(inspector: Session, send: () => Promise<void>): Promise<Walk> {
  await send()
  await takeCalls(inspector)
  await sleep(backgroundMs)
  const idle = await takeCalls(inspector)
  await send()
  const calls = await takeCalls(inspector)
  const own = [...calls].filter(([name]) => !idle.has(name))
  const files = new Set(own.map(([name]) => name.slice(0, name.indexOf(' '))))
  return { files, functions: own.map(([name]) => name), calls: own.reduce((sum, [, count]) => sum + count, 0) }
}

/** Calls since the last time this was asked, by file and function, in the order of the files. */
async function takeCalls(inspector: Session): Promise<ReadonlyMap<string, number>> {
  const home = pathToFileURL(root).href
  const { result } = await inspector.post('Profiler.takePreciseCoverage')
  const calls = new Map<string, number>()
  for (const { url, functions } of result) {
    const path = url.startsWith(home) ? url.slice(home.length) : ''
    // Doubles are no product, wherever they stand.
    if (!/^(src|adapters)\//.test(path) || path.startsWith('src/testing/')) continue
    for (const { functionName, ranges } of functions) {
      const [range] = ranges
      if (range === undefined || range.count === 0) continue
      const name = `${path} ${functionName === '' ? `(at ${range.startOffset})` : functionName}`
      calls.set(name, (calls.get(name) ?? 0) + range.count)
    }
  }
  return calls
}

async function sendSlackMention(port: number): Promise<void> {
  const [request] = slackRequests('walk', 1, false)
  const socket = connect(port, '127.0.0.1')
  socket.write(request ?? '')
  await new Promise((resolve) => socket.once('data', resolve))
  socket.destroy()
}

let mails = 0

async function sendMail(port: number): Promise<void> {
  mails += 1
  const head = `From: Ada <ada@people.example>\r\nTo: bench@parley.localhost\r\nSubject: Hello\r\nMessage-ID: <${mails}.${Date.now()}@people.example>`
  const commands = ['MAIL FROM:<ada@people.example>', 'RCPT TO:<bench@parley.localhost>']
  await submit(port, commands, `${head}\r\nDate: ${new Date().toUTCString()}\r\n\r\nHow are you?\r\n`)
}

async function sendA2a(url: string): Promise<void> {
  const message = { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text: 'How are you?' }] }
  await fetch(new URL(a2aPath, url), {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'a2a-version': '1.0' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message } }),
  })
}

// Callers who send most of a body and then wait, against the real program: memory stays bounded, others are answered, all are let go.
import { createHmac } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ParleyProcess, startParley } from '../../doubles/parley-process.ts'

const mebibyte = 1024 * 1024
const senders = 300
const signingSecret = 'signing-secret-of-the-held-bodies'
/** Of the 64 MiB that may be held, three quarters are for large bodies; the rest is what 300 connections and buffers not yet collected take. */
const maxGrowthMb = 120
const bodyTimeoutMs = 15_000
const adminToken = 'admin-token-of-the-held-bodies'

/** Collects all the time, once it is told to: what is measured is what is held. */
const collecting = `
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc')
process.on('SIGUSR2', () => setInterval(collect, 250).unref())
export default {}
`

let dataDir: string
let parley: ParleyProcess

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'parley-held-'))
  await writeFile(join(dataDir, 'parley.config.mjs'), collecting)
  const env = {
    PARLEY_ADMIN_TOKEN: adminToken,
    SLACK_BOT_TOKEN: 'xoxb-not-a-token',
    SLACK_SIGNING_SECRET: signingSecret,
    SLACK_API_URL: 'http://127.0.0.1:9/',
  }
  parley = await startParley({ dataDir, env })
})
afterAll(async () => {
  await parley.stop()
  await rm(dataDir, { recursive: true, force: true, maxRetries: 10 })
})

const residentMb = (): number =>
  Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${parley.pid}/status`, 'utf8'))?.[1]) / 1024
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** All but the last byte, with headers that could be right. Resolves when it is let go, with what it was told. */
function hold(signal: AbortSignal): Promise<string> {
  const { hostname, port } = new URL(parley.tcp)
  const socket: Socket = connect(Number(port), hostname)
  let told = ''
  socket.on('data', (data) => {
    told += data.toString('latin1')
  })
  socket.on('error', () => {})
  signal.addEventListener('abort', () => socket.destroy())
  socket.write(
    [
      'POST /hooks/slack/default HTTP/1.1',
      'host: 127.0.0.1',
      'content-type: application/json',
      `content-length: ${mebibyte}`,
      `x-slack-request-timestamp: ${Math.floor(Date.now() / 1000)}`,
      `x-slack-signature: v0=${'0'.repeat(64)}`,
      '\r\n',
    ].join('\r\n'),
  )
  socket.write(Buffer.alloc(mebibyte - 1, 0x20))
  return new Promise((resolve) => socket.once('close', () => resolve(told)))
}

/** Slack's own question, rightly signed: answered with its challenge. */
async function askHonestly(): Promise<{ readonly status: number; readonly ms: number }> {
  const body = JSON.stringify({ type: 'url_verification', challenge: 'c' })
  const time = String(Math.floor(Date.now() / 1000))
  const signature = createHmac('sha256', signingSecret).update(`v0:${time}:${body}`).digest('hex')
  const from = performance.now()
  const headers = {
    'content-type': 'application/json',
    'x-slack-request-timestamp': time,
    'x-slack-signature': `v0=${signature}`,
  }
  const { status } = await fetch(`${parley.tcp}/hooks/slack/default`, { method: 'POST', headers, body })
  return { status, ms: performance.now() - from }
}

test.skipIf(process.platform !== 'linux')(
  '300 held bodies of 1 MiB cost a bounded share of memory, silence no other sender, and are let go',
  { timeout: 90_000 },
  async () => {
    process.kill(parley.pid, 'SIGUSR2')
    for (let i = 0; i < 20; i += 1) await askHonestly()
    await pause(1_000)
    const before = residentMb()
    const ending = new AbortController()
    let open = senders
    const held = Array.from({ length: senders }, () =>
      hold(ending.signal).then((told) => {
        open -= 1
        return told
      }),
    )
    let peak = 0
    const answers: Awaited<ReturnType<typeof askHonestly>>[] = []
    const until = performance.now() + bodyTimeoutMs + 4_000
    while (performance.now() < until && open > 0) {
      answers.push(await askHonestly())
      peak = Math.max(peak, residentMb())
      await pause(100)
    }
    const left = open
    ending.abort()
    const told = await Promise.all(held)
    const worst = Math.max(...answers.map(({ ms }) => ms))
    process.stdout.write(
      `${senders} held bodies: ${(peak - before).toFixed(0)} MB more, ${left} still open after ${bodyTimeoutMs / 1000} s; ` +
        `${answers.length} honest callers, slowest ${worst.toFixed(0)} ms\n`,
    )
    expect({ left, isBounded: peak - before < maxGrowthMb }).toEqual({ left: 0, isBounded: true })
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
    expect(worst).toBeLessThan(2_000)
    const statuses = new Set(told.map((each) => each.slice(9, 12)))
    expect([...statuses].every((status) => ['503', '408', ''].includes(status))).toBe(true)
    const metrics = await fetch(`${parley.tcp}/metrics`, { headers: { authorization: `Bearer ${adminToken}` } })
    expect(await metrics.text()).toMatch(/parley_http_refused_total\{reason="bodies_full"\} \d+/)
  },
)

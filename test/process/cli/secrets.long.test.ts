// New keys while two replicas work: messages, files and signatures go on, whatever is killed meanwhile, and nothing fails.
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createHome, type Home, type Running, until } from './parley.ts'

const bin = fileURLToPath(new URL('../../../bin/parley.js', import.meta.url))

let home: Home
let gateways: [Running, Running]
let token = ''
const counts = { messages: 0, uploads: 0, downloads: 0, signatures: 0 }
const failures: string[] = []
let isWorking = true

beforeAll(async () => {
  home = await createHome({})
  gateways = [await home.start(), await home.start()]
  const made = (await home.json(['tokens', 'create', '--label', 'load', '--scope', 'run'])) as { token: string }
  token = made.token
}, 180_000)
afterAll(() => home.close(), 60_000)

const other = (one: Running): Running => (one === gateways[0] ? gateways[1] : gateways[0])

async function at(what: string, work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    failures.push(`${what}: ${error instanceof Error ? error.message : String(error)}`)
  }
}

function must(isTrue: boolean, what: string): void {
  if (!isTrue) throw new Error(what)
}

/** Signed by one replica, checked with what the other one shows. */
async function checkFile(gateway: Running): Promise<void> {
  const body = new FormData()
  body.append('file', new Blob(['a poem'], { type: 'text/plain' }), 'poem.txt')
  const headers = { authorization: `Bearer ${token}` }
  const sent = await fetch(`${gateway.url}/api/v1/agent/attachments`, { method: 'POST', body, headers })
  must(sent.status === 201, `upload answered ${sent.status}`)
  counts.uploads += 1
  const { url } = (await sent.json()) as { url: string }
  const elsewhere = new URL(url)
  elsewhere.host = new URL(other(gateway).url).host
  for (const each of [url, elsewhere.href]) {
    const found = await fetch(each, { headers })
    must(found.status === 200, `a handle answered ${found.status}`)
    counts.downloads += 1
  }
}

async function checkCard(gateway: Running): Promise<void> {
  const headers = { authorization: `Bearer ${token}` }
  const answer = await fetch(`${gateway.url}/a2a/demo/.well-known/agent-card.json`, { headers })
  must(answer.status === 200, `the card answered ${answer.status}`)
  const { signatures } = (await answer.json()) as { signatures?: { protected: string; signature: string }[] }
  const [signature] = signatures ?? []
  must(signature !== undefined, 'the card is not signed')
  const shown = await (await fetch(`${other(gateway).url}/a2a/.well-known/jwks.json`, { headers })).json()
  const { kid } = JSON.parse(Buffer.from(signature?.protected ?? '', 'base64url').toString())
  const { keys } = shown as { keys: { kid: string }[] }
  must(
    keys.some((key) => key.kid === kid),
    'a card is signed by a key that the other replica does not show',
  )
  counts.signatures += 1
}

const loops = (): Promise<unknown>[] => {
  const loop = async (what: string, work: (gateway: Running) => Promise<void>, pauseMs: number): Promise<void> => {
    for (let turn = 0; isWorking; turn += 1) {
      await at(what, () => work(gateways[turn % 2] ?? gateways[0]))
      await new Promise((resolve) => setTimeout(resolve, pauseMs))
    }
  }
  return [
    loop('file', checkFile, 50),
    loop('card', checkCard, 50),
    loop(
      'message',
      // One of them numbers the updates; either answers.
      async () => {
        await gateways[0].say(`hello ${counts.messages}`)
        counts.messages += 1
      },
      // As often as one chat may be answered.
      1_100,
    ),
  ]
}

const sealKeys = async (): Promise<readonly string[]> =>
  (await readFile(join(home.folder, 'data', 'seal-key'), 'utf8')).trim().split('\n')

/** kill -9 of the command so long after the new key is there: rows are being sealed anew, or about to be. */
async function killedWhileSealing(afterMs: number): Promise<void> {
  const before = (await sealKeys()).length
  const options = { cwd: home.folder, env: home.env }
  const child = execFile(process.execPath, [bin, 'secrets', 'rotate', 'sealing-key'], options)
  const gone = new Promise((resolve) => child.once('exit', resolve))
  await until(60_000, async () => ((await sealKeys()).length > before ? true : undefined))
  setTimeout(() => child.kill('SIGKILL'), afterMs)
  await gone
}

test('nothing fails under load while every key is made anew, twice, with commands killed on the way', async () => {
  await checkFile(gateways[0])
  await checkCard(gateways[0])
  const working = loops()
  for (const afterMs of [0, 20, 200]) await killedWhileSealing(afterMs)
  const first = (await home.json(['secrets', 'rotate', '--all', '--yes'])) as {
    rotated: { name: string; token?: string }[]
  }
  await new Promise((resolve) => setTimeout(resolve, 12_000))
  const second = (await home.json(['secrets', 'rotate', '--all', '--yes'])) as typeof first
  await new Promise((resolve) => setTimeout(resolve, 12_000))
  isWorking = false
  await Promise.all(working)
  expect(failures).toEqual([])
  let last = ''
  const settled = await until(90_000, async () => {
    const { stats } = (await home.json(['stats'])) as { stats: Record<string, number>[] }
    last = JSON.stringify(stats)
    const book = stats.find((each) => Number(each['received']) === counts.messages)
    return book?.['inFlight'] === 0 ? book : undefined
  }).catch(() => {
    throw new Error(`${counts.messages} messages: ${last}`)
  })
  expect(settled).toMatchObject({ dead: 0, refused: 0 })
  expect(Number(settled['answered']) + Number(settled['merged'])).toBe(counts.messages)
  for (const count of Object.values(counts)) expect(count).toBeGreaterThan(20)
  const names = first.rotated.map(({ name }) => name)
  expect(names).toEqual(expect.arrayContaining(['sealing-key', 'file-handles', 'a2a/default#card', 'admin-token']))
  expect(second.rotated.map(({ name }) => name)).toEqual(names)
  const stored = (await readFile(join(home.folder, 'data', 'admin-token'), 'utf8')).trim()
  expect(second.rotated.find(({ name }) => name === 'admin-token')?.token).toBe(stored)
  process.stdout.write(`while keys changed: ${JSON.stringify(counts)}, 0 failures\n`)
  // What is sealed opens with the newest key alone: nothing is left under those before it.
  await Promise.all(gateways.map((gateway) => gateway.stop()))
  const keys = await sealKeys()
  expect(keys).toHaveLength(6)
  const alone = { PARLEY_SEAL_KEY: keys.at(-1) ?? '', PARLEY_DATA_DIR: join(home.folder, 'elsewhere') }
  const gateway = await home.start(alone)
  expect((await fetch(`${gateway.url}/a2a/.well-known/jwks.json`)).status).toBeLessThan(500)
  expect(await home.json(['secrets', 'rotate', 'sealing-key'], alone)).toMatchObject({ sealed: { unopened: 0 } })
  await gateway.stop()
}, 240_000)

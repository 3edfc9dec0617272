// A request asked for before a pause of the process does not leave after it.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeAll, expect, test } from 'vitest'
import { createFencedFetch, loadFetchDispatcher } from '../../../src/node/runtime.ts'

let server: Server | undefined

async function countingServer(): Promise<{ url: string; seen: () => number }> {
  let seen = 0
  const started = createServer((_, response) => {
    seen += 1
    response.end('done')
  })
  server = started
  await new Promise<void>((resolve) => started.listen(0, '127.0.0.1', resolve))
  return { url: `http://127.0.0.1:${(started.address() as AddressInfo).port}`, seen: () => seen }
}

beforeAll(loadFetchDispatcher)

afterEach(() => {
  server?.closeAllConnections()
  server?.close()
})

test('the fenced fetch sends what leaves in time, again and again', async () => {
  const { url, seen } = await countingServer()
  const fenced = createFencedFetch(
    (ageMs) => ageMs < 1000,
    () => performance.now(),
  )
  for (let times = 0; times < 3; times += 1) expect(await (await fenced(url)).text()).toBe('done')
  expect(seen()).toBe(3)
})

test('the fenced fetch never sends a request whose connection became ready too late', async () => {
  const { url, seen } = await countingServer()
  let now = 0
  const fenced = createFencedFetch(
    (ageMs) => ageMs < 1000,
    () => now,
  )
  const asked = fenced(url, { method: 'POST', body: 'effect' })
  // The connection is made asynchronously; the clock has moved on by the time it is ready.
  now = 1000
  await expect(asked).rejects.toMatchObject({ cause: { name: 'TimeoutError' } })
  expect(seen()).toBe(0)
})

test('the fenced fetch asks once more for a text, between its connection and its first byte', async () => {
  const { url, seen } = await countingServer()
  let asked = 0
  const fenced = createFencedFetch(
    () => ++asked === 1,
    () => 0,
  )
  await expect(fenced(url, { method: 'POST', body: 'effect' })).rejects.toMatchObject({
    cause: { name: 'TimeoutError' },
  })
  expect({ asked, seen: seen() }).toEqual({ asked: 2, seen: 0 })
})

test('the fenced fetch never sends a request whose body became ready too late', async () => {
  const { url, seen } = await countingServer()
  let now = 0
  const fenced = createFencedFetch(
    (ageMs) => ageMs < 1000,
    () => now,
  )
  const body = new ReadableStream({
    async pull(controller) {
      // Long after the connection stands, which is when the fence was asked first.
      await new Promise((resolve) => setTimeout(resolve, 200))
      now = 1000
      controller.enqueue(new TextEncoder().encode('effect'))
      controller.close()
    },
  })
  // Node's fetch wants to know that a stream is sent; the standard's types do not say so.
  const asked = fenced(url, { method: 'POST', body, duplex: 'half' } as RequestInit)
  await expect(asked).rejects.toMatchObject({ cause: { name: 'TimeoutError' } })
  expect(seen()).toBe(0)
})

test('the fenced fetch sends a body in pieces once its first piece has left in time', async () => {
  const { url, seen } = await countingServer()
  let now = 0
  const fenced = createFencedFetch(
    (ageMs) => ageMs < 1000,
    () => now,
  )
  const pieces = ['one', 'two']
  const body = new ReadableStream({
    async pull(controller) {
      const piece = pieces.shift()
      if (piece === undefined) return controller.close()
      if (piece === 'two') {
        await new Promise((resolve) => setTimeout(resolve, 200))
        now = 1000
      }
      controller.enqueue(new TextEncoder().encode(piece))
    },
  })
  const asked = await fenced(url, { method: 'POST', body, duplex: 'half' } as RequestInit)
  expect(await asked.text()).toBe('done')
  expect(seen()).toBe(1)
})

/** Asks with a body that is ready half a second after the connection, and may leave for one second. */
const frozenSender = (url: string): string => `
import { writeSync } from 'node:fs'
import { createFencedFetch, loadFetchDispatcher } from ${JSON.stringify(new URL('../../../src/node/runtime.ts', import.meta.url).href)}
await loadFetchDispatcher()
const mayLeave = (ageMs) => {
  writeSync(1, 'asked ')
  return ageMs < 1000
}
const fenced = createFencedFetch(mayLeave, () => performance.now())
async function* late() {
  await new Promise((resolve) => setTimeout(resolve, 500))
  yield 'effect'
}
await fenced(${JSON.stringify(url)}, { method: 'POST', body: ReadableStream.from(late()).pipeThrough(new TextEncoderStream()), duplex: 'half' })
  .then(() => writeSync(1, 'sent'), (error) => writeSync(1, error.cause?.name ?? error.name))
`

test('a process that was frozen between its connection and its body sends nothing when it goes on', async () => {
  const { url, seen } = await countingServer()
  const child = spawn(process.execPath, ['--input-type=module', '--eval', frozenSender(url)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let told = ''
  child.stdout.on('data', (chunk: Buffer) => {
    told += chunk.toString()
  })
  // The connection stands, and the fence was asked for the first time.
  await expect.poll(() => told, { timeout: 10_000, interval: 5 }).toBe('asked ')
  child.kill('SIGSTOP')
  await new Promise((resolve) => setTimeout(resolve, 1_500))
  child.kill('SIGCONT')
  await once(child, 'close')
  expect(told).toBe('asked asked TimeoutError')
  expect(seen()).toBe(0)
}, 30_000)

// A request asked for before a pause of the process does not leave after it.
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeAll, expect, test } from 'vitest'
import { createFencedFetch, prepareFencedFetch } from '../../../src/node/fenced-fetch.ts'

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

beforeAll(prepareFencedFetch)

afterEach(() => {
  server?.closeAllConnections()
  server?.close()
})

test('sends what leaves in time, again and again', async () => {
  const { url, seen } = await countingServer()
  const fenced = createFencedFetch(
    (ageMs) => ageMs < 1000,
    () => performance.now(),
  )
  for (let times = 0; times < 3; times += 1) expect(await (await fenced(url)).text()).toBe('done')
  expect(seen()).toBe(3)
})

test('never sends a request whose connection became ready too late', async () => {
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

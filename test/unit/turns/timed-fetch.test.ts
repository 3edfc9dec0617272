// fetch for steps: a silent server ends the request with a typed error; a slow one, and a slow reader, do not.
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { createTimedFetch } from '../../../src/turns/leases.ts'

const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))
let server: Server
afterEach(() => {
  server.closeAllConnections()
  server.close()
})
const serve = async (answer: RequestListener) => {
  server = createServer(answer)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}
const timeout = { code: 'fetch_timeout', message: expect.stringContaining('turns.fetchTimeoutMs') }

test('a server that never begins to answer', async () => {
  const url = await serve(() => {})
  await expect(createTimedFetch(fetch, 50)(url)).rejects.toMatchObject(timeout)
})

test('a server that stops in the middle of its answer', async () => {
  const url = await serve((_request, response) => void response.write('half'))
  const response = await createTimedFetch(fetch, 200)(url)
  await expect(response.text()).rejects.toMatchObject(timeout)
})

test('an answer that takes long and never falls silent is read whole', async () => {
  const url = await serve((_request, response) => {
    response.setHeader('x-kind', 'slow')
    const pieces = ['a', 'b', 'c', 'd', 'e']
    const write = (): void => {
      const piece = pieces.shift()
      if (piece === undefined) response.end()
      else response.write(piece, () => setTimeout(write, 100))
    }
    write()
  })
  const response = await createTimedFetch(fetch, 400)(url)
  expect([response.status, response.url, response.headers.get('x-kind')]).toEqual([200, url, 'slow'])
  expect(await response.text()).toBe('abcde')
})

test('a reader that takes its time is not the silence of the server', async () => {
  const url = await serve((_request, response) => void response.end('here'))
  const response = await createTimedFetch(fetch, 100)(url)
  await sleep(250)
  expect(await response.text()).toBe('here')
})

test('what the caller breaks off is the caller’s own error, and an answer without a body has none', async () => {
  const url = await serve((request, response) => void (request.url === '/none' ? response.writeHead(204).end() : {}))
  const timed = createTimedFetch(fetch, 5_000)
  const signal = AbortSignal.timeout(30)
  await expect(timed(url, { signal })).rejects.toMatchObject({ name: 'TimeoutError' })
  await expect(timed(new Request(url, { signal: AbortSignal.timeout(30) }))).rejects.toMatchObject({
    name: 'TimeoutError',
  })
  expect((await timed(`${url}none`)).body).toBeNull()
})

test('the timeout of a step’s fetch is switched off by a wait without end', () => {
  expect(createTimedFetch(fetch, Number.POSITIVE_INFINITY)).toBe(fetch)
})

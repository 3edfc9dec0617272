// The pinned fetch against real servers on this machine; which of its addresses count as public is the test's word.
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, type Server as TcpServer } from 'node:net'
import { gzipSync } from 'node:zlib'
import { afterEach, describe, expect, test } from 'vitest'
import { createUnpinnedFetch, isPublicAddress } from '../../../src/lib/index.ts'
import type { SafeFetchOptions, SafeFetchResult } from '../../../src/lib/safe-fetch-port.ts'
import { createPinnedFetch } from '../../../src/node/guarded-fetch.ts'

const closing: (Server | TcpServer)[] = []
const isPublic = (address: string): boolean => address === '127.0.0.1' || isPublicAddress(address)

afterEach(() => {
  for (const server of closing.splice(0)) {
    if ('closeAllConnections' in server) server.closeAllConnections()
    server.close()
  }
})

async function serve(listener: RequestListener): Promise<{ port: number; seen: IncomingMessage[] }> {
  const seen: IncomingMessage[] = []
  const server = createServer((request, response) => {
    seen.push(request)
    listener(request, response)
  })
  closing.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { port: (server.address() as AddressInfo).port, seen }
}

type Names = Readonly<Record<string, readonly string[]>>
const names: Names = { 'files.example.com': ['127.0.0.1'], 'other.example.com': ['127.0.0.1'] }

function ask(url: string, options: SafeFetchOptions = {}, given: Names = names): Promise<SafeFetchResult> {
  const guarded = createPinnedFetch({ isPublic, resolve: async (host) => given[host] ?? [] })
  return guarded.fetch(url, { origins: [new URL(url).origin], ...options })
}

async function textOf(outcome: SafeFetchResult): Promise<string> {
  return outcome.kind === 'answered' ? outcome.response.text() : expect.unreachable(JSON.stringify(outcome))
}

describe('the pinned fetch', () => {
  test('reaches the address it judged, under the name that was asked for', async () => {
    const { port, seen } = await serve((_, response) => response.end('bytes'))
    const outcome = await ask(`http://files.example.com:${port}/a?b=1`, { headers: { authorization: 'Bearer x' } })
    expect(await textOf(outcome)).toBe('bytes')
    expect(seen[0]?.headers).toMatchObject({ host: `files.example.com:${port}`, authorization: 'Bearer x' })
    expect(seen[0]?.url).toBe('/a?b=1')
  })

  test('asks once more right before the first byte whether it may leave, and sends nothing where it may not', async () => {
    const { port, seen } = await serve((_, response) => response.end('bytes'))
    const url = `http://files.example.com:${port}/`
    const body = { method: 'POST', body: 'words' } as const
    expect(await ask(url, { ...body, mayLeave: () => false })).toEqual({ kind: 'failed', reason: 'unreachable' })
    expect(
      await createUnpinnedFetch(fetch).fetch(url, { ...body, origins: [new URL(url).origin], mayLeave: () => false }),
    ).toEqual({
      kind: 'failed',
      reason: 'unreachable',
    })
    expect(seen).toEqual([])
    expect(await textOf(await ask(url, { ...body, mayLeave: () => true }))).toBe('bytes')
  })

  test('shows the name to a TLS server, and needs no second look at the resolver', async () => {
    const hello = Promise.withResolvers<string>()
    const server = createTcpServer((socket) => {
      socket.once('data', (bytes) => {
        hello.resolve(bytes.toString('latin1'))
        socket.destroy()
      })
    })
    closing.push(server)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const url = `https://files.example.com:${(server.address() as AddressInfo).port}/`
    expect(await ask(url)).toEqual({ kind: 'failed', reason: 'unreachable' })
    expect(await hello.promise).toContain('files.example.com')
  })

  test.each([
    [['::1']],
    [['192.168.0.1']],
    [['169.254.169.254']],
    [['8.8.8.8', '10.0.0.1']],
    [['fd00::1', '127.0.0.1']],
  ])('a name that stands for %s is refused', async (addresses) => {
    const { port, seen } = await serve((_, response) => response.end())
    const outcome = await ask(`http://files.example.com:${port}/`, {}, { 'files.example.com': addresses })
    expect(outcome).toEqual({ kind: 'refused', reason: 'address' })
    expect(seen).toEqual([])
  })

  test('a resolver that changes its answer after the judgement changes nothing', async () => {
    const { port, seen } = await serve((_, response) => response.end('the judged one'))
    const answers = [['127.0.0.1'], ['10.0.0.1']]
    let asked = 0
    const guarded = createPinnedFetch({ isPublic, resolve: async () => answers[asked++] ?? ['10.0.0.1'] })
    const origin = `http://files.example.com:${port}`
    expect(await textOf(await guarded.fetch(`${origin}/`, { origins: [origin] }))).toBe('the judged one')
    expect([asked, seen.length]).toEqual([1, 1])
    expect(await guarded.fetch(`${origin}/`, { origins: [origin] })).toEqual({ kind: 'refused', reason: 'address' })
  })

  test('a name nobody knows, and a port nobody listens on, are unreachable', async () => {
    expect(await ask('https://nowhere.example.com/')).toEqual({ kind: 'failed', reason: 'unreachable' })
    const { port } = await serve(() => {})
    for (const server of closing.splice(0)) server.close()
    expect(await ask(`http://files.example.com:${port}/`)).toEqual({ kind: 'failed', reason: 'unreachable' })
  })
})

describe('redirects', () => {
  const redirectTo = (location: string) =>
    serve((request, response) => {
      if (request.url === '/end') response.end('arrived')
      else response.writeHead(302, { location }).end()
    })

  test('SU-27 none is followed unless asked for', async () => {
    const { port, seen } = await redirectTo('/end')
    expect(await ask(`http://files.example.com:${port}/`)).toEqual({ kind: 'refused', reason: 'redirect' })
    expect(seen).toHaveLength(1)
  })

  test('to the same origin it is followed with what proves who we are', async () => {
    const { port, seen } = await redirectTo('/end')
    const outcome = await ask(`http://files.example.com:${port}/`, { maxRedirects: 1, headers: { Authorization: 'x' } })
    expect(await textOf(outcome)).toBe('arrived')
    expect(seen.map(({ headers }) => headers.authorization)).toEqual(['x', 'x'])
  })

  test.each([
    ['http://127.0.0.1:1/', 'scheme'],
    ['https://169.254.169.254/latest/meta-data', 'address'],
    ['https://[::1]/', 'address'],
    ['https://localhost/admin', 'address'],
    ['https://evil.example/', 'host'],
    ['file:///etc/passwd', 'scheme'],
    ['https://a:b@files.example.com/', 'credentials'],
  ])('to %s it is judged like the first: %s', async (location, reason) => {
    const { port } = await redirectTo(location)
    const hosts = ['files.example.com', '127.0.0.1', '169.254.169.254', '[::1]', 'localhost']
    const outcome = await ask(`http://files.example.com:${port}/`, { maxRedirects: 3, hosts })
    expect(outcome).toEqual({ kind: 'refused', reason })
  })

  test('what the operator wrote down cannot be reached by being sent there', async () => {
    const own = await serve((_, response) => response.end('our own admin page'))
    const { port } = await redirectTo(`http://127.0.0.1:${own.port}/admin`)
    const origins = [`http://files.example.com:${port}`, `http://127.0.0.1:${own.port}`]
    const outcome = await ask(`http://files.example.com:${port}/`, { maxRedirects: 3, origins })
    expect(outcome).toEqual({ kind: 'refused', reason: 'scheme' })
    expect(own.seen).toEqual([])
  })

  test('a ring of them ends after three, and an upload follows none', async () => {
    const { port, seen } = await redirectTo('/again')
    const url = `http://files.example.com:${port}/`
    expect(await ask(url, { maxRedirects: 50 })).toEqual({ kind: 'refused', reason: 'redirect' })
    expect(seen).toHaveLength(4)
    const posted = await ask(url, { maxRedirects: 3, method: 'POST', body: 'x' })
    expect(posted).toEqual({ kind: 'refused', reason: 'redirect' })
    expect(seen).toHaveLength(5)
  })
})

describe('bounds', () => {
  test('headers that do not come are waited for so long and no longer', async () => {
    const { port } = await serve(() => {})
    const outcome = await ask(`http://files.example.com:${port}/`, { timeoutMs: 50 })
    expect(outcome).toEqual({ kind: 'failed', reason: 'timeout' })
    const aborted = await ask(`http://files.example.com:${port}/`, { signal: AbortSignal.timeout(20) })
    expect(aborted).toEqual({ kind: 'failed', reason: 'aborted' })
  })

  test('so is a resolver that does not answer', async () => {
    const guarded = createPinnedFetch({ resolve: () => new Promise(() => {}) })
    const outcome = await guarded.fetch('https://files.example.com/', { timeoutMs: 20 })
    expect(outcome).toEqual({ kind: 'failed', reason: 'timeout' })
  })

  test('a body whose headers came in time may take longer', async () => {
    const { port } = await serve((_, response) => {
      response.write('slow')
      setTimeout(() => response.end(' body'), 120)
    })
    const outcome = await ask(`http://files.example.com:${port}/`, { timeoutMs: 60 })
    expect(await textOf(outcome)).toBe('slow body')
  })

  test('an endless body is read up to the limit; one that announces too much is not read', async () => {
    const { port } = await serve((request, response) => {
      if (request.url === '/announced') response.writeHead(200, { 'content-length': '5000' }).end('x'.repeat(5000))
      else response.writeHead(200).once('close', () => clearInterval(timer))
      const timer = setInterval(() => response.writable && response.write('x'.repeat(300)), 1)
      if (request.url === '/announced') clearInterval(timer)
    })
    const url = `http://files.example.com:${port}`
    expect(await ask(`${url}/announced`, { maxBytes: 4999 })).toEqual({ kind: 'refused', reason: 'too_large' })
    expect(await textOf(await ask(`${url}/announced`, { maxBytes: 5000 }))).toHaveLength(5000)
    await expect(ask(`${url}/endless`, { maxBytes: 1000 }).then(textOf)).rejects.toMatchObject({ code: 'bad_request' })
  })

  test('what is packed is counted unpacked, piece by piece', async () => {
    const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024))
    const { port } = await serve((request, response) => {
      const encoding = request.url === '/br' ? 'br' : 'gzip'
      const body = request.url === '/bomb' ? bomb : gzipSync('small')
      response.writeHead(200, { 'content-encoding': encoding, 'content-length': body.length }).end(body)
    })
    const url = `http://files.example.com:${port}`
    expect(await textOf(await ask(`${url}/small`))).toBe('small')
    const outcome = await ask(`${url}/bomb`, { maxBytes: 1024 * 1024 })
    await expect(textOf(outcome)).rejects.toMatchObject({ code: 'bad_request' })
    expect(await ask(`${url}/br`)).toEqual({ kind: 'refused', reason: 'encoding' })
  })
})

describe('the unpinned fetch', () => {
  test('follows nothing and takes no address, on whatever fetch it stands', async () => {
    const { port, seen } = await serve((_, response) => response.writeHead(302, { location: '/end' }).end())
    const unpinned = createUnpinnedFetch(fetch)
    expect(unpinned.pins).toBe(false)
    const origin = `http://127.0.0.1:${port}`
    const outcome = await unpinned.fetch(`${origin}/`, { origins: [origin], maxRedirects: 3 })
    expect(outcome).toEqual({ kind: 'refused', reason: 'redirect' })
    expect(await unpinned.fetch(`${origin}/`)).toEqual({ kind: 'refused', reason: 'scheme' })
    expect(seen).toHaveLength(1)
  })

  test('a failed request says nothing of its address', async () => {
    const broken: typeof fetch = () => Promise.reject(new TypeError('cannot reach https://secret.example/?token=t'))
    const outcome = await createUnpinnedFetch(broken).fetch('https://secret.example/?token=t')
    expect(outcome).toEqual({ kind: 'failed', reason: 'unreachable' })
  })
})

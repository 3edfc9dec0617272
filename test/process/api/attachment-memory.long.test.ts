// A large file through the real program: up by the API, down by its handle, and the process hardly grows.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ParleyProcess, startParley } from '../../doubles/parley-process.ts'

const mebibyte = 1024 * 1024
const chunkBytes = 64 * 1024
/** The promise is 40 MB; whoever holds the whole file, if only once, fails here. */
const maxGrowthKb = 15 * 1024

/** Collects all the time, once it is told to: what is measured is what is held, and not what the collector has not got round to. */
const collecting = `
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc')
process.on('SIGUSR2', () => setInterval(collect, 100).unref())
export default {}
`

let dataDir: string
let parley: ParleyProcess

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'parley-memory-'))
  await writeFile(join(dataDir, 'parley.config.mjs'), collecting)
  parley = await startParley({ dataDir })
})
afterAll(async () => {
  await parley.stop()
  await rm(dataDir, { recursive: true, force: true, maxRetries: 10 })
})

/** Bytes that no two calls share, so that nothing is stored as the twin of something else. */
function* bytesOf(size: number, seed: number): Generator<Uint8Array> {
  for (let left = size; left > 0; left -= chunkBytes) {
    const chunk = new Uint8Array(Math.min(chunkBytes, left))
    chunk.fill((seed + left / chunkBytes) % 256)
    yield chunk
  }
}

type Sent = { readonly status: number; readonly body: { readonly url?: string; readonly error?: { remedy: string } } }

/** Streamed by ourselves: this process must not hold the file either, or it would be the measure of nothing. */
async function upload(size: number, seed: number): Promise<Sent & { readonly sha256: string }> {
  const hash = createHash('sha256')
  const head = Buffer.from('--b\r\ncontent-disposition: form-data; name="file"; filename="large.bin"\r\n\r\n')
  const tail = Buffer.from('\r\n--b--\r\n')
  const body = (async function* () {
    yield head
    for (const chunk of bytesOf(size, seed)) {
      hash.update(chunk)
      yield chunk
    }
    yield tail
  })()
  const response = await fetch(`${parley.url}/api/v1/agent/attachments`, {
    method: 'POST',
    headers: {
      'content-type': 'multipart/form-data; boundary=b',
      'content-length': String(head.length + size + tail.length),
    },
    // Node streams what it can iterate over, as long as it is told so; the types of the web know neither.
    body: body as unknown as BodyInit,
    ...{ duplex: 'half' },
  })
  return { status: response.status, body: (await response.json()) as Sent['body'], sha256: hash.digest('hex') }
}

async function download(url: string): Promise<string> {
  const hash = createHash('sha256')
  const { body } = await fetch(url)
  for await (const chunk of body ?? []) hash.update(chunk)
  return hash.digest('hex')
}

const residentKb = (): number =>
  Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${parley.pid}/status`, 'utf8'))?.[1])

/** The highest it was while `work` ran; looked at all the time. */
async function peakKb(work: () => Promise<unknown>): Promise<number> {
  let peak = 0
  let isOver = false
  const watching = (async () => {
    while (!isOver) {
      peak = Math.max(peak, residentKb())
      await new Promise((resolve) => setTimeout(resolve, 2))
    }
  })()
  await work().finally(() => {
    isOver = true
  })
  await watching
  return peak
}

const onLinux = test.skipIf(process.platform !== 'linux')

onLinux('25 MB go up and come down with hardly any extra memory', { timeout: 120_000 }, async () => {
  process.kill(parley.pid, 'SIGUSR2')
  for (const seed of [1, 2, 3, 4]) await download((await upload(4 * mebibyte, seed)).body.url ?? '')
  const before = residentKb()
  let sent: Awaited<ReturnType<typeof upload>> | undefined
  let sha256 = ''
  const up = await peakKb(async () => {
    sent = await upload(25 * mebibyte, 101)
  })
  const down = await peakKb(async () => {
    sha256 = await download(sent?.body.url ?? '')
  })
  expect([sent?.status, sha256]).toEqual([201, sent?.sha256])
  const [more, then] = [up, down].map((peak) => ((peak - before) / 1024).toFixed(1))
  process.stdout.write(`25 MB: ${more} MB more while going up, ${then} MB while coming down\n`)
  expect(Math.max(up, down) - before).toBeLessThan(maxGrowthKb)
})

test('26 MB are refused in words, with and without a declared length, and the connection is not left hanging', async () => {
  const { status, body } = await upload(26 * mebibyte, 4)
  expect([status, body.error?.remedy]).toEqual([413, 'the file is too large; send at most 25 MB (26214400 bytes)'])
  const answer = await undeclared(26 * mebibyte)
  expect(answer).toMatch(/^HTTP\/1\.1 413 /)
  expect(answer).toContain('send at most 25 MB')
  expect((await upload(1024, 5)).status).toBe(201)
})

/** A sender who does not say how long it will be, and who listens only when it is done. */
function undeclared(size: number): Promise<string> {
  const { hostname, port } = new URL(parley.url)
  const socket = connect(Number(port), hostname)
  let answer = ''
  socket.on('data', (data) => {
    answer += data.toString('latin1')
  })
  const send = async (): Promise<void> => {
    const chunk = (data: string | Uint8Array): Promise<void> =>
      new Promise((resolve) => {
        socket.write(`${Buffer.byteLength(data).toString(16)}\r\n`)
        socket.write(data)
        if (socket.write('\r\n')) resolve()
        else socket.once('drain', resolve)
      })
    socket.write(
      'POST /api/v1/agent/attachments HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n' +
        'content-type: multipart/form-data; boundary=b\r\ntransfer-encoding: chunked\r\n\r\n',
    )
    await chunk('--b\r\ncontent-disposition: form-data; name="file"; filename="large.bin"\r\n\r\n')
    for (const bytes of bytesOf(size, 6)) await chunk(bytes)
    await chunk('\r\n--b--\r\n')
    socket.write('0\r\n\r\n')
  }
  return new Promise((resolve, reject) => {
    socket.once('error', reject)
    socket.once('close', () => resolve(answer))
    send().catch(reject)
  })
}

// The S3 driver against a real server that checks signatures, and its signatures against Amazon's own signer.
import { createHash } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createS3Store, type S3StoreOptions } from '../../../src/files/drivers/s3.ts'
import { listSignedUrlOrigins, parseSignedUrl } from '../../../src/files/parse-signed-url.ts'
import { secret } from '../../../src/lib/secret.ts'
import { streamOf } from '../../doubles/attachment-service.ts'
import { blobStoreContract } from '../../unit/files/drivers/blob-store-contract.ts'
import { liveBytes } from '../../unit/files/drivers/live-bytes.ts'
import { describeBeside } from '../peer.ts'
import { isPresignedByAmazon, isSignedByAmazon } from './amazon-signer.ts'
import { type S3Server, s3Peers, startS3Server } from './s3-server.ts'

const mimeType = 'application/octet-stream'
const mebibyte = 1024 * 1024

function storeAt({ endpoint, bucket, account }: S3Server, changes: Partial<S3StoreOptions> = {}) {
  const { accessKeyId, secretAccessKey, region } = account
  const credentials = { accessKeyId, secretAccessKey: secret(secretAccessKey) }
  return createS3Store({ endpoint, bucket, region, ...credentials, fetch, ...changes })
}

/** Passes requests on and keeps them; `answer` may stand in for the server. */
function recording(answer: (request: Request) => Response | undefined = () => undefined) {
  const requests: Request[] = []
  const record: typeof fetch = async (url, init) => {
    const request = new Request(url as string, init)
    requests.push(request.clone() as Request)
    return answer(request) ?? fetch(url, init)
  }
  const lines = () => requests.map(({ method, url }) => [method, ...new URL(url).searchParams.keys()].join(' '))
  return { fetch: record, requests, lines }
}

describeBeside('S3', s3Peers, (peers) => {
  let server: S3Server
  beforeAll(async () => {
    server = await startS3Server(peers())
  })
  afterAll(() => server.close())

  blobStoreContract(
    'S3',
    async () => {
      const store = storeAt(server)
      const close = async () => {
        for (const key of await server.keys()) await store.remove(key)
      }
      return { store, everything: server.keys, close }
    },
    { liveBytes },
  )

  test('a server that knows another secret or region refuses us, or the suite would prove nothing', async () => {
    for (const changes of [{ secretAccessKey: secret('S3RVEr') }, { accessKeyId: 'NOBODY' }]) {
      const failure = storeAt(server, changes).write('agent-inputs/a.bin', streamOf('bytes'), { mimeType })
      await expect(failure).rejects.toMatchObject({ code: 'storage_unavailable', details: { status: 403 } })
    }
    expect(await server.keys()).toEqual([])
  })

  test('every request is signed as Amazon signs, the hash of its body included', async () => {
    const network = recording()
    const store = storeAt(server, { fetch: network.fetch })
    await store.write('agent-inputs/a.bin', streamOf(new Uint8Array(9 * mebibyte).fill(1)), { mimeType })
    await store.read('agent-inputs/a.bin', { start: 5, end: 9 }).then((body) => body?.cancel())
    await store.remove('agent-inputs/a.bin')
    expect(network.lines()).toEqual([
      'POST uploads',
      'PUT partNumber uploadId',
      'PUT partNumber uploadId',
      'POST uploadId',
      'GET',
      'DELETE',
    ])
    for (const request of network.requests) {
      expect(await isSignedByAmazon(peers().signer, server.account, request)).toBe(true)
      const body = new Uint8Array(await request.arrayBuffer())
      expect(request.headers.get('x-amz-content-sha256')).toBe(createHash('sha256').update(body).digest('hex'))
    }
  })

  test('the bucket may be part of the host, and is signed as such', async () => {
    const network = recording(() => new Response())
    const store = storeAt(server, { fetch: network.fetch, endpoint: 'https://s3.example', isPathStyle: false })
    await store.write('agent-inputs/a.bin', streamOf('bytes'), { mimeType })
    expect(network.requests.map(({ url }) => url)).toEqual(['https://agent-files.s3.example/agent-inputs/a.bin'])
    const [request = new Request('https://none.example')] = network.requests
    expect(await isSignedByAmazon(peers().signer, server.account, request)).toBe(true)
  })

  test('an upload that fails is given up at the store, and nothing of it is visible', async () => {
    const network = recording(({ url }) =>
      url.includes('partNumber=2&') ? new Response('<Error/>', { status: 503 }) : undefined,
    )
    const store = storeAt(server, { fetch: network.fetch })
    const body = streamOf(new Uint8Array(20 * mebibyte))
    await expect(store.write('agent-inputs/a.bin', body, { mimeType })).rejects.toMatchObject({
      code: 'storage_unavailable',
      retryable: true,
    })
    expect(network.lines()).toEqual([
      'POST uploads',
      'PUT partNumber uploadId',
      'PUT partNumber uploadId',
      'DELETE uploadId',
      'DELETE',
    ])
    expect(await server.keys()).toEqual([])
  })

  test('an upload that the store takes back at its end has failed', async () => {
    const network = recording((request) =>
      request.method === 'POST' && request.url.includes('uploadId=')
        ? new Response('<Error><Code>InternalError</Code></Error>')
        : undefined,
    )
    const body = streamOf(new Uint8Array(9 * mebibyte))
    const failure = storeAt(server, { fetch: network.fetch }).write('agent-inputs/a.bin', body, { mimeType })
    await expect(failure).rejects.toMatchObject({ code: 'storage_unavailable' })
  })

  test('a URL it signs is good for that object and says what a browser may do', async () => {
    const store = storeAt(server)
    await store.write('agent-inputs/a.html', streamOf('<p>hi'), { mimeType })
    const url = (await store.signUrl?.('agent-inputs/a.html', 60)) ?? ''
    expect(await isPresignedByAmazon(peers().signer, server.account, url)).toBe(true)
    const response = await fetch(url)
    expect([response.status, response.headers.get('content-disposition')]).toEqual([200, 'attachment'])
    expect(await response.text()).toBe('<p>hi')
    expect((await fetch(url.replace('a.html', 'b.html'))).status).toBe(403)
    expect((await fetch(url.replace('=attachment', '=inline'))).status).toBe(403)
    // Read back by our own rules, as if it had come from elsewhere.
    const urls = { hosts: ['s3.example'], form: 's3' } as const
    const places = listSignedUrlOrigins([{ name: 's3', bucket: 'agent-files', urls }], 'https://own.example', [
      'agent-inputs/',
    ])
    const address = { kind: 'parsed', store: 's3', bucket: 'agent-files', path: 'agent-inputs/a.html' }
    expect(parseSignedUrl(url.replace(server.endpoint, 'https://s3.example'), places)).toMatchObject(address)
  })
})

// The Supabase driver against a server on loopback.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { BlobStore } from '../../../../src/files/blob-store.ts'
import { createSupabaseStore } from '../../../../src/files/drivers/supabase.ts'
import { secret } from '../../../../src/lib/secret.ts'
import { bytesOf, streamOf } from '../../../doubles/attachment-service.ts'
import { type SupabaseServer, startSupabaseServer } from '../../../doubles/supabase-server.ts'
import { blobStoreContract } from './blob-store-contract.ts'
import { liveBytes } from './live-bytes.ts'

const mimeType = 'text/plain; charset=utf-8'

function storeAt(server: SupabaseServer, key = server.key): BlobStore {
  return createSupabaseStore({ projectUrl: server.url, key: secret(key), bucket: server.bucket, fetch })
}

blobStoreContract(
  'Supabase Storage',
  async () => {
    const server = await startSupabaseServer()
    return {
      store: storeAt(server),
      everything: server.everything,
      close: async () => {
        await server.close()
        expect(server.undeclared).toEqual([])
      },
    }
  },
  { liveBytes },
)

describe('a Supabase bucket', () => {
  let server: SupabaseServer
  beforeEach(async () => {
    server = await startSupabaseServer()
  })
  afterEach(() => server.close())

  test('is told the type of a small file and of a large one', async () => {
    const store = storeAt(server)
    await store.write('agent-inputs/small.txt', streamOf('x'), { mimeType })
    await store.write('agent-inputs/large.txt', streamOf(new Uint8Array(7 * 1024 * 1024)), { mimeType })
    expect([...server.types]).toEqual([
      ['agent-files/agent-inputs/small.txt', mimeType],
      ['agent-files/agent-inputs/large.txt', mimeType],
    ])
  })

  test('signs a URL that a browser may follow, and that saves what is no picture', async () => {
    const store = storeAt(server)
    await store.write('agent-inputs/a.html', streamOf('<p>hi'), { mimeType: 'application/octet-stream' })
    const url = (await store.signUrl?.('agent-inputs/a.html', 60)) ?? ''
    expect(url.startsWith(`${server.url}/storage/v1/object/sign/agent-files/agent-inputs/a.html?token=`)).toBe(true)
    const response = await fetch(url)
    expect([response.status, response.headers.get('content-disposition'), await response.text()]).toEqual([
      200,
      'attachment;',
      '<p>hi',
    ])
  })

  test('overwrites nothing', async () => {
    const store = storeAt(server)
    await store.write('agent-inputs/a.txt', streamOf('first'), { mimeType })
    await expect(store.write('agent-inputs/a.txt', streamOf('second'), { mimeType })).rejects.toMatchObject({
      code: 'storage_unavailable',
    })
    expect(await bytesOf(await store.read('agent-inputs/a.txt'))).toEqual(new TextEncoder().encode('first'))
  })

  const acts = {
    write: (store: BlobStore) => store.write('agent-inputs/a.txt', streamOf('x'), { mimeType }),
    'write in parts': (store: BlobStore) =>
      store.write('agent-inputs/a.txt', streamOf(new Uint8Array(7 * 1024 * 1024)), { mimeType }),
    read: (store: BlobStore) => store.read('agent-inputs/a.txt'),
    remove: (store: BlobStore) => store.remove('agent-inputs/a.txt'),
    sign: async (store: BlobStore) => store.signUrl?.('agent-inputs/a.txt', 60),
  }
  test.each(Object.entries(acts))(
    'that fails is an error to try again, without key or place: %s',
    async (_name, act) => {
      for (const prepare of [() => server.failWith(503), () => server.failWith(302), () => server.close()]) {
        await prepare()
        const failure = await act(storeAt(server)).catch((error: unknown) => error)
        expect(failure).toMatchObject({ code: 'storage_unavailable', retryable: true })
        const told = JSON.stringify(failure, Object.getOwnPropertyNames(failure))
        for (const word of [server.key, '127.0.0.1', 'agent-inputs']) expect(told).not.toContain(word)
      }
    },
  )

  test('that knows our key no more says so', async () => {
    const failure = await acts.write(storeAt(server, 'sb_secret_old')).catch((error: unknown) => error)
    expect(failure).toMatchObject({ code: 'storage_unavailable' })
    expect(await acts.read(storeAt(server, 'sb_secret_old')).catch(() => 'refused')).toBe('refused')
  })
})

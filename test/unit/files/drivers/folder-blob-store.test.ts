// The folder driver: the kit, and what only a file system can do to us.
import { mkdir, mkdtemp, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { BlobStore } from '../../../../src/files/blob-store.ts'
import { createFolderStore } from '../../../../src/node/folder-blob-store.ts'
import { bytesOf, streamOf } from '../../../doubles/attachment-service.ts'
import { blobStoreContract } from './blob-store-contract.ts'
import { liveBytes } from './live-bytes.ts'

const mimeType = 'text/plain'

async function filesBelow(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  return entries.flatMap((entry) => (entry.isFile() ? [join(entry.parentPath, entry.name)] : []))
}

blobStoreContract(
  'a folder',
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'parley-blobs-'))
    return {
      store: await createFolderStore({ folder }),
      everything: () => filesBelow(folder),
      close: () => rm(folder, { recursive: true, force: true }),
    }
  },
  { liveBytes },
)

describe('a folder of files', () => {
  let folder: string
  let store: BlobStore
  const root = () => join(folder, 'agent-files')
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'parley-blobs-'))
    store = await createFolderStore({ folder })
  })
  afterEach(() => rm(folder, { recursive: true, force: true }))

  test('is closed to other users', async () => {
    await store.write('agent-inputs/a.txt', streamOf('secret'), { mimeType })
    const modes = await Promise.all(
      [root(), join(root(), 'agent-inputs'), join(root(), 'agent-inputs/a.txt')].map(
        async (path) => (await stat(path)).mode & 0o777,
      ),
    )
    expect(modes).toEqual([0o700, 0o700, 0o600])
  })

  test('follows no link, neither to read nor to write nor to remove', async () => {
    const outside = join(folder, 'outside')
    await mkdir(outside)
    await writeFile(join(outside, 'a.txt'), 'of somebody else')
    await symlink(outside, join(root(), 'linked'))
    await symlink(join(outside, 'a.txt'), join(root(), 'a.txt'))
    expect(await store.read('linked/a.txt')).toBeUndefined()
    expect(await store.read('a.txt')).toBeUndefined()
    await expect(store.write('linked/b.txt', streamOf('x'), { mimeType })).rejects.toMatchObject({
      code: 'storage_unavailable',
    })
    await store.remove('linked/a.txt')
    expect(await readdir(outside)).toEqual(['a.txt'])
  })

  test('does not write through a link that stands where its draft goes', async () => {
    const victim = join(folder, 'victim.txt')
    await writeFile(victim, 'untouched')
    await symlink(victim, join(root(), '.a.txt.part'))
    await expect(store.write('a.txt', streamOf('x'), { mimeType })).rejects.toMatchObject({
      code: 'storage_unavailable',
    })
    expect((await stat(victim)).size).toBe('untouched'.length)
  })

  test('removes what a process that died left of a key', async () => {
    await writeFile(join(root(), '.a.txt.part'), 'half')
    await store.remove('a.txt')
    expect(await filesBelow(root())).toEqual([])
  })

  test('shows a file under its key only when all of it is there', async () => {
    const gate = Promise.withResolvers<void>()
    const body = new ReadableStream<Uint8Array>({
      async pull(controller) {
        controller.enqueue(new TextEncoder().encode('whole'))
        await gate.promise
        controller.close()
      },
    })
    const writing = store.write('a.txt', body, { mimeType })
    await vi.waitFor(async () => expect((await stat(join(root(), '.a.txt.part'))).size).toBe(5))
    expect(await store.read('a.txt')).toBeUndefined()
    gate.resolve()
    await writing
    expect(new TextDecoder().decode(await bytesOf(await store.read('a.txt')))).toBe('whole')
  })

  test('says what is wrong without naming the place', async () => {
    await rm(root(), { recursive: true })
    await writeFile(root(), 'a file where the folder was')
    const failure = await store
      .write('agent-inputs/a.txt', streamOf('x'), { mimeType })
      .catch((error: unknown) => error)
    expect(failure).toMatchObject({ code: 'storage_unavailable', retryable: true })
    expect(String(failure)).not.toContain(folder)
  })
})

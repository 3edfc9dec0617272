// The floor of free disk on a real disk: what there is room for, and what an upload is told where there is none.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { afterAll, expect, test } from 'vitest'
import { createFolderStore, createFreeSpaceCheck } from '../../../src/node/folder-blob-store.ts'
import { canMountDisks, mountSmallDisk } from '../../doubles/full-disk.ts'

const folders: string[] = []
const folder = async (): Promise<string> => {
  const made = await mkdtemp(`${tmpdir()}/parley-room-`)
  folders.push(made)
  return made
}
afterAll(() => Promise.all(folders.map((each) => rm(each, { recursive: true, force: true }))))

type DiskConfig = Parameters<typeof createFreeSpaceCheck>[0]
const config = (dataDir: string, disk: DiskConfig['disk'] = {}): DiskConfig => ({
  dataDir,
  disk,
  databaseUrl: undefined,
  attachments: { store: undefined } as DiskConfig['attachments'],
})
const far = Number.MAX_SAFE_INTEGER

test('a floor above what is free is low, or full', async () => {
  const dataDir = await folder()
  expect(await createFreeSpaceCheck(config(dataDir, { lowBytes: 0 }))?.()).toBeUndefined()
  expect(await createFreeSpaceCheck(config(dataDir, { lowBytes: far, fullBytes: 0 }))?.()).toBe('low')
  expect(await createFreeSpaceCheck(config(dataDir, { lowBytes: far, fullBytes: far }))?.()).toBe('full')
})

test('a file is refused by name where the disk is full, and nothing of it is written', async () => {
  const store = await createFolderStore({ folder: await folder(), room: async () => 'full' })
  const written = store.write('agent-inputs/a.bin', new Blob(['bytes']).stream(), { mimeType: 'text/plain' })
  await expect(written).rejects.toMatchObject({ code: 'storage_full', retryable: true })
  expect(await store.read('agent-inputs/a.bin')).toBeUndefined()
})

test.skipIf(!canMountDisks())(
  'by default a small disk is low below a twentieth, and full below a quarter of that',
  async () => {
    const disk = mountSmallDisk(40)
    try {
      expect(await createFreeSpaceCheck(config(disk.folder))?.()).toBeUndefined()
      disk.fill()
      expect(await createFreeSpaceCheck(config(disk.folder))?.()).toBe('full')
      disk.makeRoom()
      expect(await createFreeSpaceCheck(config(disk.folder))?.()).toBeUndefined()
    } finally {
      disk.remove()
    }
  },
)

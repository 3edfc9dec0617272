// What every place for bytes must do, whatever it is made of. Runs on Node and in workerd.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { BlobStore } from '../../../../src/files/blob-store.ts'

export type StoreUnderTest = {
  readonly store: BlobStore
  /** Names of everything the place holds, unfinished things included. */
  readonly everything: () => Promise<readonly string[]>
  readonly close: () => Promise<void>
}

export type ContractOptions = {
  /** Bytes that cannot be collected now; absent where the runtime does not tell. */
  readonly liveBytes?: () => Promise<number>
}

const mebibyte = 1024 * 1024
const mimeType = 'application/octet-stream'
const outsideKeys = [
  '',
  '..',
  '../x',
  '/etc/passwd',
  'a//b',
  'a/../b',
  'a/./b',
  'a/.hidden',
  'a\\b',
  'a%2fb',
  'a b',
  'a\nb',
  'ä',
]

/** Differs from byte to byte and from part to part, so that no part can be lost or swapped unseen. */
function byteAt(index: number): number {
  return (index * 31 + (index >>> 16) * 7) & 0xff
}

function patterned(
  size: number,
  chunkBytes = 64 * 1024,
  between: (given: number) => void | Promise<void> = () => {},
): ReadableStream<Uint8Array> {
  let given = 0
  return new ReadableStream(
    {
      async pull(controller) {
        await between(given)
        if (given >= size) return controller.close()
        const start = given
        given = Math.min(size, start + chunkBytes)
        const chunk = new Uint8Array(given - start)
        for (let index = 0; index < chunk.length; index += 1) chunk[index] = byteAt(start + index)
        controller.enqueue(chunk)
      },
    },
    { highWaterMark: 0 },
  )
}

/** Reads a stream to its end against the pattern; how long it was. */
async function lengthIfPatterned(stream: ReadableStream<Uint8Array> | undefined, start = 0): Promise<number> {
  const reader = stream?.getReader()
  if (reader === undefined) throw new Error('there is no such object')
  let length = 0
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    const at = start + length
    const wrong = read.value.findIndex((byte, index) => byte !== byteAt(at + index))
    if (wrong >= 0) throw new Error(`byte ${at + wrong} is not the one that was written`)
    length += read.value.byteLength
  }
  return length
}

export function blobStoreContract(
  name: string,
  open: () => Promise<StoreUnderTest>,
  { liveBytes }: ContractOptions = {},
): void {
  describe(`a blob store: ${name}`, () => {
    let scene: StoreUnderTest
    beforeEach(async () => {
      scene = await open()
    })
    afterEach(() => scene.close())

    const sizes = [1, 64 * 1024, 5 * mebibyte + 1, 6 * mebibyte, 8 * mebibyte, 16 * mebibyte, 16 * mebibyte + 1]
    test.each(sizes)('reads back a file of %i bytes as it was written', async (size) => {
      const { store } = scene
      await store.write('agent-inputs/a.bin', patterned(size, 100_000), { mimeType })
      expect(await lengthIfPatterned(await store.read('agent-inputs/a.bin'))).toBe(size)
    })

    test('reads a part of a file, both ends included', async () => {
      const { store } = scene
      await store.write('agent-inputs/a.bin', patterned(300_000), { mimeType })
      const ranges = [
        { start: 0, end: 0 },
        { start: 65_530, end: 131_080 },
        { start: 299_999, end: 299_999 },
      ]
      for (const range of ranges) {
        const length = await lengthIfPatterned(await store.read('agent-inputs/a.bin', range), range.start)
        expect(length).toBe(range.end - range.start + 1)
      }
    })

    test('knows when there is no such file, and removing none is no failure', async () => {
      const { store } = scene
      expect(await store.read('agent-inputs/none.bin')).toBeUndefined()
      expect(await store.read('agent-inputs/none.bin', { start: 0, end: 9 })).toBeUndefined()
      await store.remove('agent-inputs/none.bin')
    })

    test('removes a file and nothing else', async () => {
      const { store } = scene
      await store.write('agent-inputs/a.bin', patterned(10), { mimeType })
      await store.write('agent-inputs/ab.bin', patterned(20), { mimeType })
      await store.remove('agent-inputs/a.bin')
      expect(await store.read('agent-inputs/a.bin')).toBeUndefined()
      expect(await lengthIfPatterned(await store.read('agent-inputs/ab.bin'))).toBe(20)
    })

    test.each([200_000, 20 * mebibyte])('keeps nothing of a body that breaks off after %i bytes', async (size) => {
      const { store, everything } = scene
      const before = await everything()
      const broken = patterned(size * 2, 64 * 1024, (given) => {
        if (given >= size) throw new Error('the sender went away')
      })
      await expect(store.write('agent-inputs/a.bin', broken, { mimeType })).rejects.toThrow()
      expect(await store.read('agent-inputs/a.bin')).toBeUndefined()
      expect(await everything()).toEqual(before)
    })

    test('lets go of a file whose reader goes away', async () => {
      const { store } = scene
      await store.write('agent-inputs/a.bin', patterned(mebibyte), { mimeType })
      const reader = (await store.read('agent-inputs/a.bin'))?.getReader()
      expect((await reader?.read())?.done).toBe(false)
      await reader?.cancel()
      await store.remove('agent-inputs/a.bin')
      expect(await store.read('agent-inputs/a.bin')).toBeUndefined()
    })

    test.each(outsideKeys)('takes no key that could lead elsewhere: %j', async (key) => {
      const { store, everything } = scene
      const before = await everything()
      // A driver may refuse at once or later; both are refusals.
      const refusedBy = async (work: () => Promise<unknown>) => work()
      await expect(refusedBy(() => store.write(key, patterned(1), { mimeType }))).rejects.toMatchObject({
        code: 'bad_request',
      })
      await expect(refusedBy(() => store.read(key))).rejects.toMatchObject({ code: 'bad_request' })
      await expect(refusedBy(() => store.remove(key))).rejects.toMatchObject({ code: 'bad_request' })
      expect(await everything()).toEqual(before)
    })

    if (liveBytes === undefined) return
    // Larger than any file we take: who held all of it would hold 64 MiB, and the bound is that of the whole journey.
    test('holds less than 40 MB of a file of 64 MiB at any time, up and down', { timeout: 120_000 }, async () => {
      const { store } = scene
      const [size, step] = [64 * mebibyte, 16 * mebibyte]
      const before = await liveBytes()
      let peak = 0
      const look = async (passed: number) => {
        if (passed % step === 0) peak = Math.max(peak, (await liveBytes()) - before)
      }
      await store.write('agent-inputs/a.bin', patterned(size, 64 * 1024, look), { mimeType })
      const reader = (await store.read('agent-inputs/a.bin'))?.getReader()
      let length = 0
      for (let read = await reader?.read(); read?.done === false; read = await reader?.read()) {
        const steps = Math.floor(length / step)
        length += read.value.byteLength
        if (Math.floor(length / step) > steps) await look(0)
      }
      expect(length).toBe(size)
      expect(peak).toBeLessThan(40_000_000)
    })
  })
}

// Tar archives of ours: read back as they were written, by us and by the system's own tar.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createTarWriter, readTar } from '../../../../src/node/backup/tar.ts'

const longName = `files/${'a-folder-with-a-long-name/'.repeat(8)}end.bin`
const entries: readonly (readonly [string, Buffer])[] = [
  ['manifest.json', Buffer.from('{"format":1}')],
  ['empty', Buffer.alloc(0)],
  ['exactly-one-block', Buffer.alloc(512, 7)],
  [longName, Buffer.alloc(1500, 1)],
  ['after.txt', Buffer.from('after')],
]

async function archive(list = entries): Promise<Buffer> {
  const pieces: Buffer[] = []
  const tar = createTarWriter(async (bytes) => void pieces.push(Buffer.from(bytes)), new Date(0))
  for (const [name, body] of list) await tar.add(name, body.length, [body])
  await tar.finish()
  return Buffer.concat(pieces)
}

async function* sliced(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

async function read(source: AsyncIterable<Buffer>): Promise<[string, Buffer][]> {
  const found: [string, Buffer][] = []
  for await (const { name, body } of readTar(source)) {
    const pieces: Buffer[] = []
    for await (const piece of body) pieces.push(piece)
    found.push([name, Buffer.concat(pieces)])
  }
  return found
}

describe('a tar archive', () => {
  test.each([1, 511, 512, 513, 100_000])('is read back as it was written, in pieces of %i bytes', async (size) => {
    expect(await read(sliced(await archive(), size))).toEqual(entries)
  })

  test('goes on at the next entry when one was not read, or read in part', async () => {
    const names: string[] = []
    for await (const { name, body } of readTar(sliced(await archive(), 100))) {
      names.push(name)
      if (name === longName) await body[Symbol.asyncIterator]().next()
    }
    expect(names).toEqual(entries.map(([name]) => name))
  })

  test('that is cut off anywhere is refused', async () => {
    const whole = await archive()
    for (const length of [0, 100, 512, 530, 1600, whole.length - 1024]) {
      await expect(read(sliced(whole.subarray(0, length), 512)), `cut at ${length}`).rejects.toThrow('ends too early')
    }
  })

  test('with a damaged header is refused', async () => {
    const whole = await archive()
    whole[3] = 33
    await expect(read(sliced(whole, 512))).rejects.toThrow('damaged')
  })

  test('is not written with a body of another size than was said', async () => {
    const tar = createTarWriter(async () => {}, new Date(0))
    await expect(tar.add('short', 3, [Buffer.from('ab')])).rejects.toThrow('changed its size')
    await expect(tar.add('long', 3, [Buffer.from('abcd')])).rejects.toThrow('changed its size')
  })

  test('is taken by the tar of the system, which makes ones that we take', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'parley-tar-'))
    try {
      writeFileSync(join(folder, 'ours.tar'), await archive())
      execFileSync('tar', ['-xf', 'ours.tar'], { cwd: folder })
      expect(readFileSync(join(folder, longName))).toEqual(Buffer.alloc(1500, 1))
      execFileSync('tar', ['--format=ustar', '-cf', 'theirs.tar', 'manifest.json', longName, 'after.txt'], {
        cwd: folder,
      })
      const names = (await read(sliced(readFileSync(join(folder, 'theirs.tar')), 4096))).map(([name]) => name)
      expect(names).toEqual(['manifest.json', longName, 'after.txt'])
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })
})

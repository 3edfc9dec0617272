// The file a backup is written to: compressed, under a name of its own until it is whole and on the disk.
import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'

/** Most of what a better level would save is text that is stored twice already. */
const gzipLevel = 4

export type Sink = {
  readonly write: (bytes: Buffer) => Promise<void>
  /** On the disk when it resolves. */
  readonly finish: () => Promise<void>
  readonly close: () => Promise<void>
}

/** Only its owner may read it: it holds what people said, and the key to the credentials. */
export function openBackupSink(path: string): Sink {
  const gzip = createGzip({ level: gzipLevel })
  const written = pipeline(gzip, createWriteStream(path, { flags: 'wx', mode: 0o600, flush: true }))
  written.catch(() => {})
  return {
    async write(bytes) {
      if (gzip.destroyed) await written
      if (!gzip.write(bytes)) await Promise.race([once(gzip, 'drain'), written])
    },
    async finish() {
      gzip.end()
      await written
    },
    async close() {
      gzip.destroy()
      await written.catch(() => {})
    },
  }
}

/** A rename is durable once its folder is. */
export async function fsyncFolder(folder: string): Promise<void> {
  const handle = await open(folder)
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

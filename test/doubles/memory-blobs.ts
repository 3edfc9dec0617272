// A blob store in memory, whose objects a test can look at.

import type { BlobStore } from '../../src/files/blob-store.ts'
import type { RuntimeFiles } from '../../src/gateway/attachments.ts'

export type MemoryBlobs = RuntimeFiles & { readonly objects: Map<string, Uint8Array> }

export function memoryBlobs(origin = 'https://parley.example'): MemoryBlobs {
  const objects = new Map<string, Uint8Array>()
  const store: BlobStore = {
    name: 'memory',
    bucket: 'agent-files',
    async write(key, body) {
      objects.set(
        key,
        new Uint8Array(await new Response(body as ReadableStream<Uint8Array<ArrayBuffer>>).arrayBuffer()),
      )
    },
    async read(key, range) {
      const bytes = objects.get(key)
      if (bytes === undefined) return undefined
      const part = range === undefined ? bytes : bytes.subarray(range.start, range.end + 1)
      return new Blob([Uint8Array.from(part)]).stream()
    },
    remove: async (key) => void objects.delete(key),
  }
  return { stores: [store], origin, objects }
}

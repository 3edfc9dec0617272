// A place for bytes in this process: a blob store that forgets, and that a test can look into.
import type { BlobStore } from '../../src/attachments/blob-store.ts'

export type MemoryBlobs = BlobStore & { readonly objects: Map<string, Uint8Array> }

export function memoryBlobs(name = 'memory', bucket = 'agent-files'): MemoryBlobs {
  const objects = new Map<string, Uint8Array>()
  return {
    name,
    bucket,
    objects,
    async write(key, body) {
      objects.set(key, new Uint8Array(await new Response(body).arrayBuffer()))
    },
    async read(key, range) {
      const bytes = objects.get(key)
      if (bytes === undefined) return undefined
      const asked = range === undefined ? bytes : bytes.subarray(range.start, range.end + 1)
      return new ReadableStream({
        start(controller) {
          controller.enqueue(asked)
          controller.close()
        },
      })
    },
    async remove(key) {
      objects.delete(key)
    },
  }
}

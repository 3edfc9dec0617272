// A desk on a real folder with rows in memory.
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { IncomingFile } from '../../src/files/attachment.ts'
import { type AttachmentServiceDeps, createAttachmentService } from '../../src/files/attachment-service.ts'
import { createFolderStore } from '../../src/node/folder-blob-store.ts'
import { memoryKeys, memoryRows } from './memory-attachments.ts'

export type TestDesk = Awaited<ReturnType<typeof openTestDesk>>

export const ann = { principal: 'person:ann', threadId: null } as const
const origin = { receivedVia: 'api', nativeId: null } as const

export async function openTestDesk(changes: Partial<AttachmentServiceDeps> = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'parley-files-'))
  const rows = memoryRows()
  const keys = memoryKeys()
  const clock = { nowMs: Date.parse('2026-11-17T12:00:00Z') }
  const lines: string[] = []
  const note = (event: string, facts?: unknown) => void lines.push(JSON.stringify([event, facts]))
  const desk = createAttachmentService({
    tenant: 'default',
    attachments: rows,
    keys,
    stores: [await createFolderStore({ folder })],
    publicOrigin: 'https://parley.example',
    newId: () => crypto.randomUUID(),
    now: () => clock.nowMs,
    log: { info: note, warn: note, error: note },
    ...changes,
  })
  return {
    desk,
    rows,
    keys,
    clock,
    lines,
    folder,
    objects: async () =>
      (await readdir(folder, { recursive: true, withFileTypes: true })).flatMap((each) =>
        each.isFile() ? [each.name] : [],
      ),
    close: () => rm(folder, { recursive: true, force: true }),
  }
}

export function fileOf(content: string | Uint8Array, facts: Partial<IncomingFile> = {}): IncomingFile {
  return { body: streamOf(content), owner: ann, origin, ...facts }
}

export function streamOf(content: string | Uint8Array): ReadableStream<Uint8Array> {
  const bytes = typeof content === 'string' ? new TextEncoder().encode(content) : content
  return new ReadableStream({
    start(controller) {
      if (bytes.byteLength > 0) controller.enqueue(bytes)
      controller.close()
    },
  })
}

export async function bytesOf(stream: ReadableStream<Uint8Array> | undefined): Promise<Uint8Array> {
  if (stream === undefined) throw new Error('there is no such object')
  return new Uint8Array(await new Response(stream as ReadableStream<Uint8Array<ArrayBuffer>>).arrayBuffer())
}

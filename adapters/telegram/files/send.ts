// Hop 8: a stored file goes out as one upload, streamed from where it is kept.
import { type Api, InputFile } from 'grammy/web'
import type { DeliveryOutcome, FileSource } from '../../../src/contract/index.ts'
import type { ClientSignal } from '../deliver/api.ts'
import type { FileCall } from '../wire/call.ts'
import { maxUploadBytes } from './render.ts'

export type Upload = {
  readonly kind: 'opened'
  /** The number Telegram gave the message. Lets go of bytes that were not taken. */
  readonly send: (api: Api, signal: ClientSignal) => Promise<string>
}

/** What cannot be sent is refused before any call (slack S88). */
export async function openUpload(call: FileCall, files: FileSource | undefined): Promise<Upload | DeliveryOutcome> {
  const source = await Promise.resolve(files?.open(call.file.attachment)).catch(() => null)
  if (source === null) return { kind: 'retry', reason: 'file_unavailable' }
  if (source === undefined) return { kind: 'refused', reason: 'file_gone' }
  const reader = source.body.getReader()
  const end = (): Promise<void> => reader.cancel().catch(() => undefined)
  if (source.size === 0 || source.size > maxUploadBytes) {
    await end()
    return { kind: 'refused', reason: source.size === 0 ? 'file_empty' : 'file_too_large' }
  }
  const file = new InputFile(chunksOf(reader), headerValue(call.file.name))
  return {
    kind: 'opened',
    async send(api, signal) {
      const { payload, method } = call
      try {
        const sent =
          method === 'sendPhoto'
            ? await api.raw.sendPhoto({ ...payload, photo: file }, signal)
            : await api.raw.sendDocument({ ...payload, document: file }, signal)
        return String(sent.message_id)
      } finally {
        await end()
      }
    },
  }
}

async function* chunksOf(reader: ReadableStreamDefaultReader<Uint8Array>): AsyncGenerator<Uint8Array> {
  for (let read = await reader.read(); !read.done; read = await reader.read()) yield read.value
}

/** The client writes the name into a header as it is given: quoted, so that nothing in it can end it. */
function headerValue(name: string): string {
  return `"${name.replace(/[\u0000-\u001f\u007f"\\]/g, '_')}"`
}

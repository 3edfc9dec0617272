// Files of a mail: as many as fit go along, the others as links that end. Bytes flow from where they are kept.
import type { DeliveryOutcome, FileSource } from '../../../src/contract/index.ts'
import type { MailFileCall } from '../wire/call.ts'

export type Enclosed = MailFileCall & { readonly body: ReadableStream<Uint8Array>; readonly size: number }
export type Linked = {
  readonly name: string
  readonly size: number
  readonly url: string | undefined
  readonly until: string
}
export type Enclosures = {
  readonly kind: 'files'
  readonly enclosed: readonly Enclosed[]
  readonly linked: readonly Linked[]
  /** Lets go of bytes that were not taken. */
  readonly end: () => Promise<void>
}

/** Mail is read when people come back to it, so its links last longer than others. */
const linkLifeMs = 7 * 24 * 60 * 60 * 1000

export async function openEnclosures(
  wanted: readonly MailFileCall[],
  files: FileSource | undefined,
  room: number,
): Promise<Enclosures | DeliveryOutcome> {
  const enclosed: Enclosed[] = []
  const linked: Linked[] = []
  const releaseFiles = async (): Promise<void> =>
    void (await Promise.all(
      enclosed.map(({ body }) => (body.locked ? undefined : body.cancel().catch(() => undefined))),
    ))
  let left = room
  for (const file of wanted) {
    const source = await Promise.resolve(files?.open(file.id)).catch(() => null)
    if (source === null || source === undefined) {
      await releaseFiles()
      return source === null ? { kind: 'retry', reason: 'file_unavailable' } : { kind: 'refused', reason: 'file_gone' }
    }
    if (source.size <= left) {
      left -= source.size
      enclosed.push({ ...file, body: source.body, size: source.size })
      continue
    }
    await source.body.cancel().catch(() => undefined)
    const link = await Promise.resolve(files?.link?.(file.id, linkLifeMs)).catch(() => undefined)
    linked.push({ name: file.name, size: source.size, url: link?.url, until: link?.expiresAt ?? '' })
  }
  return { kind: 'files', enclosed, linked, end: releaseFiles }
}

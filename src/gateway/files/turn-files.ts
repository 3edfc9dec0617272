// Files as an agent gets them: a fresh handle in every part that stands for one, and the bytes for agents in this process.
import type { AgentFiles } from '../../agent/context.ts'
import type { AttachmentDescriptor } from '../../attachments/descriptor.ts'
import { GatewayError, type HistoricalMessage, type Part, type SourcedFile } from '../../contract/index.ts'
import type { GatewayDeps } from '../deps.ts'
import { type FilePart, isFilePart, listAttachmentIds, missingPart, noLongerThere } from './file-part.ts'

export type TurnFilesContext = {
  readonly attachments: GatewayDeps['attachments']
  /** Whom the turn is for, and in which thread. */
  readonly principal: string
  readonly threadId: string
}

export type TurnFiles = AgentFiles & {
  /** Parts as they go to an agent: made anew each time, never kept. */
  readonly handed: (parts: readonly Part[]) => Promise<Part[]>
  /** A file this turn may use, by its id. */
  readonly find: (id: string) => Promise<AttachmentDescriptor | undefined>
}

/** `said`: everything the turn was shown. What stands in it may be used, whichever participant sent it. */
export function createTurnFiles(scene: TurnFilesContext, said: () => readonly (readonly Part[])[]): TurnFiles {
  const isFileShown = (id: string): boolean => said().some((parts) => listAttachmentIds(parts).includes(id))
  const findTurnFile = async (id: string): Promise<AttachmentDescriptor | undefined> => {
    const [found] = await scene.attachments.find([id])
    return found?.status === 'ready' && (isFileShown(id) || isOwnFile(scene, found)) ? found : undefined
  }
  const openTurnFile = async (id: string): Promise<SourcedFile | undefined> => {
    const descriptor = await findTurnFile(id)
    const body = descriptor === undefined ? undefined : await scene.attachments.open(descriptor)
    if (descriptor === undefined || body === undefined) return undefined
    const { size, mimeType, name } = descriptor
    return { body, size, mimeType, name: name ?? 'file' }
  }
  return {
    find: findTurnFile,
    open: openTurnFile,
    bytes: async (id, maxBytes) => {
      const file = await openTurnFile(id)
      return file === undefined ? undefined : readFileBytes(file, maxBytes)
    },
    handed: (parts) => withHandles(scene, parts),
  }
}

export async function historyForAgent(
  files: Pick<TurnFiles, 'handed'>,
  history: readonly HistoricalMessage[],
): Promise<readonly HistoricalMessage[]> {
  return Promise.all(
    history.map(async (turn) =>
      turn.parts.some(isFilePart) ? { ...turn, parts: await files.handed(turn.parts) } : turn,
    ),
  )
}

function isOwnFile({ principal, threadId }: TurnFilesContext, { owner }: AttachmentDescriptor): boolean {
  return owner.principal === principal && (owner.threadId === null || owner.threadId === threadId)
}

async function withHandles(scene: TurnFilesContext, parts: readonly Part[]): Promise<Part[]> {
  const ids = listAttachmentIds(parts)
  const found = ids.length === 0 ? [] : await scene.attachments.find(ids)
  const byId = new Map(found.map((descriptor) => [descriptor.id, descriptor]))
  return Promise.all(parts.map((part) => (isFilePart(part) ? withHandle(scene, part, byId) : part)))
}

async function withHandle(
  { attachments, principal }: TurnFilesContext,
  part: FilePart,
  byId: ReadonlyMap<string, AttachmentDescriptor>,
): Promise<Part> {
  const descriptor = byId.get(part.attachment?.id ?? '')
  if (descriptor?.status !== 'ready') return missingPart(part, noLongerThere)
  const { url, expiresAt } = await attachments.handle(descriptor, { principal, kind: 'agent' })
  return { ...part, bytes_ref: { kind: 'url', url, expires_at: expiresAt } }
}

async function readFileBytes({ body, size }: SourcedFile, maxBytes: number): Promise<Uint8Array> {
  if (size > maxBytes) {
    await body.cancel().catch(() => undefined)
    throw new GatewayError('bad_request', `[agent] the file has ${size} bytes; ask for at most as many as you can hold`)
  }
  return new Uint8Array(await new Response(body as ReadableStream<Uint8Array<ArrayBuffer>>).arrayBuffer())
}

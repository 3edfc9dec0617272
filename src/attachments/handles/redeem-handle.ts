// Redeems one of our handles: the token is judged before anything is looked up, the row after it.
import type { AttachmentStore } from '../attachment-store.ts'
import type { AttachmentDescriptor } from '../descriptor.ts'
import type { RedeemOutcome } from '../desk.ts'
import { refused } from '../refusals.ts'
import { readRawPath } from '../signed-urls/raw-url.ts'
import { type HandleClaims, type TokenDeps, verifyHandle } from './handle-token.ts'

export type RedeemDeps = TokenDeps & { readonly attachments: Pick<AttachmentStore, 'byId'> }

export const handlePath = '/storage/v1/object/sign'
const endpoint = handlePath.slice(1).split('/')

/** `rawUrl` as the listener got it: a path with its query, or the whole URL. */
export async function redeemHandle(deps: RedeemDeps, rawUrl: string): Promise<RedeemOutcome> {
  const read = readRawPath(rawUrl)
  if (!read.ok) return refused(read.code)
  const { segments, query } = read.url
  const isHandle = segments.length > endpoint.length + 1 && endpoint.every((each, index) => segments[index] === each)
  if (!isHandle) return refused('SU_FORM')
  const tokens = query.filter(([name]) => name === 'token').map(([, value]) => value)
  if (tokens.length > 1) return refused('SU_DUP_PARAM')
  const object = segments.slice(endpoint.length).join('/')
  const reading = await verifyHandle(deps, tokens[0] ?? '', object)
  if ('code' in reading) return refused(reading.code)
  return judge(await deps.attachments.byId(reading.claims.attachmentId), reading.claims, object)
}

async function judge(
  descriptor: AttachmentDescriptor | undefined,
  { reader, isFor }: HandleClaims,
  object: string,
): Promise<RedeemOutcome> {
  if (descriptor === undefined || `${descriptor.bucket}/${descriptor.path}` !== object)
    return refused('SU_UNKNOWN_OBJECT')
  if (descriptor.status !== 'ready') return refused('SU_BLOCKED')
  if (reader === 'person' && !(await isFor(descriptor.owner.principal))) return refused('SU_OWNER')
  return { kind: 'redeemed', descriptor }
}

// Redeems one of our handles: the token is judged before anything is looked up, the row after it.
import type { AttachmentStore } from '../../db/attachments.ts'
import type { AttachmentDescriptor } from '../descriptor.ts'
import type { RedeemOutcome } from '../desk.ts'
import { rejectFile } from '../refusals.ts'
import { parseRawPath } from '../signed-urls/raw-url.ts'
import { type HandleClaims, type HandleTokenDeps, verifyHandle } from './handle-token.ts'

export type RedeemDeps = HandleTokenDeps & { readonly attachments: Pick<AttachmentStore, 'byId'> }

export const handlePath = '/storage/v1/object/sign'
const endpoint = handlePath.slice(1).split('/')

/** `rawUrl` as the listener got it: a path with its query, or the whole URL. */
export async function redeemHandle(deps: RedeemDeps, rawUrl: string): Promise<RedeemOutcome> {
  const read = parseRawPath(rawUrl)
  if (!read.ok) return rejectFile(read.code)
  const { segments, query } = read.url
  const isHandle = segments.length > endpoint.length + 1 && endpoint.every((each, index) => segments[index] === each)
  if (!isHandle) return rejectFile('SU_FORM')
  const tokens = query.filter(([name]) => name === 'token').map(([, value]) => value)
  if (tokens.length > 1) return rejectFile('SU_DUP_PARAM')
  const object = segments.slice(endpoint.length).join('/')
  const reading = await verifyHandle(deps, tokens[0] ?? '', object)
  if ('code' in reading) return rejectFile(reading.code)
  return checkHandleReader(await deps.attachments.byId(reading.claims.attachmentId), reading.claims, object)
}

async function checkHandleReader(
  descriptor: AttachmentDescriptor | undefined,
  { reader, isFor }: HandleClaims,
  object: string,
): Promise<RedeemOutcome> {
  if (descriptor === undefined || `${descriptor.bucket}/${descriptor.path}` !== object)
    return rejectFile('SU_UNKNOWN_OBJECT')
  if (descriptor.status !== 'ready') return rejectFile('SU_BLOCKED')
  if (reader === 'person' && !(await isFor(descriptor.owner.principal))) return rejectFile('SU_OWNER')
  return { kind: 'redeemed', descriptor }
}

// Verifies a run request. A token is believed from anywhere; without one there is this machine's user, and guests in threads of
// their own.
import {
  type CallerResult,
  type CallerVerifier,
  type RawRequest,
  type RequestHead,
  runScope,
  type TaskService,
  type VerifyResult,
} from '../../src/contract/index.ts'
import { parseBoundedJson, sha256Hex } from '../../src/lib/index.ts'
import { checkOpenInterrupts } from './live/stream.ts'
import { type AguiPayload, aguiSubject, guestPrefix, threadIdSchema } from './wire.ts'

const jsonType = /^application\/json(?:\s*;|\s*$)/i

export type VerifyDeps = {
  readonly callers: CallerVerifier
  readonly tasks: TaskService
  /** Whom a request is for, and where the outside calls it. */
  readonly agent: string
  readonly url: string | undefined
}

export async function verifyAgui(
  { callers, tasks, agent, url }: VerifyDeps,
  rawRequest: RawRequest,
): Promise<VerifyResult<AguiPayload>> {
  const audiences = url === undefined ? [] : [url]
  const from = await callers.identify(rawRequest.headers, agent, { scope: runScope, audiences })
  if (from.kind === 'rejected') return from
  if (from.bearer === undefined && rawRequest.from === 'remote') return rejectWithoutToken(callers, url)
  // A page can send any other type without asking, so this is a guard and not pedantry.
  if (!jsonType.test(rawRequest.headers['content-type'] ?? '')) return { kind: 'rejected', reason: 'malformed_request' }
  const guest =
    from.bearer === undefined && rawRequest.from === 'guest' ? await computeGuestSubject(rawRequest.bytes) : undefined
  const payload = { ...toRunPayload(rawRequest, from), ...(guest === undefined ? {} : { guest }) }
  const { bytes, headers } = rawRequest
  const subject = aguiSubject(payload)
  const asked = { agent: from.bearer?.agent ?? agent, subject, bytes, accept: headers['accept'] ?? '' }
  const passage = await checkOpenInterrupts(tasks, asked)
  if (passage.kind === 'blocked') return { kind: 'handshake', answer: passage.answer }
  return { kind: 'genuine', payload: passage.kind === 'free' ? payload : { ...payload, goesOnWith: passage.tasks } }
}

/** What the headers alone rule out: a remote request without a token, a body that is not JSON. */
export function screenAguiHeaders(
  { callers, url }: Pick<VerifyDeps, 'callers' | 'url'>,
  { headers, from }: RequestHead,
) {
  if (headers['authorization'] === undefined && from === 'remote') return rejectWithoutToken(callers, url)
  const isJson = headers['content-type'] === undefined || jsonType.test(headers['content-type'])
  return isJson ? undefined : ({ kind: 'rejected', reason: 'malformed_request' } as const)
}

function rejectWithoutToken(
  callers: CallerVerifier,
  resource: string | undefined,
): Extract<VerifyResult<never>, { kind: 'rejected' }> {
  const reason = 'missing_credential'
  const challenge = callers.challenge(reason, resource === undefined ? {} : { resource })
  return { kind: 'rejected', reason, challenge }
}

/** Nothing is known of a guest but the thread it names: knowing that name is what leads back to it, and to no other thread. */
async function computeGuestSubject(bytes: Uint8Array): Promise<string> {
  const json = parseBoundedJson(bytes)
  const threadId = json.ok ? threadIdSchema.safeParse(json.value).data?.threadId : undefined
  return `${guestPrefix}${(await sha256Hex(`guest ${threadId ?? ''}`)).slice(0, 32)}`
}

function toRunPayload({ bytes }: RawRequest, from: Exclude<CallerResult, { kind: 'rejected' }>): AguiPayload {
  const { bearer } = from
  if (from.kind === 'unreadable') return { bytes, bearer, chain: { kind: 'unreadable', remedy: from.remedy } }
  const { caller, agentChain } = from
  return { bytes, bearer, chain: { kind: 'read', caller, agentChain } }
}

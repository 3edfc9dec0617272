// Hop 2: who calls. A token is believed from anywhere; without one there is this machine's user, and callers of an open connection.
import {
  bearerErrorCode,
  bearerMay,
  type CallerVerifier,
  type RawRequest,
  type RejectReason,
  runScope,
  type VerifyResult,
} from '../../../src/contract/index.ts'
import type { A2aCaller, A2aPayload } from '../protocol/caller.ts'
import { parseJsonType } from './request-headers.ts'

/** What is called: an agent, whether its address names it, and where the outside calls it. */
type Called = {
  readonly agent: string
  readonly isNamed: boolean
  readonly urls: readonly string[]
  readonly anonymous: boolean
  /** Where a token of ours may come instead of `Authorization`. */
  readonly keyHeader?: string | undefined
}

export type A2aCallerResult =
  | { readonly kind: 'known'; readonly caller: A2aCaller }
  | { readonly kind: 'rejected'; readonly reason: RejectReason; readonly challenge: string }

export async function verifyCaller(
  callers: CallerVerifier,
  { headers: given, from: place }: Pick<RawRequest, 'headers' | 'from'>,
  { agent, isNamed, urls, anonymous, keyHeader }: Called,
): Promise<A2aCallerResult> {
  const [resource] = urls
  const rejectedCaller = (reason: RejectReason, challenge?: string): A2aCallerResult => ({
    kind: 'rejected',
    reason,
    challenge: challenge ?? callers.challenge(reason, resource === undefined ? {} : { resource }),
  })
  const headers = withKeyAsBearer(given, keyHeader)
  if (headers === undefined) return rejectedCaller('invalid_token')
  const from = await callers.identify(headers, agent, { audiences: urls, isNamed })
  if (from.kind === 'rejected') return rejectedCaller(from.reason, from.challenge)
  const { bearer } = from
  const chain =
    from.kind === 'unreadable'
      ? ({ kind: 'unreadable', remedy: from.remedy } as const)
      : ({ kind: 'read', caller: from.caller, agentChain: from.agentChain } as const)
  if (bearer !== undefined) return { kind: 'known', caller: { kind: 'token', bearer, subject: bearer.subject, chain } }
  if (place === 'local') return { kind: 'known', caller: { kind: 'local', bearer, subject: localSubject, chain } }
  if (anonymous) return { kind: 'known', caller: { kind: 'anonymous', bearer, subject: anonymousSubject, chain } }
  return rejectedCaller('missing_credential')
}

/** Only whole tokens of ours are taken from the API key header. */
const ownToken = /^parley_[\w-]{1,128}$/

/** Undefined: two credentials at once, or something that is no key of ours. It is never taken for none. */
function withKeyAsBearer(
  headers: Readonly<Record<string, string>>,
  keyHeader: string | undefined,
): Readonly<Record<string, string>> | undefined {
  const key = keyHeader === undefined ? undefined : headers[keyHeader]
  if (key === undefined) return headers
  if (headers['authorization'] !== undefined || !ownToken.test(key)) return undefined
  return { ...headers, authorization: `Bearer ${key}` }
}

/** A token that may have agents run may do all of it; others what they name. */
export function mayCall({ bearer }: A2aCaller, scope: string): boolean {
  return bearerMay(bearer, runScope) || bearerMay(bearer, scope)
}

/** How a rejected caller is answered. */
export function rejectionFault(reason: RejectReason): 'unauthenticated' | 'forbidden' | 'unavailable' {
  const error = bearerErrorCode(reason)
  if (error === 'issuer_unavailable') return 'unavailable'
  return error === 'insufficient_scope' ? 'forbidden' : 'unauthenticated'
}

const localSubject = 'gw:user/local'
const anonymousSubject = 'a2a:anonymous'

// Hop 2 for the gateway's own webhook route: verifies the caller as the other routes do, and the type of the body.

export async function verifyA2a(
  callers: CallerVerifier,
  arrival: RawRequest,
  to: Called,
): Promise<VerifyResult<A2aPayload>> {
  const verdict = await verifyCaller(callers, arrival, to)
  if (verdict.kind === 'rejected') return verdict
  if (parseJsonType(arrival.headers['content-type']) === undefined)
    return { kind: 'rejected', reason: 'malformed_request' }
  return { kind: 'genuine', payload: { bytes: arrival.bytes, caller: verdict.caller } }
}

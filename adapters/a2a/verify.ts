// Verifies callers. A token is believed from anywhere; without one there is this machine's user, and callers of an open
// connection.
import {
  type CallerVerifier,
  hasBearerScope,
  type RawRequest,
  type RejectReason,
  runScope,
  type VerifyResult,
} from '../../src/contract/index.ts'
import { createFault, type Fault } from './protocol/faults.ts'
import type { A2aCaller, A2aPayload } from './protocol/objects.ts'
import type { Dialect } from './protocol/operations.ts'

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
  const headers = moveKeyToBearerHeader(given, keyHeader)
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
function moveKeyToBearerHeader(
  headers: Readonly<Record<string, string>>,
  keyHeader: string | undefined,
): Readonly<Record<string, string>> | undefined {
  const key = keyHeader === undefined ? undefined : headers[keyHeader]
  if (key === undefined) return headers
  if (headers['authorization'] !== undefined || !ownToken.test(key)) return undefined
  return { ...headers, authorization: `Bearer ${key}` }
}

/** A token that may have agents run may do all of it; others what they name. */
export function hasOperationScope({ bearer }: A2aCaller, scope: string): boolean {
  return hasBearerScope(bearer, runScope) || hasBearerScope(bearer, scope)
}

/** How a rejected caller is answered. */
export function rejectionFaultName(reason: RejectReason): 'unauthenticated' | 'forbidden' | 'unavailable' {
  if (reason === 'issuer_unavailable') return 'unavailable'
  return reason === 'insufficient_scope' ? 'forbidden' : 'unauthenticated'
}

const localSubject = 'gw:user/local'
const anonymousSubject = 'a2a:anonymous'

// The gateway's own webhook route verifies the caller as the other routes do, and the type of the body.

export async function verifyA2a(
  callers: CallerVerifier,
  rawRequest: RawRequest,
  to: Called,
): Promise<VerifyResult<A2aPayload>> {
  const result = await verifyCaller(callers, rawRequest, to)
  if (result.kind === 'rejected') return result
  if (matchJsonMediaType(rawRequest.headers['content-type']) === undefined)
    return { kind: 'rejected', reason: 'malformed_request' }
  return { kind: 'genuine', payload: { bytes: rawRequest.bytes, caller: result.caller } }
}

// Media types: of the request, of the answer it wants, and of parts against what an agent takes.

const jsonTypes = ['application/json', 'application/a2a+json'] as const

export type JsonType = (typeof jsonTypes)[number]

/** The type without its parameters, in small letters. */
function mediaTypeWithoutParameters(header: string | undefined): string {
  return (header ?? '').split(';')[0]?.trim().toLowerCase() ?? ''
}

export function matchJsonMediaType(header: string | undefined): JsonType | undefined {
  const bare = mediaTypeWithoutParameters(header)
  return jsonTypes.find((type) => type === bare)
}

/** What the caller wrote in, else what it asks for first, else plain JSON. */
export function chooseAnswerMediaType(contentType: string | undefined, accept: string | undefined): JsonType {
  const written = matchJsonMediaType(contentType)
  if (written !== undefined) return written
  const asked = (accept ?? '').split(',').map((entry) => matchJsonMediaType(entry))
  return asked.find((type) => type !== undefined) ?? 'application/json'
}

/** A whole type, a family (`image/*`), or anything. */
export function isMediaTypeAccepted(type: string, accepted: readonly string[]): boolean {
  const bare = mediaTypeWithoutParameters(type)
  const family = `${bare.split('/')[0]}/*`
  return accepted.some((each) => {
    const known = mediaTypeWithoutParameters(each)
    return known === '*/*' || known === '*' || known === bare || known === family
  })
}

/** Whether two lists can meet, wildcards on either side. */
export function doMediaTypesOverlap(wanted: readonly string[], offered: readonly string[]): boolean {
  return wanted.some(
    (type) => isMediaTypeAccepted(type, offered) || offered.some((offer) => isMediaTypeAccepted(offer, [type])),
  )
}

// Which version of the protocol a request speaks: by header, else by query; nothing said means 0.3.

const versionName = 'A2A-Version'

export function readProtocolVersion(request: Request, supported: readonly Dialect[]): Dialect | Fault {
  const header = request.headers.get(versionName)
  const asked = (header ?? new URL(request.url).searchParams.get(versionName) ?? '').trim()
  const [, major, minor] = /^(\d{1,3})\.(\d{1,3})(?:\.\d{1,3})?$/.exec(asked === '' ? '0.3' : asked) ?? []
  const found = supported.find((version) => version === `${major}.${minor}`)
  if (found !== undefined) return found
  const said = asked === '' ? `no ${versionName}, which means 0.3` : `${versionName} ${asked.slice(0, 16)}`
  const message = `${said}, is not supported here; send ${versionName} with one of: ${supported.join(', ')}`
  return createFault('version_not_supported', message, { metadata: { supportedVersions: supported.join(', ') } })
}

// Extensions that a request activates: what it names and we know. Required ones must be named.

export type Extensions = { readonly active: readonly string[]; readonly headers: Readonly<Record<string, string>> }

export function readExtensions(
  headers: Headers,
  dialect: Dialect,
  { known, required }: { readonly known: readonly string[]; readonly required: readonly string[] },
): Extensions | Fault {
  const names = dialect === '1.0' ? ['A2A-Extensions'] : ['X-A2A-Extensions', 'A2A-Extensions']
  const spelling = names.find((name) => headers.has(name)) ?? names[0] ?? ''
  const asked = new Set((headers.get(spelling) ?? '').split(',').map((uri) => uri.trim()))
  const missing = required.filter((uri) => !asked.has(uri))
  if (missing.length > 0) {
    const message = `this agent requires the extension ${missing.join(', ')}; name it in ${spelling}`
    return createFault('extension_required', message, { metadata: { requiredExtensions: missing.join(', ') } })
  }
  const active = known.filter((uri) => asked.has(uri))
  return { active, headers: active.length === 0 ? {} : { [spelling]: active.join(', ') } }
}

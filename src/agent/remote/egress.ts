// How a request to a remote agent leaves: to origins that the operator wrote down, or to public ones and nowhere else;
// credentials go to the origin they were given for.
import type { SafeFetchResult, Secret } from '../../contract/index.ts'
import { createUnpinnedFetch } from '../../lib/index.ts'
import type { RemoteAccess } from '../elsewhere.ts'
import { type FaultCode, RemoteFault } from './fault.ts'
import type { WireRequest } from './wire.ts'

/** By origin: headers that prove who we are there. */
export type OriginHeaders = ReadonlyMap<string, Readonly<Record<string, Secret>>>

export type EgressPolicy = {
  /** What the operator wrote down: may be http, on any port, in a private network. */
  readonly origins: readonly string[]
  readonly credentials: OriginHeaders
}

export type EgressDeps = Pick<RemoteAccess, 'fetch' | 'guarded'>

export type EgressOptions = {
  readonly maxBytes: number
  readonly timeoutMs: number
  readonly signal: AbortSignal
  readonly maxRedirects?: number
}

export type Egress = (request: WireRequest, options: EgressOptions) => Promise<Response>

export function createEgress({ origins, credentials }: EgressPolicy, means: EgressDeps): Egress {
  const written = createUnpinnedFetch(means.fetch)
  return async ({ method, url, headers, body }, options) => {
    const origin = URL.canParse(url) ? new URL(url).origin : ''
    const own = credentials.get(origin) ?? {}
    const proofs = Object.fromEntries(Object.entries(own).map(([name, value]) => [name, value.reveal()]))
    const isWritten = origins.includes(origin)
    const sender = isWritten ? written : means.guarded
    const outcome = await sender.fetch(url, {
      ...options,
      method,
      headers: { ...headers, ...proofs },
      ...(body === undefined ? {} : { body }),
      ...(isWritten ? { origins: [origin] } : {}),
    })
    options.signal.throwIfAborted()
    return requireAnswered(outcome)
  }
}

function requireAnswered(outcome: SafeFetchResult): Response {
  if (outcome.kind === 'answered') return outcome.response
  throw new RemoteFault(outcome.kind === 'failed' ? 'remote_unreachable' : faultOfRefusal(outcome.reason))
}

function faultOfRefusal(reason: Extract<SafeFetchResult, { kind: 'refused' }>['reason']): FaultCode {
  if (reason === 'too_large') return 'remote_too_much'
  return reason === 'encoding' ? 'remote_malformed' : 'remote_address_refused'
}

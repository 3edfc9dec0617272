// Options of a remote agent, checked when the configuration is read.

import { formatAddress, parseAddress } from '../../../src/contract/index.ts'
import { GatewayError, type Secret, secret } from '../../../src/lib/index.ts'
import type { CardTrust } from '../protocol/card-signature.ts'
import { parseRemoteTarget, type Target } from './agent-card.ts'
import { defaultLimits, type EgressPolicy, type OriginHeaders, type RemoteLimits } from './client.ts'
export type A2aAgentOptions = {
  /** Sent as `Authorization: Bearer` to the origin of the URL, and to no other. */
  readonly token?: string | Secret
  /** By origin: headers that prove who we are there. */
  readonly credentials?: Readonly<Record<string, Readonly<Record<string, string | Secret>>>>
  /** Further origins it may be at: they may be http, on any port, in a private network. Public https needs none. */
  readonly origins?: readonly string[]
  /** The card must be signed by one of these keys. */
  readonly trust?: CardTrust
  /** Talk to it in the version before 1.0 where it knows no other. */
  readonly allow03?: boolean
  /** It takes one message id once, so that a message whose outcome is unknown may be sent again. */
  readonly resend?: boolean
  /** Tells it who speaks, in evidence that this gateway signs: the address it is made out to, `@agent@host`. Without it: nothing. */
  readonly vouchTo?: string
  readonly limits?: Partial<RemoteLimits>
}

export type RemotePeer = {
  readonly target: Target
  readonly egress: EgressPolicy
  readonly trust: CardTrust | undefined
  readonly allows03: boolean
  readonly mayResend: boolean
  readonly limits: RemoteLimits
  readonly vouchTo: string | undefined
}

export function readPeerOptions(named: string, options: A2aAgentOptions): RemotePeer {
  const target = parseRemoteTarget(named)
  const own = target.kind === 'address' ? [] : [target.url.origin]
  const origins = [...new Set([...own, ...(options.origins ?? []).map((each) => parseOrigin(each, 'origins'))])]
  const credentials = readCredentials(options, own[0])
  for (const origin of credentials.keys())
    if (!isSafeOrigin(origin, origins))
      throw invalidRemoteAgentError(`credentials for ${origin} would be sent in the clear`)
  const { trust } = options
  if (trust !== undefined && (trust.keys ?? []).length + (trust.keyOrigins ?? []).length === 0)
    throw invalidRemoteAgentError('trust needs keys, or keyOrigins to fetch them from')
  return {
    target,
    egress: { origins, credentials },
    trust,
    allows03: options.allow03 ?? false,
    mayResend: options.resend ?? false,
    limits: readRemoteLimits(options),
    vouchTo: parseVouchToAddress(options),
  }
}

function readCredentials({ token, credentials = {} }: A2aAgentOptions, own: string | undefined): OriginHeaders {
  const proofs = new Map<string, Readonly<Record<string, Secret>>>()
  for (const [origin, headers] of Object.entries(credentials)) {
    const kept = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), toSecret(value)] as const)
    proofs.set(parseOrigin(origin, 'credentials'), Object.fromEntries(kept))
  }
  if (token === undefined) return proofs
  if (own === undefined)
    throw invalidRemoteAgentError('token needs a URL to belong to; for an address use credentials, by origin')
  return proofs.set(own, { ...proofs.get(own), authorization: secret(`Bearer ${toSecret(token).reveal()}`) })
}

function parseVouchToAddress({ vouchTo }: A2aAgentOptions): string | undefined {
  if (vouchTo === undefined) return undefined
  const address = parseAddress(vouchTo)
  if (address === undefined)
    throw invalidRemoteAgentError('vouchTo must be the address of the agent, such as @billing@example.org')
  return formatAddress(address)
}

function readRemoteLimits({ limits }: A2aAgentOptions): RemoteLimits {
  const all = { ...defaultLimits, ...limits }
  const bad = Object.entries(all).find(([, value]) => !(Number.isFinite(value) && value > 0))
  if (bad !== undefined) throw invalidRemoteAgentError(`limits.${bad[0]} must be a positive number`)
  return all
}

/** Written out by the operator, http is a network of their own; an address from any other party is not. */
function isSafeOrigin(origin: string, written: readonly string[]): boolean {
  return origin.startsWith('https:') || written.includes(origin)
}

function toSecret(value: string | Secret): Secret {
  return typeof value === 'string' ? secret(value) : value
}

function parseOrigin(text: string, where: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.origin !== text.replace(/\/$/, ''))
    throw invalidRemoteAgentError(`${where} must be origins such as https://agents.example.org`)
  return url.origin
}

function invalidRemoteAgentError(why: string): GatewayError {
  return new GatewayError('config_invalid', `[agent] a remote agent: ${why}`)
}

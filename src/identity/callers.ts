// Authenticates callers of an agent over an API: token, then call chain, and only then is the token's use noted.

import { type Bearer, bearerChallenge, bearerErrorCode, type TokenRequirements } from '../contract/caller.ts'
import { type CallerResult, type CallerVerifier, hasBearerScope, type RejectReason } from '../contract/index.ts'
import { lastCharactersOfTokenId, type TokenHolder } from '../db/tokens.ts'
import { createAgentChain, readCallerContext } from './call-chain.ts'
import type { ExternalTokenVerifier } from './issuers/external-tokens.ts'
import { findToken, isOwnToken, parseBearerHeader, type TokenDeps } from './tokens.ts'

type CallerDeps = Pick<TokenDeps, 'tokens' | 'hash'> & {
  /** Several agents answer there: whom a request is for is known only when its turn is prepared. */
  readonly isShared: boolean
  /** All of them, by slug. */
  readonly agents?: readonly string[]
  /** A token of ours that no row knows: others are not asked about it. */
  readonly isOurs?: (token: string) => boolean
  /** Tokens that others issue; without it none of theirs counts. */
  readonly outside?: ExternalTokenVerifier
  readonly realm?: string
  /** Where it is written who issues tokens for a URL of ours. */
  readonly metadataUrl?: (resource?: string) => string
}

/** A token that was found to hold. `use` comes last; false: it counts once, and did. */
type VerifiedBearer = { readonly bearer: Bearer; readonly use: () => Promise<boolean> }

export function createCallerService(deps: CallerDeps): CallerVerifier {
  const createBearerChallenge: CallerVerifier['challenge'] = (reason, { scope, resource } = {}) =>
    bearerChallenge({
      reason,
      ...(deps.realm === undefined ? {} : { realm: deps.realm }),
      ...(scope === undefined ? {} : { scope }),
      ...(deps.metadataUrl === undefined ? {} : { resourceMetadata: deps.metadataUrl(resource) }),
    })
  const rejectBearer = (reason: RejectReason, { scope, audiences }: TokenRequirements): CallerResult => {
    const asked = scope !== undefined && reason === 'insufficient_scope' ? { scope } : {}
    const [resource] = audiences ?? []
    const at = { ...asked, ...(resource === undefined ? {} : { resource }) }
    return {
      kind: 'rejected',
      reason,
      ...(bearerErrorCode(reason) === undefined ? {} : { challenge: createBearerChallenge(reason, at) }),
    }
  }
  return {
    challenge: createBearerChallenge,
    async identify(headers, agent, wish = {}) {
      const authorization = headers['authorization']
      if (authorization === undefined) return identifyCallerFromHeaders(headers, undefined)
      // A caller that shows a token is taken for its holder or refused, never for another caller.
      const held = await verifyBearer(deps, parseBearerHeader(authorization) ?? '', agent, wish)
      if (typeof held === 'string') return rejectBearer(held, wish)
      if (wish.scope !== undefined && !hasBearerScope(held.bearer, wish.scope))
        return rejectBearer('insufficient_scope', wish)
      const outcome = identifyCallerFromHeaders(headers, held.bearer)
      if (outcome.kind !== 'identified') return outcome
      return (await held.use()) ? outcome : rejectBearer('token_replayed', wish)
    },
  }
}

async function verifyBearer(
  deps: CallerDeps,
  token: string,
  agent: string,
  { audiences = [], isNamed = false }: TokenRequirements,
): Promise<VerifiedBearer | RejectReason> {
  const isOpen = deps.isShared && !isNamed
  const isOurs = token === '' || isOwnToken(token) || deps.isOurs?.(token) === true
  if (deps.outside === undefined || isOurs) return verifyOwnToken(deps, token, agent, isOpen)
  const others = isOpen ? (deps.agents ?? []) : []
  const outcome = await deps.outside.verify(token, { agent, audiences, others })
  return outcome.kind === 'held' ? outcome : outcome.reason
}

async function verifyOwnToken(
  deps: CallerDeps,
  token: string,
  agent: string,
  isOpen: boolean,
): Promise<VerifiedBearer | RejectReason> {
  const found = await findToken(deps, token)
  if (found === undefined) return 'invalid_token'
  if (!tokenMayRunAgents(found)) return 'insufficient_scope'
  if (found.agent !== null && found.agent !== agent && !isOpen) return 'wrong_agent'
  return {
    bearer: tokenToBearer(found),
    async use() {
      if (found.isUseDue) await deps.tokens.touch(found.id)
      return true
    },
  }
}

function identifyCallerFromHeaders(
  headers: Readonly<Record<string, string>>,
  bearer: Bearer | undefined,
): CallerResult {
  const read = readCallerContext(headers, { newRoot: () => '' })
  if (!read.ok) return { kind: 'unreadable', bearer, remedy: read.remedy }
  const { context } = read
  return {
    kind: 'identified',
    bearer,
    // Without a root there is nothing to be told: the request is the beginning of whatever comes of it.
    caller: context.chain_root === '' ? undefined : context,
    agentChain: createAgentChain(context.chain_depth),
  }
}

/** A principal narrows: an operator's token that speaks for a person needs to be made for running as well. */
function tokenMayRunAgents({ scopes, principal }: Pick<TokenHolder, 'scopes' | 'principal'>): boolean {
  return scopes.includes('run') || (scopes.includes('admin') && principal === null)
}

function tokenToBearer(token: TokenHolder): Bearer {
  const { workspace, agent, clientId, allowedCapabilities } = token
  return {
    tokenId: lastCharactersOfTokenId(token.id),
    subject: token.principal ?? `gw:token/${lastCharactersOfTokenId(token.id)}`,
    agent,
    claims: {
      ...workspace,
      ...(agent === null ? {} : { agent }),
      ...(clientId === null ? {} : { client_id: clientId }),
      ...(allowedCapabilities === null ? {} : { allowed_capabilities: [...allowedCapabilities] }),
    },
  }
}

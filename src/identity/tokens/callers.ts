// Who calls an agent over an API (loop 7.3): token, then chain, and only then is the token's use noted.
import type { Bearer, CallerDesk, CallerVerdict } from '../../contract/index.ts'
import { agentChainAt } from '../chain/agent-chain.ts'
import { readCallerContext } from '../chain/caller-context.ts'
import type { FoundToken, TokenHolder } from './token-store.ts'
import { bearerIn, findToken, type TokenDeps, tokenDigits } from './tokens.ts'

type CallerDeps = Pick<TokenDeps, 'tokens' | 'hash'> & {
  /** Several agents answer there: whom a request is for is known only when it is taken (hop 6). */
  readonly isShared: boolean
}

export function createCallerDesk(deps: CallerDeps): CallerDesk {
  return {
    async identify(headers, agent) {
      const authorization = headers['authorization']
      if (authorization === undefined) return withChain(deps, headers, undefined)
      // Whoever shows a token wants to be taken for its holder and for nobody else.
      const found = await findToken(deps, bearerIn(authorization) ?? '')
      if (found === undefined) return { kind: 'rejected', reason: 'invalid_token' }
      if (!mayRun(found)) return { kind: 'rejected', reason: 'insufficient_scope' }
      const isOthers = found.agent !== null && found.agent !== agent
      if (isOthers && !deps.isShared) return { kind: 'rejected', reason: 'wrong_agent' }
      return withChain(deps, headers, found)
    },
  }
}

async function withChain(
  { tokens }: CallerDeps,
  headers: Readonly<Record<string, string>>,
  found: FoundToken | undefined,
): Promise<CallerVerdict> {
  const bearer = found === undefined ? undefined : bearerOf(found)
  const read = readCallerContext(headers, { newRoot: () => '' })
  if (!read.ok) return { kind: 'unreadable', bearer, remedy: read.remedy }
  if (found?.isUseDue === true) await tokens.touch(found.id)
  const { context } = read
  return {
    kind: 'identified',
    bearer,
    // Without a root there is nothing to be told: the request is the beginning of whatever comes of it.
    caller: context.chain_root === '' ? undefined : context,
    agentChain: agentChainAt(context.chain_depth),
  }
}

/** A principal narrows: an operator's token that speaks for somebody needs to be made for running as well. */
function mayRun({ scopes, principal }: Pick<TokenHolder, 'scopes' | 'principal'>): boolean {
  return scopes.includes('run') || (scopes.includes('admin') && principal === null)
}

function bearerOf(token: TokenHolder): Bearer {
  const { workspace, agent, clientId, allowedCapabilities } = token
  return {
    tokenId: tokenDigits(token.id),
    subject: token.principal ?? `gw:token/${tokenDigits(token.id)}`,
    agent,
    claims: {
      ...workspace,
      ...(agent === null ? {} : { agent }),
      ...(clientId === null ? {} : { client_id: clientId }),
      ...(allowedCapabilities === null ? {} : { allowed_capabilities: [...allowedCapabilities] }),
    },
  }
}

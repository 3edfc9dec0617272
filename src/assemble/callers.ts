// The services that identify API callers, one per connection over one set of issuers.
import type { Config } from '../config.ts'
import type { CallerVerifier, Log, SafeFetch, Secret } from '../contract/index.ts'
import type { Database } from '../db/client.ts'
import { createTokenStore } from '../db/tokens.ts'
import { createUsedTokens } from '../db/used-tokens.ts'
import { createCallerService } from '../identity/callers.ts'
import { createExternalTokenVerifier, type ExternalTokenVerifier } from '../identity/issuers/external-tokens.ts'
import { createIssuerCache, type IssuerCache } from '../identity/issuers/issuer-client.ts'
import { hasTokenIssuers, metadataUrl } from '../identity/issuers/token-issuers.ts'
import { createUnpinnedFetch, equalInConstantTime, sha256Hex } from '../lib/index.ts'

export type CallerServiceDeps = {
  readonly fetch: typeof fetch
  readonly guardedFetch?: SafeFetch
  readonly now: () => number
  readonly log: Pick<Log, 'warn'>
  /** Where a process is too short to remember: what is known of issuers. */
  readonly issuerMemory?: IssuerCache
  /** The operator's first token. Without it: as configured. */
  readonly firstToken?: Secret
}

export function createCallerServices(
  config: Config,
  database: Database,
  means: CallerServiceDeps,
): (connection: { readonly isShared: boolean }) => CallerVerifier {
  const { tokenIssuers, tenant, publicUrl } = config
  const tokens = createTokenStore(database, tenant)
  const isOpen = hasTokenIssuers(tokenIssuers)
  const outside = isOpen ? { outside: createOutsideTokenCheck(config, database, means) } : {}
  const metadata =
    isOpen && publicUrl !== undefined ? { metadataUrl: (resource?: string) => metadataUrl(publicUrl, resource) } : {}
  const first = means.firstToken ?? config.adminToken
  const isFirstAdminToken = (token: string): boolean =>
    first !== undefined && equalInConstantTime(token, first.reveal())
  const agents = config.agents.map(({ slug }) => slug)
  const shared = {
    tokens,
    hash: sha256Hex,
    isOurs: isFirstAdminToken,
    agents,
    realm: config.domain,
    ...outside,
    ...metadata,
  }
  return ({ isShared }) => createCallerService({ ...shared, isShared })
}

function createOutsideTokenCheck(
  { tokenIssuers, tenant }: Config,
  database: Database,
  means: CallerServiceDeps,
): ExternalTokenVerifier {
  const own = createUnpinnedFetch(means.fetch)
  return createExternalTokenVerifier({
    issuers: tokenIssuers,
    fetch: { own, guarded: means.guardedFetch ?? own },
    memory: means.issuerMemory ?? createIssuerCache(),
    used: createUsedTokens(database, tenant),
    hash: sha256Hex,
    now: means.now,
    log: means.log,
  })
}

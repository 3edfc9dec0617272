// The services that identify API callers, one per connection over one set of issuers.
import type { Config } from '../config.ts'
import type { CallerDesk, GuardedFetch, Log, Secret } from '../contract/index.ts'
import { createIssuerMemory, type IssuerMemory } from '../identity/issuers/issuer-memory.ts'
import { createOutsideTokens, type OutsideTokens } from '../identity/issuers/outside-tokens.ts'
import { hasIssuers, metadataUrl } from '../identity/issuers/protected-resource.ts'
import { createCallerDesk } from '../identity/tokens/callers.ts'
import type { Database } from '../storage/database.ts'
import { createTokenStore } from '../storage/token-store.ts'
import { createUsedTokens } from '../storage/used-token-store.ts'
import { createUnpinnedFetch, equalInConstantTime, sha256Hex } from '../verification/index.ts'

export type CallerMeans = {
  readonly fetch: typeof fetch
  readonly guardedFetch?: GuardedFetch
  readonly now: () => number
  readonly log: Pick<Log, 'warn'>
  /** Where a process is too short to remember: what is known of issuers. */
  readonly issuerMemory?: IssuerMemory
  /** The operator's first token. Without it: as configured. */
  readonly firstToken?: Secret
}

export function createCallerDesks(
  config: Config,
  database: Database,
  means: CallerMeans,
): (connection: { readonly isShared: boolean }) => CallerDesk {
  const { tokenIssuers, tenant, publicUrl } = config
  const tokens = createTokenStore(database, tenant)
  const isOpen = hasIssuers(tokenIssuers)
  const outside = isOpen ? { outside: outsideTokens(config, database, means) } : {}
  const metadata =
    isOpen && publicUrl !== undefined ? { metadataUrl: (resource?: string) => metadataUrl(publicUrl, resource) } : {}
  const first = means.firstToken ?? config.adminToken
  const isOurs = (token: string): boolean => first !== undefined && equalInConstantTime(token, first.reveal())
  const agents = config.agents.map(({ slug }) => slug)
  const shared = { tokens, hash: sha256Hex, isOurs, agents, realm: config.domain, ...outside, ...metadata }
  return ({ isShared }) => createCallerDesk({ ...shared, isShared })
}

function outsideTokens({ tokenIssuers, tenant }: Config, database: Database, means: CallerMeans): OutsideTokens {
  const own = createUnpinnedFetch(means.fetch)
  return createOutsideTokens({
    issuers: tokenIssuers,
    fetch: { own, guarded: means.guardedFetch ?? own },
    memory: means.issuerMemory ?? createIssuerMemory(),
    used: createUsedTokens(database, tenant),
    hash: sha256Hex,
    now: means.now,
    log: means.log,
  })
}

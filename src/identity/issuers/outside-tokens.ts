// Tokens of other issuers: whom to ask about one, whether it is for this agent, and whose it is. What is wrong with one
// has a name of its own; a token we know nothing about causes no request to any server.
import type { Bearer, Log, RejectReason } from '../../contract/index.ts'
import type { IssuerFetch } from './ask-issuer.ts'
import { createIntrospection } from './introspect.ts'
import { createIssuerKeys } from './issuer-keys.ts'
import type { IssuerMemory } from './issuer-memory.ts'
import { type AudienceScene, agentMeant } from './judge-claims.ts'
import type { TokenClaims } from './token-claims.ts'
import { tokenHolder } from './token-holder.ts'
import type { IntrospectedIssuer, JwtIssuer, TokenIssuers } from './token-issuer.ts'
import type { UsedTokens } from './used-tokens.ts'
import { readJwt, verifyJwt } from './verify-jwt.ts'

export type OutsideDeps = {
  readonly issuers: TokenIssuers
  readonly fetch: IssuerFetch
  readonly memory: IssuerMemory
  readonly used: UsedTokens
  readonly hash: (text: string) => Promise<string>
  readonly now: () => number
  readonly log: Pick<Log, 'warn'>
}

export type OutsideVerdict =
  /** `use`: false when it counts once and has been used. To be asked last, when nothing else is wrong. */
  | { readonly kind: 'held'; readonly bearer: Bearer; readonly use: () => Promise<boolean> }
  | { readonly kind: 'rejected'; readonly reason: RejectReason }

export interface OutsideTokens {
  verify(token: string, scene: AudienceScene): Promise<OutsideVerdict>
}

type Checked =
  | { readonly ok: true; readonly claims: TokenClaims; readonly issuer: JwtIssuer | IntrospectedIssuer }
  | { readonly ok: false; readonly reason: RejectReason }

export function createOutsideTokens(deps: OutsideDeps): OutsideTokens {
  const { jwt, introspected } = deps.issuers
  const keys = new Map(jwt.map((each) => [each.issuer, createIssuerKeys(deps, each)]))
  const ask = introspected === undefined ? undefined : createIntrospection(deps, introspected)
  const check = async (token: string): Promise<Checked> => {
    const read = readJwt(token)
    const issuer = jwt.find((each) => each.issuer === read?.issuer)
    const known = issuer === undefined ? undefined : keys.get(issuer.issuer)
    if (read !== undefined && issuer !== undefined && known !== undefined) {
      const verdict = await verifyJwt(token, read, issuer, { keys: known, now: deps.now })
      return verdict.ok ? { ...verdict, issuer } : verdict
    }
    // Many servers hand out signed tokens and yet want to be asked about them.
    if (ask === undefined || introspected === undefined)
      return { ok: false, reason: read === undefined ? 'invalid_token' : 'token_issuer' }
    const verdict = await ask(token)
    return verdict.ok ? { ...verdict, issuer: introspected } : verdict
  }
  return {
    async verify(token, scene) {
      const checked = await check(token)
      if (!checked.ok) return rejected(checked.reason)
      const { claims, issuer } = checked
      const agent = agentMeant(claims.audience, issuer.audience, scene)
      if (agent === undefined) return rejected('token_audience')
      const kind = 'proves' in issuer && issuer.proves === 'agent' ? 'jwt' : 'oauth'
      const bearer = await tokenHolder(deps.hash, issuer, { claims, kind, agent })
      if (bearer === undefined) return rejected('invalid_token')
      return { kind: 'held', bearer, use: () => useOnce(deps, issuer, claims) }
    },
  }
}

async function useOnce({ used, hash }: OutsideDeps, issuer: JwtIssuer | IntrospectedIssuer, claims: TokenClaims) {
  if (!('oneShot' in issuer && issuer.oneShot)) return true
  // A little longer than it could be shown: clocks differ.
  const until = (claims.expiresAt ?? 0) + 120
  return used.use(await hash(JSON.stringify([issuer.issuer, claims.id])), until)
}

function rejected(reason: RejectReason): OutsideVerdict {
  return { kind: 'rejected', reason }
}

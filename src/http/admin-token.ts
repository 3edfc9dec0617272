// Callers of the operator's routes by their token: an operator, with the first token or one that was made, or a person whose token shows what is theirs.
import type { Context } from 'hono'
import { GatewayError, type WorkspaceScope } from '../contract/index.ts'
import { authenticateToken, parseBearerHeader, type TokenHolder } from '../identity/tokens.ts'
import { equalInConstantTime, sha256Hex } from '../lib/index.ts'
import type { AppDeps } from './deps.ts'

export type Caller =
  /** `mayChange`: false for one who only looks, and sees nothing that was said. */
  | { readonly kind: 'operator'; readonly label: string; readonly mayChange: boolean }
  | {
      readonly kind: 'owner'
      readonly label: string
      readonly principal: string
      /** Undefined: wherever it is. */
      readonly workspace: WorkspaceScope | undefined
    }
  /** Valid, and for other routes than these. */
  | { readonly kind: 'runner'; readonly label: string }

/** Undefined: no token, or one that is not valid. */
export async function readTokenCaller(
  deps: Pick<AppDeps, 'adminToken' | 'tokens'>,
  context: Context,
): Promise<Caller | undefined> {
  const given = parseBearerHeader(context.req.header('authorization')) ?? ''
  if (equalInConstantTime(given, deps.adminToken.reveal()))
    return { kind: 'operator', label: 'first token', mayChange: true }
  const holder = await authenticateToken({ tokens: deps.tokens, hash: sha256Hex }, given)
  return holder === undefined ? undefined : callerRole(holder)
}

function callerRole({ label, scopes, principal, workspace }: TokenHolder): Caller {
  const isAdmin = scopes.includes('admin')
  // A principal narrows whatever the scopes say.
  if (principal !== null) {
    const seesOwn = isAdmin || scopes.includes('own')
    return seesOwn ? { kind: 'owner', label, principal, workspace } : { kind: 'runner', label }
  }
  if (isAdmin || scopes.includes('read')) return { kind: 'operator', label, mayChange: isAdmin }
  return { kind: 'runner', label }
}

/** Looking at numbers needs no more than a token for looking. */
export async function holdsOperatorToken(
  deps: Pick<AppDeps, 'adminToken' | 'tokens'>,
  context: Context,
): Promise<boolean> {
  return (await readTokenCaller(deps, context))?.kind === 'operator'
}

const callerKey = 'caller'

/** The caller that passed the check of the operator's routes. */
export type AdmittedCaller = Exclude<Caller, { readonly kind: 'runner' }>

export function setAdmittedCaller(context: Context, caller: AdmittedCaller): void {
  context.set(callerKey, caller)
}

/** Behind the check of the operator's routes there is always one. */
export function getAdmittedCaller(context: Context): AdmittedCaller {
  const caller = context.get(callerKey) as AdmittedCaller | undefined
  if (caller === undefined) throw new GatewayError('unauthorized', 'send Authorization: Bearer with a valid token')
  return caller
}

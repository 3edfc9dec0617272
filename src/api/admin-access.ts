// Access to the admin routes: callers by their token (an operator's, or one that shows a person what is theirs), scopes per route,
// and the audit of both.
import type { Context, Next } from 'hono'
import type { WorkspaceScope } from '../contract/workspace-scope.ts'
import { type AuditLine, recordAudit } from '../db/audit.ts'
import type { Resolver } from '../db/pending-actions.ts'
import type { TokenHolder, TokenScope } from '../db/tokens.ts'
import { authenticateToken, parseBearerHeader } from '../identity/tokens.ts'
import { GatewayError, isGatewayError } from '../lib/errors.ts'
import { equalInConstantTime, sha256Hex } from '../lib/index.ts'
import { errorLogFields } from '../lib/log.ts'
import type { AppDeps } from './deps.ts'
import { addTraceToProblem } from './http-answers.ts'

type Caller =
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
  return holder === undefined ? undefined : tokenHolderToCaller(holder)
}

function tokenHolderToCaller({ label, scopes, principal, workspace }: TokenHolder): Caller {
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
type AdmittedCaller = Exclude<Caller, { readonly kind: 'runner' }>

export function setAdmittedCaller(context: Context, caller: AdmittedCaller): void {
  context.set(callerKey, caller)
}

/** Behind the check of the operator's routes there is always one. */
export function getAdmittedCaller(context: Context): AdmittedCaller {
  const caller = context.get(callerKey) as AdmittedCaller | undefined
  if (caller === undefined) throw new GatewayError('unauthorized', 'send Authorization: Bearer with a valid token')
  return caller
}

// Every route says which tokens open it. One that says nothing needs a token that may do everything.

const socketHolder: Caller = { kind: 'operator', label: 'local socket', mayChange: true }

const authenticatedKey = 'authenticated-caller'

/** Before any operator's route: who asks. Whether they may ask this says the route. */
export async function authenticateAdminCaller(deps: AppDeps, context: Context, next: Next): Promise<void> {
  const isLocal = deps.sourceOf(context) === 'local'
  if (!isLocal && deps.mayOperate?.(context) !== true)
    throw new GatewayError('not_found', 'the operator routes answer on the gateway machine only')
  // A caller who can open the socket can read the first token beside it. A token that is not valid is never taken for none.
  const needsToken = !isLocal || context.req.header('authorization') !== undefined
  const caller = needsToken ? await readTokenCaller(deps, context) : socketHolder
  if (caller === undefined)
    throw new GatewayError(
      'unauthorized',
      'send Authorization: Bearer with an admin token that is valid (PARLEY_ADMIN_TOKEN, admin-token in the data folder, or one made with parley tokens create), or ask through the socket in the data folder',
    )
  if (caller.kind === 'runner')
    throw new GatewayError(
      'forbidden',
      'this token talks to agents; for this route use one with the scope admin, read or own (parley tokens create --scope …)',
    )
  context.set(authenticatedKey, caller)
  await next()
}

/** At an operator's route: only with a token of one of its scopes. */
export function admitCallerWithScopes(context: Context, scopes: readonly TokenScope[]): void {
  const caller = context.get(authenticatedKey) as AdmittedCaller | undefined
  if (caller === undefined) throw new GatewayError('unauthorized', 'send Authorization: Bearer with a valid token')
  if (caller.kind === 'owner' && !scopes.includes('own'))
    throw new GatewayError(
      'forbidden',
      'this token shows what belongs to its principal; for this route use an operator token (parley tokens create without --principal)',
    )
  if (caller.kind === 'operator' && !caller.mayChange && !scopes.includes('read'))
    throw new GatewayError(
      'forbidden',
      'this token reads what holds no content; for this route use one with the scope admin (parley tokens create)',
    )
  setAdmittedCaller(context, caller)
}

// Rejected callers are counted, logged, remembered for a while, and at most one line a minute and kind in the audit log, with how
// many they were. A write per forged request would be an invitation.

type Deps = Pick<AppDeps, 'db' | 'log' | 'meter' | 'newTrace' | 'now' | 'rejections' | 'sourceOf'>

/** Around the check of the token: an error it threw has been made an answer by now. */
export async function recordRefusedCallers(deps: Deps, context: Context, next: Next): Promise<void> {
  await next()
  const reason = findCallerRefusal(context)
  if (reason === undefined) return
  const trace = deps.newTrace()
  deps.meter.callerRefused(reason)
  deps.log.warn('caller_refused', { trace, reason })
  deps.rejections.add({
    at: new Date(deps.now()).toISOString(),
    trace,
    reason,
    connection: 'admin',
    bytes: null,
    isLocal: deps.sourceOf(context) !== 'remote',
  })
  const told = await addTraceToProblem(context.res, trace)
  // Headers of an answer that is there already would win over those of the one that takes its place.
  context.res = undefined
  context.res = told
  const count = deps.rejections.due(reason, deps.now())
  if (count === undefined) return
  const line = { action: 'caller.admit', outcome: 'refused', code: reason, traceId: trace, detail: { count } }
  // The caller is refused, whether or not that can be written down.
  await recordAudit(deps.db, line).catch((error) =>
    deps.log.warn('audit_failed', { trace, ...errorLogFields(error, 'internal') }),
  )
}

/** `forbidden` also says that a valid token decided wrongly about something of its own; only rejected callers count here. */
function findCallerRefusal(context: Context): string | undefined {
  const { error } = context
  if (isGatewayError(error, 'unauthorized'))
    return context.req.header('authorization') === undefined ? 'no_token' : 'bad_token'
  return isGatewayError(error, 'forbidden') && context.get('caller') === undefined ? 'wrong_scope' : undefined
}

// What changes rows is written to the audit log by the statement that changes them; here stand the rest: attempts that came to
// nothing, and acts that are no statement of their own.

/** Who acts, as statements and lines name them: an operator by their token, a person by their subject. */
export function actorName(context: Context): string {
  const caller = getAdmittedCaller(context)
  return caller.kind === 'operator' ? `operator:${caller.label}` : caller.principal
}

export type AuditedAct = Pick<
  AuditLine,
  'action' | 'outcome' | 'code' | 'objectId' | 'inboxId' | 'connection' | 'detail'
>

/** Before the answer is given: no caller is told of an act that the log does not know. */
export async function auditCallerAction({ db }: Pick<AppDeps, 'db'>, context: Context, act: AuditedAct): Promise<void> {
  const caller = getAdmittedCaller(context)
  const who = caller.kind === 'operator' ? { actor: actorName(context) } : { subject: caller.principal }
  await recordAudit(db, { ...act, ...who })
}

/** An operator decides about all, a person about what is theirs. Who it is says the token, and nothing in the request. */
export function deciderFromCaller(context: Context, tenant: string): Resolver {
  const caller = getAdmittedCaller(context)
  const owner = caller.kind === 'operator' ? null : caller.principal
  // The caller who holds a person's token is that person by delegation.
  const proven = owner === null ? {} : { assurance: 'delegated' }
  return {
    name: actorName(context),
    isOperator: owner === null,
    ...proven,
    scope: { tenant, conversationId: null, owner },
  }
}

// Callers of the operator's routes who were rejected: counted, logged, remembered for a while, and at most one line a
// minute and kind in the audit log, with how many they were. A write per forged request would be an invitation.
import type { Context, Next } from 'hono'
import { errorLogFields, isGatewayError } from '../contract/index.ts'
import type { AppDeps } from './deps.ts'
import { addTraceToProblem } from './status.ts'

type Deps = Pick<AppDeps, 'audit' | 'log' | 'meter' | 'newTrace' | 'now' | 'rejections' | 'sourceOf'>

/** Around the check of the token: an error it threw has been made an answer by now. */
export async function recordRefusedCallers(deps: Deps, context: Context, next: Next): Promise<void> {
  await next()
  const reason = callerRefusal(context)
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
  await deps.audit
    .record(line)
    .catch((error) => deps.log.warn('audit_failed', { trace, ...errorLogFields(error, 'internal') }))
}

/** `forbidden` also says that a valid token decided wrongly about something of its own; only rejected callers count here. */
function callerRefusal(context: Context): string | undefined {
  const { error } = context
  if (isGatewayError(error, 'unauthorized'))
    return context.req.header('authorization') === undefined ? 'no_token' : 'bad_token'
  return isGatewayError(error, 'forbidden') && context.get('caller') === undefined ? 'wrong_scope' : undefined
}

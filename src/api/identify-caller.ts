// Identifies the caller of an API route, or gives the answer that rejects them: the same words as for a message.
import type { Context } from 'hono'
import { GatewayError } from '../lib/errors.ts'
import type { ApiCaller, CallerRequest, CallerVerdict } from './api-callers.ts'
import type { AppDeps } from './deps.ts'
import { answerToResponse, webhookAnswer } from './http-answers.ts'

type Deps = Pick<AppDeps, 'callers' | 'headersOf' | 'sourceOf' | 'log' | 'meter' | 'newTrace' | 'now' | 'rejections'>

const callerKey = 'admitted-api-caller'

/** Behind the check of a route for callers there is always one. */
export function getApiCaller(context: Context): ApiCaller {
  const caller = context.get(callerKey) as ApiCaller | undefined
  if (caller === undefined) throw new GatewayError('unauthorized', 'send Authorization: Bearer with a valid token')
  return caller
}

export async function identifyApiCaller(deps: Deps, context: Context): Promise<ApiCaller | Response> {
  const verdict = await identifyCallerOnce(deps, context)
  switch (verdict.kind) {
    case 'admitted':
      context.set(callerKey, verdict.caller)
      return verdict.caller
    case 'rejected':
      return rejectApiCaller(deps, context, verdict)
    case 'refused':
      throw new GatewayError('forbidden', 'you may not write to this agent; ask the operator of this gateway')
    case 'absent':
      throw apiNotFound()
  }
}

const verdictKey = 'api-caller'

/** Asked once per request, however many look at it. */
export async function identifyCallerOnce(
  deps: Pick<Deps, 'callers' | 'headersOf' | 'sourceOf' | 'now'>,
  context: Context,
): Promise<CallerVerdict> {
  const known = context.get(verdictKey) as CallerVerdict | undefined
  const verdict = known ?? (await deps.callers.identify(toCallerRequest(deps, context)))
  context.set(verdictKey, verdict)
  return verdict
}

/** Nothing of theirs is kept but that they were there. */
export function rejectApiCaller(
  deps: Deps,
  context: Context,
  { connection, ...rejected }: Extract<CallerVerdict, { kind: 'rejected' }>,
): Response {
  const { reason } = rejected
  const trace = deps.newTrace()
  const at = new Date(deps.now()).toISOString()
  deps.meter.callerRefused(reason)
  deps.log.warn('caller_refused', { trace, reason, connection })
  deps.rejections.add({ at, connection, isLocal: deps.sourceOf(context) !== 'remote', bytes: null, reason, trace })
  return answerToResponse(webhookAnswer({ ...rejected, trace }))
}

/** No connection answers the API here. */
export function apiNotFound(): GatewayError {
  return new GatewayError('not_found', 'see the README for the routes there are')
}

export function toCallerRequest(deps: Pick<Deps, 'headersOf' | 'sourceOf' | 'now'>, context: Context): CallerRequest {
  return {
    headers: deps.headersOf?.(context) ?? context.req.header(),
    from: deps.sourceOf(context),
    receivedAt: new Date(deps.now()).toISOString(),
  }
}

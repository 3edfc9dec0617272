// Identifies the caller of an API route, or gives the answer that rejects them: the same words as for a message.
import type { Context } from 'hono'
import { GatewayError } from '../lib/errors.ts'
import type { ApiCaller, CallerIdentification, CallerRequest } from './api-callers.ts'
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
  const identification = await identifyCallerOnce(deps, context)
  switch (identification.kind) {
    case 'admitted':
      context.set(callerKey, identification.caller)
      return identification.caller
    case 'rejected':
      return rejectApiCaller(deps, context, identification)
    case 'refused':
      throw new GatewayError('forbidden', 'you may not write to this agent; ask the operator of this gateway')
    case 'absent':
      throw apiNotFoundError()
  }
}

const identificationKey = 'api-caller'

/** Asked once per request, however many look at it. */
export async function identifyCallerOnce(
  deps: Pick<Deps, 'callers' | 'headersOf' | 'sourceOf' | 'now'>,
  context: Context,
): Promise<CallerIdentification> {
  const known = context.get(identificationKey) as CallerIdentification | undefined
  const identification = known ?? (await deps.callers.identify(toCallerRequest(deps, context)))
  context.set(identificationKey, identification)
  return identification
}

/** Nothing of theirs is kept but that they were there. */
export function rejectApiCaller(
  deps: Deps,
  context: Context,
  { connection, ...rejected }: Extract<CallerIdentification, { kind: 'rejected' }>,
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
export function apiNotFoundError(): GatewayError {
  return new GatewayError('not_found', 'see the README for the routes there are')
}

export function toCallerRequest(deps: Pick<Deps, 'headersOf' | 'sourceOf' | 'now'>, context: Context): CallerRequest {
  return {
    headers: deps.headersOf?.(context) ?? context.req.header(),
    from: deps.sourceOf(context),
    receivedAt: new Date(deps.now()).toISOString(),
  }
}

// The caller of an API route, or the answer that rejects them: the same words as for a message.
import type { Context } from 'hono'
import { GatewayError } from '../contract/index.ts'
import type { ApiCaller, CallerRequest, CallerVerdict } from './api-callers.ts'
import type { AppDeps } from './deps.ts'
import { hookAnswer, respond } from './status.ts'

type Deps = Pick<AppDeps, 'callers' | 'headersOf' | 'sourceOf' | 'log' | 'meter' | 'newTrace' | 'now' | 'rejections'>

export async function identified(deps: Deps, context: Context): Promise<ApiCaller | Response> {
  const verdict = await verdictOn(deps, context)
  switch (verdict.kind) {
    case 'admitted':
      return verdict.caller
    case 'rejected':
      return turnedAway(deps, context, verdict)
    case 'refused':
      throw new GatewayError('forbidden', 'you may not write to this agent; ask the operator of this gateway')
    case 'absent':
      throw noApi()
  }
}

const verdictKey = 'api-caller'

/** Asked once per request, however many look at it. */
export async function verdictOn(
  deps: Pick<Deps, 'callers' | 'headersOf' | 'sourceOf' | 'now'>,
  context: Context,
): Promise<CallerVerdict> {
  const known = context.get(verdictKey) as CallerVerdict | undefined
  const verdict = known ?? (await deps.callers.identify(callerRequest(deps, context)))
  context.set(verdictKey, verdict)
  return verdict
}

/** Nothing of theirs is kept but that they were there. */
export function turnedAway(
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
  return respond(hookAnswer({ ...rejected, trace }))
}

/** No connection answers the API here. */
export function noApi(): GatewayError {
  return new GatewayError('not_found', 'see the README for the routes there are')
}

export function callerRequest(deps: Pick<Deps, 'headersOf' | 'sourceOf' | 'now'>, context: Context): CallerRequest {
  return {
    headers: deps.headersOf?.(context) ?? context.req.header(),
    from: deps.sourceOf(context),
    receivedAt: new Date(deps.now()).toISOString(),
  }
}

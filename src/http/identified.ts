// The caller of an API route, or the answer that turns them away: the same words as for a message.
import type { Context } from 'hono'
import { GatewayError } from '../contract/index.ts'
import type { ApiCaller } from './api-callers.ts'
import type { AppDeps } from './deps.ts'
import { hookAnswer, respond } from './status.ts'

type Deps = Pick<AppDeps, 'callers' | 'headersOf' | 'isLoopback' | 'log' | 'newTrace' | 'now' | 'rejections'>

export async function identified(deps: Deps, context: Context): Promise<ApiCaller | Response> {
  const isLoopback = deps.isLoopback(context)
  const receivedAt = new Date(deps.now()).toISOString()
  const headers = deps.headersOf?.(context) ?? context.req.header()
  const verdict = await deps.callers.identify({ headers, isLoopback, receivedAt })
  switch (verdict.kind) {
    case 'admitted':
      return verdict.caller
    case 'rejected': {
      const { connection, ...rejected } = verdict
      const { reason } = rejected
      const trace = deps.newTrace()
      deps.log.warn('caller_refused', { trace, reason, connection })
      deps.rejections.add({ at: receivedAt, connection, isLocal: isLoopback, bytes: null, reason, trace })
      return respond(hookAnswer({ ...rejected, trace }))
    }
    case 'refused':
      throw new GatewayError('forbidden', 'you may not write to this agent; ask whoever runs this gateway')
    case 'absent':
      throw new GatewayError('not_found', 'see the README for the routes there are')
  }
}

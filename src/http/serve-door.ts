// The request context of a channel that answers a request itself: how it delivers what the request says, and the trace of it.
import type { Context } from 'hono'
import { errorLogFields, type ServeContext } from '../contract/index.ts'
import type { GatewayConnection } from '../turns/deps.ts'
import type { AppDeps } from './deps.ts'
import { deliverInbound } from './hand-in.ts'

export function createServeContext(deps: AppDeps, at: GatewayConnection, context: Context): ServeContext {
  const entry = deps.gateway.enter(context.req.header('traceparent'))
  const receivedAt = new Date(deps.now()).toISOString()
  const from = deps.sourceOf(context)
  return {
    from,
    receivedAt,
    async take(messages) {
      const acceptances = await deps.gateway.take(at, messages, entry)
      deps.bodyTaken?.(context)
      return acceptances
    },
    async receive(arrival) {
      const answer = await deliverInbound(deps, at, arrival)
      deps.bodyTaken?.(context)
      if (deps.failpoint !== undefined) await deps.failpoint('before:answer')
      return answer
    },
    turnAway(reason) {
      deps.gateway.turnAway(at, reason, entry)
      const { trace } = entry
      deps.rejections.add({ at: receivedAt, connection: at.key, isLocal: from !== 'remote', bytes: 0, reason, trace })
      return trace
    },
    fail(error) {
      deps.log.error('request_crashed', { trace: entry.trace, ...errorLogFields(error, 'internal') })
      return entry.trace
    },
    keepOpen: (work) => deps.keepOpen?.(work),
  }
}

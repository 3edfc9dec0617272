// Health for machines: /healthz, /readyz and /metrics. Numbers and names of connections are for authorized callers only:
// callers through the socket of the data folder, and callers with an operator's token, which may be one for reading.
import type { Context, Hono } from 'hono'
import { GatewayError } from '../contract/index.ts'
import { healthMetrics } from '../observability/health-metrics.ts'
import { formatPrometheus, prometheusContentType } from '../observability/prometheus.ts'
import { holdsOperatorToken } from './admin-access.ts'
import type { AppDeps } from './deps.ts'
import { jsonBodyAnswer, notReadyAnswer } from './http-answers.ts'

export function addHealthRoutes(app: Hono, deps: AppDeps): void {
  app.get('/healthz', () => uncachedResponse(jsonBodyAnswer(200, { status: 'up' })))
  app.get('/readyz', (context) => answerReadyz(deps, context))
  app.get('/metrics', (context) => answerMetrics(deps, context))
}

/** Reasons name connections and statements: strangers learn the colour. */
const hiddenReasons = {
  code: 'not_ready',
  remedy:
    'ask with Authorization: Bearer and an operator token for the reasons, or through the socket in the data folder',
} as const

async function answerReadyz(deps: AppDeps, context: Context): Promise<Response> {
  const { problems, warnings, detail } = await deps.readReadiness()
  const isShown = await maySeeDetails(deps, context)
  const shown = isShown ? detail : {}
  const [first] = problems
  const all = [...problems, ...warnings]
  if (all.length === 0) return uncachedResponse(jsonBodyAnswer(200, { status: 'ready', ...shown }))
  // A load balancer goes on sending requests here: what is wrong concerns people who are not admitted, or files.
  if (first === undefined)
    return uncachedResponse(
      jsonBodyAnswer(200, { status: 'degraded', ...(isShown ? { problems: all } : {}), ...shown }),
    )
  if (!isShown) return uncachedResponse(notReadyAnswer(hiddenReasons, { status: 'not_ready' }))
  return uncachedResponse(notReadyAnswer(first, { status: 'not_ready', problems: all, ...shown }))
}

async function answerMetrics(deps: AppDeps, context: Context): Promise<Response> {
  const { access, readHealthSamples, readProcess } = deps.metrics
  if (access === 'off') throw new GatewayError('not_found', 'metrics are switched off; unset PARLEY_METRICS')
  if (access !== 'public' && !(await maySeeDetails(deps, context))) {
    throw new GatewayError(
      'unauthorized',
      'send Authorization: Bearer with an operator token (parley tokens create --scope read), or scrape through the socket in the data folder, or set PARLEY_METRICS=public',
    )
  }
  const connections = deps.gateway.connections.map((each) => each.key)
  // Without the database there is still a process to look at.
  const [signs, own] = await Promise.all([readHealthSamples().catch(() => undefined), readProcess?.() ?? ''])
  const body = own + formatPrometheus(healthMetrics(signs, connections))
  return uncachedResponse({ status: 200, headers: { 'content-type': prometheusContentType }, body })
}

async function maySeeDetails(deps: AppDeps, context: Context): Promise<boolean> {
  return deps.sourceOf(context) === 'local' || holdsOperatorToken(deps, context)
}

function uncachedResponse({ status, headers, body }: ReturnType<typeof jsonBodyAnswer>): Response {
  return new Response(body ?? null, { status, headers: { ...headers, 'cache-control': 'no-store' } })
}

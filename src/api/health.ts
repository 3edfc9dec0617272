// Health for machines: /healthz, /readyz and /metrics. Numbers and names of connections are for authorized callers only:
// callers through the socket of the data folder, and callers with an operator's token, which may be one for reading.
import type { Context } from 'hono'
import * as z from 'zod'
import { GatewayError } from '../lib/errors.ts'
import { healthMetrics } from '../observability/health-metrics.ts'
import { formatPrometheus, prometheusContentType } from '../observability/prometheus.ts'
import { holdsOperatorToken } from './admin-access.ts'
import type { AppDeps } from './deps.ts'
import { answerToResponse, jsonBodyAnswer, notReadyAnswer, plainTextAnswer } from './http-answers.ts'
import { defineOperation, defineResource, fieldsSchema } from './resource.ts'

const problemSchema = z.object({ code: z.string(), remedy: z.string(), connection: z.string().optional() })
const numberOrNull = z.number().nullable()

/** What a caller with an operator's token is told besides: the same numbers as in the metrics, with names. */
const readinessDetail = {
  problems: z.array(problemSchema).optional(),
  database: z.object({ answers: z.boolean(), ms: z.number() }).optional(),
  loops: z.record(z.string(), numberOrNull).optional().meta({ description: 'Seconds since the last round of each' }),
  slots: fieldsSchema.optional().meta({ description: 'Who holds the slots of this process' }),
  lastInboundAge: numberOrNull.optional(),
  lastOutboundAge: numberOrNull.optional(),
  lag: numberOrNull.optional().meta({ description: 'Of the oldest work that is due, in seconds' }),
  connections: z.array(fieldsSchema).optional().meta({ description: 'As in GET /admin/connections' }),
  sources: z.array(fieldsSchema).optional(),
  listeners: z.array(fieldsSchema).optional(),
  models: z.array(fieldsSchema).optional(),
  publicUrl: fieldsSchema.optional(),
}

export const health = defineResource({
  name: 'health',
  tag: 'About the gateway',
  audience: 'anybody',
  operations: {
    live: defineOperation({
      method: 'get',
      path: '/healthz',
      id: 'isUp',
      summary: 'Whether the process runs',
      returns: 'It does',
      output: z.object({ status: z.literal('up') }),
      example: { status: 'up' },
      respond: () => uncachedResponse(jsonBodyAnswer(200, { status: 'up' })),
    }),
    ready: defineOperation({
      method: 'get',
      path: '/readyz',
      id: 'isReady',
      summary: 'Whether it can do its work',
      returns: 'It can',
      output: z.object({ status: z.enum(['ready', 'degraded']), ...readinessDetail }),
      problems: [503],
      respond: answerReadyz,
    }),
    metrics: defineOperation({
      method: 'get',
      path: '/metrics',
      id: 'readMetrics',
      audience: 'operator',
      scopes: ['admin', 'read'],
      summary: 'Counters in the Prometheus text format',
      answers: { 200: { what: 'Metrics', mediaType: 'text/plain' } },
      respond: answerMetrics,
    }),
    welcome: defineOperation({
      method: 'get',
      path: '/',
      id: 'readWelcome',
      summary: 'That it runs, and what to try first',
      answers: { 200: { what: 'A few lines', mediaType: 'text/plain' } },
      respond: () => answerToResponse(plainTextAnswer(200, welcome)),
    }),
  },
})

const welcome = `Parley is running. Its guide is README.md in the checkout.

What it can be asked: <this address>/docs/api, for programs /openapi.json.

Try, on its machine or with a token: curl -s <this address>/api/v1/agent/run -H 'content-type: application/json' \\
  -d '{"threadId":"t1","runId":"r1","messages":[{"id":"m1","role":"user","content":"hello"}]}'
`

/** Reasons name connections and statements: strangers learn the colour. */
const hiddenReasons = {
  code: 'not_ready',
  remedy:
    'ask with Authorization: Bearer and an operator token for the reasons, or through the socket in the data folder',
} as const

async function answerReadyz(deps: AppDeps, context: Context): Promise<Response> {
  const { problems, warnings, detail } = await deps.readReadiness()
  const isShown = await maySeeHealthDetails(deps, context)
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
  if (access !== 'public' && !(await maySeeHealthDetails(deps, context))) {
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

async function maySeeHealthDetails(deps: AppDeps, context: Context): Promise<boolean> {
  return deps.sourceOf(context) === 'local' || holdsOperatorToken(deps, context)
}

function uncachedResponse({ status, headers, body }: ReturnType<typeof jsonBodyAnswer>): Response {
  return new Response(body ?? null, { status, headers: { ...headers, 'cache-control': 'no-store' } })
}

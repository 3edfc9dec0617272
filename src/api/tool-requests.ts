// Tool requests over HTTP: what a client is asked to run, and its answer.
import type { Context, Hono } from 'hono'
import * as z from 'zod'
import { cancelledResult, submittedResult } from '../agents/client-tools.ts'
import { GatewayError } from '../contract/index.ts'
import { type ToolAnswer, toolRequestStatuses } from '../db/tool-requests.ts'
import { callerResolver, recordAct } from './admin-access.ts'
import type { AppDeps } from './deps.ts'
import { choiceParam, nextPageMark, readIdPage, readJsonRequest } from './request-input.ts'

const answerSchema = z.union([
  z.strictObject({ result: z.json(), metadata: z.record(z.string(), z.json()).optional() }),
  z.strictObject({ error: z.string().trim().min(1).max(2000), metadata: z.record(z.string(), z.json()).optional() }),
])
export const answerBody = {
  schema: answerSchema,
  maxBytes: 256 * 1024,
  remedy: 'send {"result": …} or {"error": "…"} as JSON',
} as const

type Deps = Pick<AppDeps, 'gateway' | 'wake' | 'audit'>

/** `base`: below the operator's routes, or below those of the API. */
export function addToolRequestRoutes(app: Hono, deps: Deps, base = '/admin'): void {
  const { gateway, wake } = deps
  const toolRequestResolver = (context: Context) => callerResolver(context, gateway.waits.tenant)
  app.get(`${base}/tool-requests`, async (context) => {
    const page = readIdPage(context)
    const filter = { ...page, status: choiceParam(context, 'status', toolRequestStatuses) }
    const found = await gateway.waits.toolRequests.list(toolRequestResolver(context).scope, filter)
    return context.json({ requests: found, next: nextPageMark(found, page.limit, (each) => each.id) })
  })
  app.get(`${base}/tool-requests/:id`, async (context) => {
    const found = await gateway.waits.toolRequests.get(toolRequestResolver(context).scope, toolRequestIdParam(context))
    if (found === undefined) throw toolRequestNotFound(base)
    return context.json({ request: found.request, parameters: found.parameters })
  })
  const answerRequest = async (context: Context, given: ToolAnswer) => {
    const { scope, name } = toolRequestResolver(context)
    const answered = await gateway.waits.toolRequests.answer(scope, toolRequestIdParam(context), given, name)
    if (answered.kind === 'refused') {
      const attempt = { action: 'tool_request.answer', outcome: 'refused', objectId: toolRequestIdParam(context) }
      await recordAct(deps, context, { ...attempt, code: answered.reason })
      if (answered.reason === 'not_found') throw toolRequestNotFound(base)
      throw new GatewayError('conflict', 'this request is not pending any more: its time is up, and the run went on')
    }
    wake()
    return context.json({ request: answered.request, duplicate: answered.isDuplicate })
  }
  app.post(`${base}/tool-requests/:id/submit`, async (context) =>
    answerRequest(context, submittedResult(await readJsonRequest(context, answerBody))),
  )
  app.post(`${base}/tool-requests/:id/cancel`, (context) => answerRequest(context, cancelledResult()))
  app.delete(`${base}/tool-requests/:id`, (context) => answerRequest(context, cancelledResult()))
}

/** Its id, or the request id the client was told. */
function toolRequestIdParam(context: Context): string {
  const name = context.req.param('id') ?? ''
  if (/^[0-9a-f-]{36}$|^runtime-tool-[0-9a-f]{64}$/.test(name)) return name
  throw new GatewayError('bad_request', 'the id must be a UUID or a request id, as the lists show them')
}

function toolRequestNotFound(base: string): GatewayError {
  return new GatewayError('not_found', `no such request; list them with GET ${base}/tool-requests`)
}

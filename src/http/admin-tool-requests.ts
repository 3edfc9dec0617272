// Tools that a client runs, over HTTP: what is asked for, and the answer.
import type { Context, Hono } from 'hono'
import * as z from 'zod'
import { cancelledResult, submittedResult } from '../agent/runtime-tools/tool-answer.ts'
import { type ToolAnswer, toolRequestStatuses } from '../agent/runtime-tools/tool-request-store.ts'
import { GatewayError } from '../contract/index.ts'
import type { AppDeps } from './deps.ts'
import { jsonBody } from './json-body.ts'
import { noteAct } from './note-act.ts'
import { choiceOf, idPageOf, nextOf } from './query.ts'
import { resolverOf } from './resolver.ts'

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
  const resolverIn = (context: Context) => resolverOf(context, gateway.waits.tenant)
  app.get(`${base}/tool-requests`, async (context) => {
    const page = idPageOf(context)
    const filter = { ...page, status: choiceOf(context, 'status', toolRequestStatuses) }
    const found = await gateway.waits.toolRequests.list(resolverIn(context).scope, filter)
    return context.json({ requests: found, next: nextOf(found, page.limit, (each) => each.id) })
  })
  app.get(`${base}/tool-requests/:id`, async (context) => {
    const found = await gateway.waits.toolRequests.get(resolverIn(context).scope, nameOf(context))
    if (found === undefined) throw unknownRequest(base)
    return context.json({ request: found.request, parameters: found.parameters })
  })
  const answer = async (context: Context, given: ToolAnswer) => {
    const { scope, name } = resolverIn(context)
    const answered = await gateway.waits.toolRequests.answer(scope, nameOf(context), given, name)
    if (answered.kind === 'refused') {
      const attempt = { action: 'tool_request.answer', outcome: 'refused', objectId: nameOf(context) }
      await noteAct(deps, context, { ...attempt, code: answered.reason })
      if (answered.reason === 'not_found') throw unknownRequest(base)
      throw new GatewayError('conflict', 'this request is not pending any more: its time is up, and the run went on')
    }
    wake()
    return context.json({ request: answered.request, duplicate: answered.isDuplicate })
  }
  app.post(`${base}/tool-requests/:id/submit`, async (context) =>
    answer(context, submittedResult(await jsonBody(context, answerBody))),
  )
  app.post(`${base}/tool-requests/:id/cancel`, (context) => answer(context, cancelledResult()))
  app.delete(`${base}/tool-requests/:id`, (context) => answer(context, cancelledResult()))
}

/** Its id, or the request id the client was told. */
function nameOf(context: Context): string {
  const name = context.req.param('id') ?? ''
  if (/^[0-9a-f-]{36}$|^runtime-tool-[0-9a-f]{64}$/.test(name)) return name
  throw new GatewayError('bad_request', 'the id must be a UUID or a request id, as the lists show them')
}

function unknownRequest(base: string): GatewayError {
  return new GatewayError('not_found', `no such request; list them with GET ${base}/tool-requests`)
}

// Pending actions over HTTP: listed and decided by operators and owners. What is not theirs is not there.
import type { Context, Hono } from 'hono'
import * as z from 'zod'
import { requireResolved } from '../agents/approvals/approval-messages.ts'
import { pendingActionStatuses, readDecision } from '../agents/approvals/pending-action.ts'
import { cleanText, GatewayError } from '../contract/index.ts'
import type { Verdict } from '../db/pending-actions.ts'
import { callerResolver, recordAct } from './admin-access.ts'
import type { AppDeps } from './deps.ts'
import { choiceParam, idParam, nextPageMark, readIdPage, readJsonRequest } from './request-input.ts'

const decisionSchema = z.strictObject({
  // Judged apart, so that a wrong word is told in the words of the original.
  decision: z.unknown().optional(),
  hash: z.string().max(100).optional(),
  reason: z
    .string()
    .transform((text) => cleanText(text).trim())
    .pipe(z.string().max(200))
    .optional(),
})
export const decisionBody = {
  schema: decisionSchema,
  maxBytes: 4096,
  remedy: 'send {"decision": "accepted" or "rejected"} as JSON, with "hash" and "reason" if you like',
} as const

type Deps = Pick<AppDeps, 'gateway' | 'wake' | 'audit'>

/** `base`: below the operator's routes, or below those of the API. */
export function addApprovalRoutes(app: Hono, deps: Deps, base = '/admin'): void {
  const { gateway, wake } = deps
  const approvalResolver = (context: Context) => callerResolver(context, gateway.waits.tenant)
  app.get(`${base}/approvals`, async (context) => {
    const page = readIdPage(context)
    const filter = { ...page, status: choiceParam(context, 'status', pendingActionStatuses) }
    const found = await gateway.waits.actions.list(approvalResolver(context).scope, filter)
    return context.json({ actions: found, next: nextPageMark(found, page.limit, (each) => each.action_id) })
  })
  app.get(`${base}/approvals/summary`, async (context) =>
    context.json({ summary: await gateway.waits.actions.summary(approvalResolver(context).scope) }),
  )
  app.get(`${base}/approvals/:id`, async (context) => {
    const action = await gateway.waits.actions.get(approvalResolver(context).scope, idParam(context))
    if (action === undefined)
      throw new GatewayError('not_found', `no such pending action; list them with GET ${base}/approvals`)
    return context.json({ action })
  })
  const resolveApproval = async (context: Context, verdict: Verdict) => {
    const resolution = await gateway.waits.actions.resolve(idParam(context), verdict, approvalResolver(context))
    if (resolution.kind === 'refused') {
      const attempt = { action: 'approval.resolve', outcome: 'refused', objectId: idParam(context) }
      await recordAct(deps, context, { ...attempt, code: resolution.reason, detail: { wanted: verdict.status } })
    }
    const { action, isDuplicate } = requireResolved(resolution)
    wake()
    return context.json({ action_id: action.action_id, decision: action.status, action, duplicate: isDuplicate })
  }
  app.post(`${base}/approvals/:id/resolve`, async (context) => {
    const { decision, hash, reason } = await readJsonRequest(context, decisionBody)
    const bound = hash === undefined ? {} : { hash }
    return resolveApproval(context, { status: readDecision(decision), ...bound, ...(reason ? { reason } : {}) })
  })
  app.delete(`${base}/approvals/:id`, (context) => resolveApproval(context, { status: 'deleted' }))
}

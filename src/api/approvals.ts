// Pending actions: listed and decided by operators and owners. What is not theirs is not there.

import * as z from 'zod'
import { requireResolvedAction } from '../agents/approvals/approval-messages.ts'
import { pendingActionStatuses, readDecision } from '../agents/approvals/pending-action.ts'
import { describeApprovers } from '../agents/approvals/terms.ts'
import type { ActionLine, StoredDecision } from '../db/pending-actions.ts'
import {
  countActionsByStatus,
  getPendingAction,
  listPendingActions,
  resolvePendingAction,
} from '../db/pending-actions.ts'
import { cleanText } from '../lib/clean-text.ts'
import { GatewayError } from '../lib/errors.ts'
import { auditCallerAction, deciderFromCaller } from './admin-access.ts'
import { exampleId, formatFieldRows, type ResourceCommands } from './command.ts'
import {
  createNextPageMark,
  defineOperation,
  defineResource,
  idPageQuerySchema,
  instantSchema,
  jsonObjectSchema,
  jsonValueSchema,
  nextId,
  type OperationRequest,
} from './resource.ts'

const actionSchema = z
  .object({
    action_id: z.uuid(),
    kind: z.string(),
    summary: z.string(),
    preview: jsonValueSchema,
    created_at: instantSchema,
    agent: z.string().nullable(),
    creator: z.string().nullable(),
    expires_at: instantSchema.nullable(),
    status: z.enum(pendingActionStatuses),
    resolved_at: instantSchema.nullable(),
    resolver: z.string().nullable(),
    resolution_result: jsonValueSchema,
    resolution_error: z.string().nullable(),
    resolution_metadata: jsonObjectSchema,
    hash: z.string().meta({ description: 'Send it with a decision to decide about exactly this' }),
    resolvers: z
      .union([
        z.enum(['requester', 'anyone', 'other', 'operator']),
        z.object({
          requester: z.boolean().optional(),
          principals: z.array(z.string()).optional(),
          role: z.string().optional(),
          assurance: z.string().optional(),
        }),
      ])
      .meta({ description: 'Who may decide' }) as unknown as z.ZodType<ActionLine['resolvers']>,
    tool_name: z.string().nullable(),
    tool_call_id: z.string().nullable(),
    run_id: z.string().nullable(),
    session_id: z.string().nullable(),
    conversation_id: z.string(),
  })
  .meta({ id: 'PendingAction', description: 'An action that waits for a decision' })
export type PendingAction = z.infer<typeof actionSchema>

const resolvedSchema = z.object({
  action_id: z.uuid(),
  decision: z.string(),
  action: actionSchema,
  duplicate: z.boolean().meta({ description: 'The same had been decided before; nothing happens twice' }),
})

const getApprovalDecider = ({ deps, context }: Pick<OperationRequest, 'deps' | 'context'>) =>
  deciderFromCaller(context, deps.gateway.db.tenant)

async function decidePendingAction(
  request: Pick<OperationRequest<'/:id', Record<never, never>>, 'deps' | 'context' | 'params'>,
  decision: StoredDecision,
) {
  const { deps, context, params } = request
  const resolution = await resolvePendingAction(deps.gateway.db, params.id, decision, getApprovalDecider(request))
  if (resolution.kind === 'refused') {
    const attempt = { action: 'approval.resolve', outcome: 'refused', objectId: params.id }
    await auditCallerAction(deps, context, { ...attempt, code: resolution.reason, detail: { wanted: decision.status } })
  }
  const { action, isDuplicate } = requireResolvedAction(resolution)
  deps.wake()
  return { action_id: action.action_id, decision: action.status, action, duplicate: isDuplicate }
}

export const approvals = defineResource({
  name: 'approvals',
  tag: 'What is yours',
  audience: 'owner',
  operations: {
    list: defineOperation({
      method: 'get',
      path: '/approvals',
      id: 'ListApprovals',
      summary: 'Lists actions that wait for a decision',
      scopes: ['admin', 'own'],
      query: idPageQuerySchema().extend({
        status: z.enum(pendingActionStatuses).optional().meta({ description: 'What became of them' }),
      }),
      returns: 'A page of actions',
      output: z.object({ actions: z.array(actionSchema), next: nextId }),
      async handle(request) {
        const { limit, before = null, status = null } = request.query
        const found = await listPendingActions(request.deps.gateway.db, getApprovalDecider(request).scope, {
          limit,
          before,
          status,
        })
        return { actions: found, next: createNextPageMark(found, limit, (each) => each.action_id) }
      },
    }),
    summary: defineOperation({
      method: 'get',
      path: '/approvals/summary',
      id: 'CountApprovals',
      summary: 'Counts them by status',
      scopes: ['admin', 'read', 'own'],
      returns: 'How many there are of each status',
      output: z.object({ summary: z.record(z.string(), z.number().int()) }),
      handle: async (request) => ({
        summary: await countActionsByStatus(request.deps.gateway.db, getApprovalDecider(request).scope),
      }),
    }),
    get: defineOperation({
      method: 'get',
      path: '/approvals/:id',
      id: 'GetApproval',
      summary: 'Shows an action',
      scopes: ['admin', 'own'],
      returns: 'The action',
      output: z.object({ action: actionSchema }),
      problems: [404],
      async handle(request) {
        const { deps, params, base } = request
        const action = await getPendingAction(deps.gateway.db, getApprovalDecider(request).scope, params.id)
        if (action === undefined)
          throw new GatewayError('not_found', `no such pending action; list them with GET ${base}/approvals`)
        return { action }
      },
    }),
    resolve: defineOperation({
      method: 'post',
      path: '/approvals/:id/resolve',
      id: 'ResolveApproval',
      summary: 'Decides about an action, once',
      about: 'With hash: only if it is still the action that was shown.',
      scopes: ['admin', 'own'],
      body: {
        schema: z.strictObject({
          // A wrong word is told apart by readDecision, in the words of the original.
          decision: jsonValueSchema.optional().meta({ description: 'accepted or rejected' }),
          hash: z.string().max(100).optional().meta({ description: 'Decide only if the action still has this hash' }),
          reason: z
            .string()
            .transform((text) => cleanText(text).trim())
            .pipe(z.string().max(200))
            .optional()
            .meta({ description: 'Told to the agent' }),
        }),
        maxBytes: 4096,
        remedy: 'send {"decision": "accepted" or "rejected"} as JSON, with "hash" and "reason" if you like',
        example: { decision: 'accepted', reason: 'looks right' },
      },
      returns: 'The decision',
      output: resolvedSchema,
      problems: [403, 404, 409],
      handle(request) {
        const { decision, hash, reason } = request.body
        const bound = hash === undefined ? {} : { hash }
        return decidePendingAction(request, { status: readDecision(decision), ...bound, ...(reason ? { reason } : {}) })
      },
    }),
    delete: defineOperation({
      method: 'delete',
      path: '/approvals/:id',
      id: 'DeleteApproval',
      summary: 'Withdraws an action',
      scopes: ['admin', 'own'],
      returns: 'It is withdrawn',
      output: resolvedSchema,
      problems: [403, 404, 409],
      handle: (request) => decidePendingAction(request, { status: 'deleted' }),
    }),
  },
})

const actionWord = { id: 'Id of an action, as the list shows it' }
const decisionFlags = { decision: false, hash: { valueHint: 'hash' }, reason: { valueHint: 'text' } } as const

export const approvalsCommands = () =>
  ({
    description: 'What agents want to do and may not without a person.',
    examples: ['parley approvals list', `parley approvals accept ${exampleId}`],
    commands: {
      list: {
        name: 'list',
        description: 'List actions that wait for an approval, newest first.',
        examples: ['parley approvals list', 'parley approvals list --status accepted --json'],
        flags: { status: { options: [...pendingActionStatuses, 'all'], default: 'pending' } },
        rows: 'actions',
        columns: {
          ID: 'action_id',
          STATUS: 'status',
          AGENT: 'agent',
          FOR: 'creator',
          'MAY DECIDE': ({ resolvers }) => (typeof resolvers === 'object' ? describeApprovers(resolvers) : resolvers),
          EXPIRES: 'expires_at',
          WHAT: 'summary',
        },
        empty: 'Nothing there.',
      },
      get: {
        name: 'show',
        description: 'Show one action: what would happen, for whom, until when, and what became of it.',
        examples: [`parley approvals show ${exampleId}`],
        about: actionWord,
        text: ({ action }) => formatFieldRows(action),
      },
      resolve: [
        {
          name: 'accept',
          description: 'Let it happen.',
          examples: [`parley approvals accept ${exampleId}`],
          about: actionWord,
          flags: decisionFlags,
          fixed: { decision: 'accepted' },
          text: approvalDecisionText,
        },
        {
          name: 'reject',
          description: 'Refuse it; the agent is told.',
          examples: [`parley approvals reject ${exampleId}`],
          about: actionWord,
          flags: decisionFlags,
          fixed: { decision: 'rejected' },
          text: approvalDecisionText,
        },
      ],
      delete: {
        name: 'delete',
        description: 'Withdraw an action: it does not happen, and the agent is told.',
        examples: [`parley approvals delete ${exampleId}`],
        about: actionWord,
        text: approvalDecisionText,
      },
    },
  }) as const satisfies ResourceCommands<typeof approvals>

function approvalDecisionText(
  { action, duplicate }: z.infer<typeof resolvedSchema>,
  { isOffline }: { readonly isOffline: boolean },
): string {
  const words = `${action.status}: ${action.summary}`
  if (duplicate) return `${words} (decided before; nothing happens a second time)`
  return isOffline ? `${words}; a gateway goes on with it when it starts` : words
}

// OpenAPI of sessions, approvals, tool requests and runs, once for the admin routes and once for those of the API.
import * as z from 'zod'
import { pendingActionStatuses } from '../../agents/approvals/pending-action.ts'
import { toolRequestStatuses } from '../../db/tool-requests.ts'
import { decisionBody } from '../approvals.ts'
import {
  actionPageSchema,
  actionSchema,
  doneSchema,
  pageQuerySchema,
  resolvedSchema,
  sessionPageSchema,
  sessionWithLinesSchema,
  summarySchema,
  titledSchema,
  toolAnsweredSchema,
  toolRequestPageSchema,
  toolRequestShownSchema,
} from '../schemas.ts'
import { maxPageSize, titleBody } from '../sessions.ts'
import { answerBody } from '../tool-requests.ts'
import type { Operation } from './operation.ts'

/** Without what tells the two sets apart: where they stand, what they are called, and for whom. */
type OwnerRoute = Omit<Operation, 'opens' | 'tag'>

const ownerRoutes: readonly OwnerRoute[] = [
  {
    method: 'get',
    path: '/sessions',
    id: 'ListSessions',
    summary: 'Lists sessions, newest first',
    query: pageQuerySchema(maxPageSize).extend({ agent: z.string().optional() }),
    answers: { 200: { what: 'A page of sessions', schema: sessionPageSchema } },
  },
  {
    method: 'get',
    path: '/sessions/:id',
    id: 'GetSession',
    summary: 'Shows a session with its last lines',
    query: z.object({
      limit: z.coerce.number().int().min(1).max(maxPageSize).default(50),
      before: z.coerce
        .number()
        .int()
        .min(1)
        .optional()
        .meta({ description: 'The next of the page before: older lines' }),
    }),
    answers: {
      200: { what: 'The session and a page of its transcript, oldest first', schema: sessionWithLinesSchema },
    },
    problems: [404],
  },
  {
    method: 'post',
    path: '/sessions/:id/title',
    id: 'TitleSession',
    summary: 'Names a session',
    body: { ...titleBody, example: { title: 'Opening hours' } },
    answers: {
      200: { what: 'Its name as it is kept', schema: titledSchema, example: { ok: true, title: 'Opening hours' } },
    },
    problems: [404],
  },
  {
    method: 'delete',
    path: '/sessions/:id',
    id: 'DeleteSession',
    summary: 'Erases what was said in a session',
    about: 'Deleting it again is a success. While the agent answers in it the answer is 409.',
    answers: { 200: { what: 'It is erased', schema: doneSchema, example: { ok: true } } },
    problems: [404, 409],
  },
  {
    method: 'get',
    path: '/approvals',
    id: 'ListApprovals',
    summary: 'Lists actions that wait for a decision',
    query: pageQuerySchema(500).extend({ status: z.enum(pendingActionStatuses).optional() }),
    answers: { 200: { what: 'A page of actions', schema: actionPageSchema } },
  },
  {
    method: 'get',
    path: '/approvals/summary',
    id: 'CountApprovals',
    summary: 'Counts them by status',
    answers: { 200: { what: 'How many there are of each status', schema: summarySchema } },
  },
  {
    method: 'get',
    path: '/approvals/:id',
    id: 'GetApproval',
    summary: 'Shows an action',
    answers: { 200: { what: 'The action', schema: z.object({ action: actionSchema }) } },
    problems: [404],
  },
  {
    method: 'post',
    path: '/approvals/:id/resolve',
    id: 'ResolveApproval',
    summary: 'Decides about an action, once',
    about: 'With hash: only if it is still the action that was shown.',
    body: { ...decisionBody, example: { decision: 'accepted', reason: 'looks right' } },
    answers: { 200: { what: 'The decision', schema: resolvedSchema } },
    problems: [403, 404, 409],
  },
  {
    method: 'delete',
    path: '/approvals/:id',
    id: 'DeleteApproval',
    summary: 'Withdraws an action',
    answers: { 200: { what: 'It is withdrawn', schema: resolvedSchema } },
    problems: [403, 404, 409],
  },
  {
    method: 'get',
    path: '/tool-requests',
    id: 'ListToolRequests',
    summary: 'Lists requests for tools that a client runs',
    query: pageQuerySchema(500).extend({ status: z.enum(toolRequestStatuses).optional() }),
    answers: { 200: { what: 'A page of requests', schema: toolRequestPageSchema } },
  },
  {
    method: 'get',
    path: '/tool-requests/:id',
    id: 'GetToolRequest',
    summary: 'Shows a request with its parameters',
    params: { id: 'Its id or its request_id' },
    answers: { 200: { what: 'The request', schema: toolRequestShownSchema } },
    problems: [404],
  },
  {
    method: 'post',
    path: '/tool-requests/:id/submit',
    id: 'SubmitToolResult',
    summary: 'Hands in what the tool came to',
    params: { id: 'Its id or its request_id' },
    body: { ...answerBody, example: { result: { temperature: 21 } } },
    answers: { 200: { what: 'The request as it is now', schema: toolAnsweredSchema } },
    problems: [404, 409],
  },
  ...(['post', 'delete'] as const).map(
    (method): OwnerRoute => ({
      ...(method === 'post'
        ? { method, path: '/tool-requests/:id/cancel', id: 'CancelToolRequest' }
        : { method, path: '/tool-requests/:id', id: 'DeleteToolRequest' }),
      summary: 'Says that the tool will not be run',
      params: { id: 'Its id or its request_id' },
      answers: { 200: { what: 'The request as it is now', schema: toolAnsweredSchema } },
      problems: [404, 409],
    }),
  ),
]

const owner = z.string().optional().meta({ description: 'Only of this principal' })

/** `prefix` goes before every name. */
export function ownerOperations(place: {
  readonly base: string
  readonly prefix: string
  readonly opens: 'owner' | 'operator'
}): readonly Operation[] {
  const { base, prefix, opens } = place
  const isOperator = opens === 'operator'
  return ownerRoutes.map(({ path, id, query, ...line }) => ({
    ...line,
    path: `${base}${path}`,
    id: `${prefix}${id}`,
    opens,
    tag: isOperator ? 'Operator: what waits' : 'What is yours',
    ...(query === undefined
      ? {}
      : { query: isOperator && path.startsWith('/sessions') ? query.extend({ owner }) : query }),
  }))
}

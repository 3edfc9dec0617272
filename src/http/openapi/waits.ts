// Sessions, approvals, tool requests and runs, described once for the operator's routes and once for those of the API.
import * as z from 'zod'
import { pendingActionStatuses } from '../../agent/approvals/pending-action.ts'
import { toolRequestStatuses } from '../../agent/runtime-tools/tool-request-store.ts'
import { decisionBody } from '../admin-approvals.ts'
import { maxPageSize, titleBody } from '../admin-sessions.ts'
import { answerBody } from '../admin-tool-requests.ts'
import { doneSchema, pageQuery } from '../shapes/common.ts'
import { sessionPageSchema, sessionWithLinesSchema, titledSchema } from '../shapes/sessions.ts'
import {
  actionPageSchema,
  actionSchema,
  resolvedSchema,
  summarySchema,
  toolAnsweredSchema,
  toolRequestPageSchema,
  toolRequestShownSchema,
} from '../shapes/waits.ts'
import type { Operation } from './operation.ts'

/** Where they stand, and for whom. `prefix` tells the two sets apart by name. */
type Place = { readonly base: string; readonly prefix: string; readonly opens: 'owner' | 'operator' }

export function waitOperations({ base, prefix, opens }: Place): readonly Operation[] {
  const who = opens === 'operator' ? 'all' : 'your own'
  const ownerQuery =
    opens === 'operator' ? { owner: z.string().optional().meta({ description: 'Only of this principal' }) } : {}
  const shared = { opens, tag: opens === 'operator' ? 'Operator: what waits' : 'What is yours' } as const
  const named = (name: string): string => `${prefix}${name}`
  return [
    {
      ...shared,
      ...{
        method: 'get',
        path: `${base}/sessions`,
        id: named('ListSessions'),
        summary: `Lists ${who} sessions, newest first`,
      },
      query: pageQuery(maxPageSize).extend({ agent: z.string().optional(), ...ownerQuery }),
      answers: { 200: { what: 'A page of sessions', schema: sessionPageSchema } },
    },
    {
      ...shared,
      ...{
        method: 'get',
        path: `${base}/sessions/:id`,
        id: named('GetSession'),
        summary: 'Shows a session with its last lines',
      },
      query: z.object({
        limit: z.coerce.number().int().min(1).max(maxPageSize).default(50),
        before: z.coerce
          .number()
          .int()
          .min(1)
          .optional()
          .meta({ description: 'The next of the page before: older lines' }),
        ...ownerQuery,
      }),
      answers: {
        200: { what: 'The session and a page of its transcript, oldest first', schema: sessionWithLinesSchema },
      },
      problems: [404],
    },
    {
      ...shared,
      ...{ method: 'post', path: `${base}/sessions/:id/title`, id: named('TitleSession'), summary: 'Names a session' },
      body: { ...titleBody, example: { title: 'Opening hours' } },
      answers: {
        200: { what: 'Its name as it is kept', schema: titledSchema, example: { ok: true, title: 'Opening hours' } },
      },
      problems: [404],
    },
    {
      ...shared,
      ...{
        method: 'delete',
        path: `${base}/sessions/:id`,
        id: named('DeleteSession'),
        summary: 'Erases what was said in a session',
      },
      about: 'Deleting it again is a success. While the agent answers in it the answer is 409.',
      answers: { 200: { what: 'It is erased', schema: doneSchema, example: { ok: true } } },
      problems: [404, 409],
    },
    {
      ...shared,
      ...{
        method: 'get',
        path: `${base}/approvals`,
        id: named('ListApprovals'),
        summary: `Lists ${who} actions that wait for a decision`,
      },
      query: pageQuery(500).extend({ status: z.enum(pendingActionStatuses).optional() }),
      answers: { 200: { what: 'A page of actions', schema: actionPageSchema } },
    },
    {
      ...shared,
      ...{
        method: 'get',
        path: `${base}/approvals/summary`,
        id: named('CountApprovals'),
        summary: 'Counts them by status',
      },
      answers: { 200: { what: 'How many there are of each status', schema: summarySchema } },
    },
    {
      ...shared,
      ...{ method: 'get', path: `${base}/approvals/:id`, id: named('GetApproval'), summary: 'Shows an action' },
      answers: { 200: { what: 'The action', schema: z.object({ action: actionSchema }) } },
      problems: [404],
    },
    {
      ...shared,
      ...{
        method: 'post',
        path: `${base}/approvals/:id/resolve`,
        id: named('ResolveApproval'),
        summary: 'Decides about an action, once',
      },
      about: 'With hash: only if it is still the action that was shown.',
      body: { ...decisionBody, example: { decision: 'accepted', reason: 'looks right' } },
      answers: { 200: { what: 'The decision', schema: resolvedSchema } },
      problems: [403, 404, 409],
    },
    {
      ...shared,
      ...{
        method: 'delete',
        path: `${base}/approvals/:id`,
        id: named('DeleteApproval'),
        summary: 'Withdraws an action',
      },
      answers: { 200: { what: 'It is withdrawn', schema: resolvedSchema } },
      problems: [403, 404, 409],
    },
    {
      ...shared,
      ...{
        method: 'get',
        path: `${base}/tool-requests`,
        id: named('ListToolRequests'),
        summary: `Lists ${who} requests for tools that somebody else runs`,
      },
      query: pageQuery(500).extend({ status: z.enum(toolRequestStatuses).optional() }),
      answers: { 200: { what: 'A page of requests', schema: toolRequestPageSchema } },
    },
    {
      ...shared,
      ...{
        method: 'get',
        path: `${base}/tool-requests/:id`,
        id: named('GetToolRequest'),
        summary: 'Shows a request with its parameters',
      },
      params: { id: 'Its id or its request_id' },
      answers: { 200: { what: 'The request', schema: toolRequestShownSchema } },
      problems: [404],
    },
    {
      ...shared,
      ...{
        method: 'post',
        path: `${base}/tool-requests/:id/submit`,
        id: named('SubmitToolResult'),
        summary: 'Hands in what the tool came to',
      },
      params: { id: 'Its id or its request_id' },
      body: { ...answerBody, example: { result: { temperature: 21 } } },
      answers: { 200: { what: 'The request as it is now', schema: toolAnsweredSchema } },
      problems: [404, 409],
    },
    ...(['post', 'delete'] as const).map(
      (method): Operation => ({
        ...shared,
        ...(method === 'post'
          ? { method, path: `${base}/tool-requests/:id/cancel`, id: named('CancelToolRequest') }
          : { method, path: `${base}/tool-requests/:id`, id: named('DeleteToolRequest') }),
        summary: 'Says that nobody will run the tool',
        params: { id: 'Its id or its request_id' },
        answers: { 200: { what: 'The request as it is now', schema: toolAnsweredSchema } },
        problems: [404, 409],
      }),
    ),
  ]
}

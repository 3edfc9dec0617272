// OpenAPI of the admin routes and those for machines. Their answers are named and not spelled out: a program that builds on them
// runs the same release.
import * as z from 'zod'
import { operationBody, operationPath } from '../connections.ts'
import { sayBody } from '../sessions.ts'
import { messageRoutes, runRoutes } from './message-routes.ts'
import {
  type AdminRoute,
  doneAnswers,
  idPage,
  itemAnswers,
  listAnswers,
  type Operation,
  rowsSchema,
  seqPage,
} from './operation.ts'
import { ownerOperations } from './owner-routes.ts'
import { peopleRoutes } from './people-routes.ts'

const sessionRoutes: readonly AdminRoute[] = [
  {
    method: 'post',
    path: '/admin/sessions/:id/export',
    id: 'exportSession',
    summary: 'Hands out a transcript, with consent',
    query: z.object({ format: z.enum(['json', 'markdown']).optional() }),
    answers: itemAnswers('session'),
    problems: [403, 404],
  },
  {
    method: 'post',
    path: '/admin/sessions/:id/take-over',
    id: 'takeOverSession',
    summary: 'A person answers from now on',
    answers: doneAnswers,
    problems: [403, 404, 409],
  },
  {
    method: 'post',
    path: '/admin/sessions/:id/give-back',
    id: 'giveBackSession',
    summary: 'The agent answers again',
    answers: doneAnswers,
    problems: [403, 404, 409],
  },
  {
    method: 'post',
    path: '/admin/sessions/:id/say',
    id: 'sayInSession',
    summary: 'Says something in place of the agent',
    body: { ...sayBody, example: { text: 'I look into it.' } },
    answers: doneAnswers,
    problems: [403, 404, 409],
  },
]

const fileRoutes: readonly AdminRoute[] = [
  {
    method: 'get',
    path: '/admin/attachments',
    id: 'listAttachments',
    summary: 'Lists files',
    query: idPage,
    answers: listAnswers('attachments'),
  },
  {
    method: 'post',
    path: '/admin/attachments/rotate-key',
    id: 'rotateFileKey',
    summary: 'Ends every URL that was handed out',
    answers: doneAnswers,
  },
  {
    method: 'get',
    path: '/admin/attachments/:id',
    id: 'getAttachment',
    summary: 'Shows a file',
    answers: itemAnswers('attachment'),
    problems: [404],
  },
  {
    method: 'delete',
    path: '/admin/attachments/:id',
    id: 'deleteAttachment',
    summary: 'Deletes a file',
    answers: doneAnswers,
    problems: [404],
  },
]

const auditRoutes: readonly AdminRoute[] = [
  {
    method: 'get',
    path: '/admin/audit',
    id: 'readAuditLog',
    summary: 'Who decided what, on which ground',
    query: z.object({
      limit: seqPage.shape.limit,
      before: seqPage.shape.before,
      after: z.coerce.number().int().min(0).optional(),
      ...Object.fromEntries(
        ['connection', 'agent', 'actor', 'action', 'outcome', 'code', 'principal', 'inbox', 'since', 'until'].map(
          (word) => [word, z.string().optional()],
        ),
      ),
    }),
    answers: {
      200: { what: 'A page of the log', schema: z.object({ lines: rowsSchema, next: z.number().int().nullable() }) },
    },
  },
  {
    method: 'get',
    path: '/admin/audit/config',
    id: 'auditConfig',
    summary: 'Weak settings of this gateway',
    answers: itemAnswers('findings', rowsSchema),
    problems: [404],
  },
]

const channelRoutes: readonly AdminRoute[] = [
  {
    method: 'get',
    path: '/admin/connections',
    id: 'listConnections',
    summary: 'How each connection stands',
    about:
      'State (checking, ok, degraded, failed), since when, what is wrong and what to do, as the platform and the answering process tell; ages in seconds.',
    answers: itemAnswers('connections', rowsSchema),
  },
  {
    method: 'post',
    path: operationPath,
    id: 'operateChannel',
    summary: 'Asks something of a channel as it runs',
    about:
      'What it changes is one row, done once by its name and found with parley explain. A name the channel does not know is answered with those it knows.',
    params: { channel: 'A channel', connection: 'The id of a connection of it', name: 'Such as reports.list' },
    body: { ...operationBody, example: {} },
    answers: {
      200: {
        what: 'What the channel says; the id of the row where something was changed; whether it had been done before',
        schema: z.object({ value: z.looseObject({}), id: z.string().nullable(), isRepeat: z.boolean() }),
        example: { value: { reports: [], next: null }, id: null, isRepeat: false },
      },
    },
    problems: [400, 404, 409, 422, 503],
  },
]

const secretRoutes: readonly AdminRoute[] = [
  {
    method: 'get',
    path: '/admin/secrets',
    id: 'listSecrets',
    summary: 'Lists the gateway’s own keys; shows none',
    answers: itemAnswers('secrets', rowsSchema),
  },
  {
    method: 'post',
    path: '/admin/secrets/rotate',
    id: 'rotateSecret',
    summary: 'Makes a new key in place of one',
    body: { schema: z.object({ name: z.string().max(300) }), example: { name: 'file-handles' } },
    answers: { 200: { what: 'Done; a new token is shown this once', schema: z.looseObject({ name: z.string() }) } },
    problems: [400, 404],
  },
  {
    method: 'post',
    path: '/admin/secrets/reseal',
    id: 'resealSecrets',
    summary: 'Seals anew what an older key sealed',
    answers: {
      200: {
        what: 'How many rows; whether that was all',
        schema: z.object({ resealed: z.number(), unopened: z.number(), isDone: z.boolean() }),
      },
    },
  },
]

const tags: readonly (readonly [tag: string, lines: readonly AdminRoute[]])[] = [
  ['Operator: messages', messageRoutes],
  ['Operator: runs', runRoutes],
  ['Operator: people', peopleRoutes],
  ['Operator: sessions', sessionRoutes],
  ['Operator: files', fileRoutes],
  ['Operator: channels', channelRoutes],
  ['Operator: secrets', secretRoutes],
  ['Operator: audit', auditRoutes],
]

const healthOperations: readonly Operation[] = [
  {
    method: 'get',
    path: '/healthz',
    id: 'isUp',
    tag: 'About the gateway',
    opens: 'anybody',
    summary: 'Whether the process runs',
    answers: { 200: { what: 'It does', schema: z.object({ status: z.literal('up') }), example: { status: 'up' } } },
  },
  {
    method: 'get',
    path: '/readyz',
    id: 'isReady',
    tag: 'About the gateway',
    opens: 'anybody',
    summary: 'Whether it can do its work',
    answers: { 200: { what: 'It can', schema: z.looseObject({ status: z.enum(['ready', 'degraded']) }) } },
    problems: [503],
  },
  {
    method: 'get',
    path: '/metrics',
    id: 'readMetrics',
    tag: 'About the gateway',
    opens: 'operator',
    summary: 'Counters in the Prometheus text format',
    answers: { 200: { what: 'Metrics', mediaType: 'text/plain' } },
  },
  {
    method: 'get',
    path: '/',
    id: 'readWelcome',
    tag: 'About the gateway',
    opens: 'anybody',
    summary: 'That it runs, and what to try first',
    answers: { 200: { what: 'A few lines', mediaType: 'text/plain' } },
  },
]

export const adminOperations: readonly Operation[] = [
  ...tags.flatMap(([tag, lines]) => lines.map((line): Operation => ({ ...line, tag, opens: 'operator' }))),
  ...ownerOperations({ base: '/admin', prefix: 'any', opens: 'operator' }),
  ...healthOperations,
]

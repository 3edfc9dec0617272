// OpenAPI of the admin routes about messages and runs.
import * as z from 'zod'
import { endedMessageLists, retriedSchema, retryBody } from '../admin.ts'
import { cancelledSchema } from '../schemas.ts'
import {
  type AdminRoute,
  doneAnswers,
  idPage,
  itemAnswers,
  listAnswers,
  rowSchema,
  rowsSchema,
  seqPage,
} from './operation.ts'

const endedMessageRoutes = endedMessageLists.map(
  ({ state, path, name }): AdminRoute => ({
    method: 'get',
    path,
    id: `list${name[0]?.toUpperCase()}${name.slice(1)}`,
    summary: `Lists messages that ended ${state}`,
    query: seqPage,
    answers: listAnswers(name),
  }),
)

export const messageRoutes: readonly AdminRoute[] = [
  {
    method: 'get',
    path: '/admin/stats',
    id: 'getStats',
    summary: 'What came in on every connection, and what became of it',
    answers: itemAnswers('stats', rowsSchema),
  },
  {
    method: 'get',
    path: '/admin/agents',
    id: 'listAgents',
    summary: 'The agents and where they are reached',
    answers: itemAnswers('agents', rowsSchema),
  },
  {
    method: 'get',
    path: '/admin/explain/:id',
    id: 'explainMessage',
    summary: 'The whole life of one message',
    params: { id: 'Any id it goes by: of the inbox, of the platform, of a trace' },
    query: z.object({ connection: z.string().optional() }),
    answers: {
      200: {
        what: 'Its story, or what else goes by that id',
        schema: z.object({ explanation: rowSchema.optional(), candidates: rowsSchema.optional() }),
      },
    },
    problems: [404],
  },
  ...endedMessageRoutes,
  {
    method: 'get',
    path: '/admin/dead-letters/:id/effects',
    id: 'listEffects',
    summary: 'What was done for a dead message, or may have been',
    answers: itemAnswers('effects', rowsSchema),
    problems: [404],
  },
  {
    method: 'post',
    path: '/admin/dead-letters/:id/resubmit',
    id: 'resubmitMessage',
    summary: 'Queues the turn of a dead message again; what it has done is not done again',
    query: z.object({
      anew: z
        .enum(['true', 'false'])
        .optional()
        .meta({ description: 'true: this message alone, and effects may repeat' }),
    }),
    answers: doneAnswers,
    problems: [409],
  },
  {
    method: 'get',
    path: '/admin/deliveries',
    id: 'listDeliveries',
    summary: 'Lists deliveries, those that failed unless told otherwise',
    query: seqPage.extend({ state: z.string().optional().meta({ description: 'Several with commas' }) }),
    answers: listAnswers('deliveries'),
  },
  {
    method: 'get',
    path: '/admin/deliveries/:id',
    id: 'getDelivery',
    summary: 'Shows a delivery',
    answers: itemAnswers('delivery'),
    problems: [404],
  },
  {
    method: 'post',
    path: '/admin/deliveries/:id/retry',
    id: 'retryDelivery',
    summary: 'Sends a failed call again',
    answers: doneAnswers,
    problems: [409],
  },
  {
    method: 'post',
    path: '/admin/deliveries/retry',
    id: 'retryDeliveries',
    summary: 'Sends failed calls of one state again, the oldest first',
    about: 'Each as by itself: one whose outcome is unknown goes out marked as possibly repeated.',
    body: { ...retryBody, example: { state: 'unknown', since: '2026-01-31T08:00:00Z', limit: 100 } },
    answers: { 200: { what: 'How many there were, and how many are sent again', schema: retriedSchema } },
  },
  {
    method: 'post',
    path: '/admin/deliveries/:id/drop',
    id: 'dropDelivery',
    summary: 'Gives a failed call up',
    answers: doneAnswers,
    problems: [409],
  },
  {
    method: 'post',
    path: '/admin/replay/:id',
    id: 'replayMessage',
    summary: 'Runs a stored message again and sends nothing',
    query: z.object({ fixture: z.enum(['with_text', 'cleaned', 'none']).optional() }),
    answers: itemAnswers('replay'),
    problems: [404, 409, 410],
  },
  {
    method: 'get',
    path: '/admin/rejected',
    id: 'listRejected',
    summary: 'What this process turned away lately',
    query: z.object({ limit: seqPage.shape.limit, connection: z.string().optional(), trace: z.string().optional() }),
    answers: itemAnswers('rejected', rowsSchema),
  },
]

export const runRoutes: readonly AdminRoute[] = [
  {
    method: 'get',
    path: '/admin/runs',
    id: 'listRuns',
    summary: 'Lists runs, newest first',
    query: idPage.extend({ status: z.string().optional() }),
    answers: listAnswers('runs'),
  },
  {
    method: 'get',
    path: '/admin/runs/:id',
    id: 'getRun',
    summary: 'Shows a run',
    answers: itemAnswers('run'),
    problems: [404, 409],
  },
  {
    method: 'get',
    path: '/admin/runs/:id/events',
    id: 'followRun',
    summary: 'The log of a run, as a page or as a stream',
    query: z.object({
      limit: seqPage.shape.limit,
      after: z.string().optional().meta({ description: 'The number of the last event seen' }),
    }),
    headers: { accept: 'text/event-stream for a stream', 'last-event-id': 'The last event seen' },
    answers: {
      200: {
        what: 'Events',
        schema: z.object({ events: rowsSchema, next: z.number().int(), isOver: z.boolean() }),
        mediaType: 'text/event-stream',
      },
    },
    problems: [404, 409, 503],
  },
  ...['cancel', 'stop'].map(
    (verb): AdminRoute => ({
      method: 'post',
      path: `/admin/runs/:id/${verb}`,
      id: `${verb}AnyRun`,
      summary: 'Stops a run',
      answers: { 200: { what: 'What became of it', schema: cancelledSchema } },
      problems: [404, 409],
    }),
  ),
]

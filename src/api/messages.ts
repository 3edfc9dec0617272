// Messages and what became of them: the ledger, those that ended without an answer, deliveries, and replays.

import * as z from 'zod'
import type { NormalizedMessage } from '../contract/index.ts'
import type { HistoricalMessage } from '../contract/message.ts'
import {
  countFailedDeliveries,
  type DeliveryLine,
  dropDelivery,
  findFailedDeliveryIds,
  findReceipt,
  getDelivery,
  listDeliveries,
  listEndedMessages,
  listMessageCountsByConnection,
  listPastEffectsOfMessage,
  retryDelivery,
} from '../db/receipts.ts'
import { GatewayError } from '../lib/errors.ts'
import { actorName, auditCallerAction, getAdmittedCaller } from './admin-access.ts'
import { exampleId, formatFieldRows, type ResourceCommands } from './command.ts'
import { withoutErrorTexts } from './explain/explain.ts'
import { explainedSchema } from './explain/schema.ts'
import {
  createNextPageMark,
  defineOperation,
  defineResource,
  done,
  doneSchema,
  instantSchema,
  jsonObjectSchema,
  jsonValueSchema,
  nextSeq,
  type OperationRequest,
  seqPageQuery,
} from './resource.ts'

const count = z.number().int()

const ledgerSchema = z
  .object({
    tenant: z.string(),
    connection: z.string(),
    received: count,
    answered: count,
    merged: count,
    refused: count,
    dead: count,
    inFlight: count,
    ignored: count,
    duplicates: count,
  })
  .meta({ id: 'LedgerLine', description: 'received = answered + merged + refused + dead + inFlight' })

export const stats = defineResource({
  name: 'stats',
  tag: 'Operator: messages',
  audience: 'operator',
  operations: {
    get: defineOperation({
      method: 'get',
      path: '/admin/stats',
      id: 'getStats',
      summary: 'What came in on every connection, and what became of it',
      scopes: ['admin', 'read'],
      output: z.object({ stats: z.array(ledgerSchema) }),
      handle: async ({ deps }) => ({ stats: await listMessageCountsByConnection(deps.db) }),
    }),
  },
})

export const statsCommands = () =>
  ({
    description: 'The ledger.',
    examples: ['parley stats'],
    commands: {
      get: {
        name: 'stats',
        description: 'Show per connection: received = answered + merged + refused + dead + in flight.',
        examples: ['parley stats', "parley stats --json | jq '.stats[] | select(.dead > 0)'"],
        rows: 'stats',
        columns: {
          CONNECTION: 'connection',
          RECEIVED: 'received',
          ANSWERED: 'answered',
          MERGED: 'merged',
          REFUSED: 'refused',
          DEAD: 'dead',
          'IN FLIGHT': 'inFlight',
          IGNORED: 'ignored',
          DUPLICATES: 'duplicates',
          BALANCE: ({ received, answered, merged, refused, dead, inFlight }) =>
            received === answered + merged + refused + dead + inFlight ? 'ok' : 'BROKEN',
        },
        empty: 'Nothing has been received yet.',
      },
    },
  }) as const satisfies ResourceCommands<typeof stats>

// Messages that ended without an answer: a list for each state.

const endedMessageSchema = z
  .object({
    seq: z.number().int().meta({ description: 'Its place in the list' }),
    id: z.uuid(),
    connection: z.string(),
    state: z.string(),
    reason: z.string().nullable(),
    messageId: z.string().nullable(),
    subject: z.string().nullable(),
    attempts: count,
    receivedAt: instantSchema,
  })
  .meta({ id: 'EndedMessage', description: 'A message that ended without an answer' })

type EndedState = Parameters<typeof listEndedMessages>[1]

async function listMessagesByEndState(
  state: EndedState,
  { deps, query }: OperationRequest<string, Record<never, never>, typeof seqPageQuery>,
) {
  const { limit, before = null, connection = null } = query
  const messages = await listEndedMessages(deps.db, state, { limit, before, connection })
  return { messages, next: createNextPageMark(messages, limit, (row) => row.seq) }
}

const listAnswer = 'A page, and where the next one begins'

export const deadLetters = defineResource({
  name: 'dead-letters',
  tag: 'Operator: messages',
  audience: 'operator',
  operations: {
    list: defineOperation({
      method: 'get',
      path: '/admin/dead-letters',
      id: 'listDeadLetters',
      summary: 'Lists messages that ended dead',
      scopes: ['admin', 'read'],
      query: seqPageQuery,
      returns: listAnswer,
      output: z.object({ deadLetters: z.array(endedMessageSchema), next: nextSeq }),
      async handle(request) {
        const { messages, next } = await listMessagesByEndState('dead', request)
        return { deadLetters: messages, next }
      },
    }),
    listRefused: defineOperation({
      method: 'get',
      path: '/admin/refused',
      id: 'listRefused',
      summary: 'Lists messages that ended refused',
      scopes: ['admin', 'read'],
      query: seqPageQuery,
      returns: listAnswer,
      output: z.object({ refused: z.array(endedMessageSchema), next: nextSeq }),
      async handle(request) {
        const { messages, next } = await listMessagesByEndState('refused', request)
        return { refused: messages, next }
      },
    }),
    listIgnored: defineOperation({
      method: 'get',
      path: '/admin/ignored',
      id: 'listIgnored',
      summary: 'Lists messages that ended ignored',
      scopes: ['admin', 'read'],
      query: seqPageQuery,
      returns: listAnswer,
      output: z.object({ ignored: z.array(endedMessageSchema), next: nextSeq }),
      async handle(request) {
        const { messages, next } = await listMessagesByEndState('ignored', request)
        return { ignored: messages, next }
      },
    }),
    effects: defineOperation({
      method: 'get',
      path: '/admin/dead-letters/:id/effects',
      id: 'listEffects',
      summary: 'What was done for a dead message, or may have been',
      output: z.object({ effects: z.array(z.object({ label: z.string(), state: z.string() })) }),
      problems: [404],
      async handle({ deps, params: { id } }) {
        if ((await findReceipt(deps.db, id)) === undefined)
          throw new GatewayError('not_found', 'no such message; list them with GET /admin/dead-letters')
        return { effects: await listPastEffectsOfMessage(deps.db, id) }
      },
    }),
    resubmit: defineOperation({
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
      output: doneSchema,
      problems: [409],
      async handle(request) {
        const { deps, context, params, query } = request
        const how = { isAnew: query.anew === 'true' }
        const isDone = await deps.gateway.resubmit(params.id, actorName(context), how)
        return wakeWorkersOrThrowConflict(request, 'message.resubmit', isDone)
      },
    }),
  },
})

const nothingToDo: Readonly<Record<string, string>> = {
  'message.resubmit':
    'nothing to do: it does not exist, it is not in a failed state, or a message of its turn is gone or was run anew; then anew=true runs this one alone',
}

async function wakeWorkersOrThrowConflict(
  { deps, context, params }: Pick<OperationRequest<'/:id', Record<never, never>>, 'deps' | 'context' | 'params'>,
  action: string,
  isDone: boolean,
) {
  if (!isDone) {
    await auditCallerAction(deps, context, { action, outcome: 'refused', code: 'nothing_to_do', objectId: params.id })
    throw new GatewayError(
      'conflict',
      nothingToDo[action] ?? 'nothing to do: it does not exist, or it is not in a failed state',
    )
  }
  deps.wake()
  return done
}

// Deliveries: calls to platforms. Many failed ones can be sent again at once: after an outage there are too many to name one by one.

const deliveryFields = {
  seq: z.number().int().meta({ description: 'Its place in the list' }),
  id: z.uuid(),
  connection: z.string(),
  state: z.string(),
  reason: z.string().nullable(),
  purpose: z.string(),
  attempt: count,
  vendorId: z.string().nullable().meta({ description: 'What the platform calls it' }),
  turnId: z.uuid().nullable(),
  createdAt: instantSchema,
  settledAt: instantSchema.nullable(),
  bounceKind: z.enum(['failed', 'delayed']).nullable().meta({
    description: 'A server on the way said that it came back, or is late',
  }),
  bounceReason: z.string().nullable(),
  bouncedAt: instantSchema.nullable(),
}

const deliverySchema = z
  .object({
    ...deliveryFields,
    call: jsonObjectSchema.meta({ description: 'As the platform gets it' }),
    ordinal: count,
    orderKey: z.string().nullable(),
    primary: z.boolean(),
    clientId: z.string().nullable(),
    maybeRepeat: z.boolean().meta({ description: 'It goes out marked as possibly repeated' }),
  })
  .meta({ id: 'Delivery', description: 'A call to a platform' })

const failedStates = ['unknown', 'refused', 'dead', 'bounced'] as const
const deliveryStates: readonly string[] = [...failedStates, 'queued', 'sending', 'retry', 'delivered', 'cancelled']

const statesSchema = z.string().transform((text, issues) => {
  const states = text.split(',')
  if (states.every((state) => deliveryStates.includes(state))) return states
  issues.addIssue(`must be among ${deliveryStates.join(', ')}, several with commas`)
  return z.NEVER
})

export const deliveries = defineResource({
  name: 'deliveries',
  tag: 'Operator: messages',
  audience: 'operator',
  operations: {
    list: defineOperation({
      method: 'get',
      path: '/admin/deliveries',
      id: 'listDeliveries',
      summary: 'Lists deliveries, those that failed unless told otherwise',
      scopes: ['admin', 'read'],
      query: seqPageQuery.extend({ state: statesSchema.optional().meta({ description: 'Several with commas' }) }),
      returns: listAnswer,
      output: z.object({
        deliveries: z.array(z.object(deliveryFields).meta({ id: 'DeliveryLine' })),
        next: nextSeq,
      }),
      async handle({ deps, query: { limit, before = null, connection = null, state = failedStates } }) {
        const found = await listDeliveries(deps.db, state, { limit, before, connection })
        return { deliveries: found, next: createNextPageMark(found, limit, (row) => row.seq) }
      },
    }),
    get: defineOperation({
      method: 'get',
      path: '/admin/deliveries/:id',
      id: 'getDelivery',
      summary: 'Shows a delivery',
      output: z.object({ delivery: deliverySchema }),
      problems: [404],
      async handle({ deps, params }) {
        const delivery = await getDelivery(deps.db, params.id)
        if (delivery === undefined)
          throw new GatewayError('not_found', 'no such delivery; list them with GET /admin/deliveries')
        return { delivery }
      },
    }),
    retry: defineOperation({
      method: 'post',
      path: '/admin/deliveries/:id/retry',
      id: 'retryDelivery',
      summary: 'Sends a failed call again',
      output: doneSchema,
      problems: [409],
      handle: async (request) =>
        wakeWorkersOrThrowConflict(
          request,
          'delivery.retry',
          await retryDelivery(request.deps.db, request.params.id, actorName(request.context)),
        ),
    }),
    retryMany: defineOperation({
      method: 'post',
      path: '/admin/deliveries/retry',
      id: 'retryDeliveries',
      summary: 'Sends failed calls of one state again, the oldest first',
      about: 'Each as by itself: one whose outcome is unknown goes out marked as possibly repeated.',
      body: {
        schema: z.strictObject({
          state: z.enum(['unknown', 'refused', 'dead']),
          since: z.iso.datetime({ offset: true }).meta({ description: 'Those that ended then or later' }),
          connection: z
            .string()
            .min(1)
            .max(200)
            .optional()
            .meta({ description: 'Only of this one, as parley stats names it' }),
          limit: z
            .number()
            .int()
            .min(1)
            .max(500)
            .default(100)
            .meta({ description: 'How many at most, the oldest first' }),
          dry_run: z.boolean().default(false).meta({ description: 'Only counts; nothing is sent' }),
        }),
        maxBytes: 2048,
        remedy:
          'send {"state": "unknown", "since": "2026-01-31T08:00:00Z"}, and connection, limit (1 to 500) or dry_run if you like',
        example: { state: 'unknown', since: '2026-01-31T08:00:00Z', limit: 100 },
      },
      returns: 'How many there were, and how many are sent again',
      output: z.object({
        matching: count.meta({ description: 'How many there were before, counted up to 10,000' }),
        retried: count.meta({ description: 'How many are sent again; ask once more for the rest' }),
      }),
      async handle({ deps, context, body: { limit, dry_run, ...asked } }) {
        const failed = { ...asked, connection: asked.connection ?? null }
        const matching = await countFailedDeliveries(deps.db, failed)
        let retried = 0
        // Each in a commit of its own, as one by one: an operator who is interrupted asks again, and finds the rest.
        for (const id of dry_run ? [] : await findFailedDeliveryIds(deps.db, failed, limit))
          if (await retryDelivery(deps.db, id, actorName(context))) retried += 1
        if (retried > 0) deps.wake()
        return { matching, retried }
      },
    }),
    drop: defineOperation({
      method: 'post',
      path: '/admin/deliveries/:id/drop',
      id: 'dropDelivery',
      summary: 'Gives a failed call up',
      output: doneSchema,
      problems: [409],
      handle: async (request) =>
        wakeWorkersOrThrowConflict(
          request,
          'delivery.drop',
          await dropDelivery(request.deps.db, request.params.id, actorName(request.context)),
        ),
    }),
  },
})

const deliveryWord = { id: 'Id of a delivery, as the list shows it' }

export const deliveriesCommands = () =>
  ({
    description: 'What was to be sent and failed, or may have failed.',
    examples: ['parley deliveries list', `parley deliveries retry ${exampleId}`],
    commands: {
      list: {
        name: 'list',
        description: 'List deliveries, newest first: those that failed, unless --state says otherwise.',
        examples: ['parley deliveries list', 'parley deliveries list --state unknown,dead --limit 200 --json'],
        flags: {
          state: { description: `${deliveryStates.join(', ')}; several with commas`, valueHint: 'states' },
          connection: { valueHint: 'channel/id' },
        },
        rows: 'deliveries',
        columns: {
          ID: 'id',
          CONNECTION: 'connection',
          STATE: deliveryStateText,
          REASON: ({ bounceReason, reason }) => bounceReason ?? reason,
          PURPOSE: 'purpose',
          TRIES: 'attempt',
          CREATED: 'createdAt',
        },
        empty: 'No deliveries in this state.',
      },
      get: {
        name: 'show',
        description: 'Show one delivery whole, with the call as the vendor gets it.',
        examples: [`parley deliveries show ${exampleId}`],
        about: deliveryWord,
        text: ({ delivery: { call, ...facts } }) => [
          ...formatFieldRows(facts),
          'call',
          ...JSON.stringify(call, null, 2)
            .split('\n')
            .map((row) => `  ${row}`),
        ],
      },
      drop: {
        name: 'drop',
        description: 'Let a failed delivery go: it leaves the list and can be sent no more.',
        examples: [`parley deliveries drop ${exampleId} --yes`],
        about: deliveryWord,
        confirm: ({ id }) => `Drop delivery ${id} for good?`,
        text: () => 'Dropped.',
      },
    },
  }) as const satisfies ResourceCommands<typeof deliveries>

/** A bounced mail was delivered all the same: to a server that could not hand it on. */
function deliveryStateText({ state, bounceKind }: Pick<DeliveryLine, 'state' | 'bounceKind'>): string {
  if (bounceKind === null) return state
  return `${state}, ${bounceKind === 'failed' ? 'came back' : 'delayed'}`
}

// The whole life of one message, as facts and as a timeline; and the message once more.

const unknownIdRemedy =
  'nothing here goes by that id; give an inbox, turn or outbox id, a message id, the platform id (conversation:message), ' +
  'a delivery id or the id the platform gave to a reply'

export const explanations = defineResource({
  name: 'explain',
  tag: 'Operator: messages',
  audience: 'operator',
  operations: {
    explain: defineOperation({
      method: 'get',
      path: '/admin/explain/:id',
      id: 'explainMessage',
      summary: 'The whole life of one message',
      scopes: ['admin', 'read'],
      params: { id: z.string().meta({ description: 'Any id it goes by: of the inbox, of the platform, of a trace' }) },
      query: z.object({ connection: z.string().optional().meta({ description: 'Only on this connection' }) }),
      returns: 'Its timeline, or what else goes by that id',
      output: explainedSchema,
      problems: [404],
      async handle({ deps, context, params, query }) {
        const explained = await deps.explain(params.id, query.connection)
        switch (explained.kind) {
          case 'explained': {
            const caller = getAdmittedCaller(context)
            const seesTexts = caller.kind === 'operator' && caller.mayChange
            const { explanation, reasons } = explained
            return { explanation: seesTexts ? explanation : withoutErrorTexts(explanation, reasons) }
          }
          case 'ambiguous':
            return { candidates: explained.candidates }
          case 'unknown':
            throw new GatewayError('not_found', unknownIdRemedy)
        }
      },
    }),
  },
})

const sentCallSchema = z.object({ purpose: z.string(), primary: z.boolean(), call: jsonObjectSchema })

const accountSchema = z.object({
  outcome: z.string(),
  reason: z.string().nullable(),
  calls: z.array(sentCallSchema),
  timers: z.array(z.string()).meta({ description: 'Names of timers' }),
})

const replaySchema = z
  .object({
    turnId: z.uuid().nullable(),
    inboxIds: z.array(z.uuid()),
    connection: z.string(),
    agent: z.string(),
    isSame: z.boolean(),
    diff: z.array(z.string()).meta({ description: 'Lines with " ", "-" (before) or "+" (today) before them' }),
    before: accountSchema,
    today: accountSchema,
    steps: z.object({
      replayed: z.array(z.string()),
      wouldRun: z.array(z.string()),
      unused: z.array(z.string()).meta({ description: 'In the journal, not asked for today' }),
    }),
    notes: z.array(z.string()),
    fixture: z
      .object({
        v: z.literal(1),
        channel: z.string(),
        agent: z.string(),
        messages: z.array(jsonObjectSchema as unknown as z.ZodType<NormalizedMessage>),
        history: z.array(jsonObjectSchema as unknown as z.ZodType<HistoricalMessage>),
        steps: z.array(z.object({ step: z.string(), state: z.string(), result: jsonValueSchema })),
        sent: z.array(sentCallSchema),
      })
      .optional(),
  })
  .meta({ id: 'Replay', description: 'What would be sent today, and how it differs from what was' })

export const replays = defineResource({
  name: 'replay',
  tag: 'Operator: messages',
  audience: 'operator',
  operations: {
    replay: defineOperation({
      method: 'post',
      path: '/admin/replay/:id',
      id: 'replayMessage',
      summary: 'Runs a stored message again and sends nothing',
      query: z.object({ fixture: z.enum(['with_text', 'cleaned', 'none']).default('none') }),
      output: z.object({ replay: replaySchema }),
      problems: [404, 409, 410],
      async handle({ deps, context, params, query: { fixture } }) {
        const replayed = await deps.replay(params.id, { fixture })
        const act = { action: 'message.replay', outcome: 'done', inboxId: params.id, detail: { fixture } }
        await auditCallerAction(deps, context, act)
        return { replay: replayed }
      },
    }),
  },
})

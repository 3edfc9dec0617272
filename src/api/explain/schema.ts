// The schema of an explanation: the facts of a message, its turns and deliveries, and the timeline told from them.
import * as z from 'zod'
import { instantSchema } from '../resource.ts'

const count = z.number().int()
const name = z.string().nullable()
const at = instantSchema.nullable()

const evidenceSchema = z.object({
  address: z.string(),
  authMethod: z.string(),
  isVerified: z.boolean(),
  dropped: z.array(z.string()).meta({ description: 'Codes of evidence that was not believed' }),
  identities: z.array(z.object({ subject: z.string(), issuer: z.string(), method: z.string(), assurance: z.string() })),
})

const messageSchema = z.object({
  id: z.uuid(),
  connection: z.string(),
  agent: z.string(),
  kind: z.string(),
  event: z.enum(['new', 'edit', 'delete']),
  messageId: name,
  deliveryId: name,
  editOf: name,
  original: z.object({ id: z.uuid(), state: z.string() }).nullable(),
  state: z.string(),
  reason: name,
  subject: name,
  principal: name,
  accessRule: name,
  conversation: name,
  isFlagged: z.boolean(),
  hasContent: z.boolean(),
  hasRaw: z.boolean(),
  evidence: evidenceSchema.nullable(),
  duplicates: z.object({ count, lastAt: instantSchema, lastDeliveryId: name }).nullable(),
  lane: z
    .object({ mode: z.string(), ahead: count, isHeld: z.boolean(), hasOpenTurn: z.boolean(), nextAt: instantSchema })
    .nullable()
    .meta({ description: 'The queue of its conversation, while it is in flight' }),
  pairing: z
    .object({
      code: z.string(),
      status: z.string(),
      agent: z.string(),
      createdAt: instantSchema,
      expiresAt: instantSchema,
      decidedAt: at,
      decidedBy: name,
    })
    .nullable(),
  memory: z.object({ until: at, turns: z.array(z.object({ id: z.uuid(), at: instantSchema })) }),
  platformAt: at,
  receivedAt: instantSchema,
  endedAt: at,
  turnId: z.uuid().nullable(),
  attempts: count,
  traceId: z.string(),
})

const thrownShape = {
  name: z.string(),
  message: z.string(),
  code: z.string().optional(),
  stack: z.array(z.string()),
}

const errorSchema = z.object({
  source: z.enum([
    'agent',
    'model',
    'remote_agent',
    'tool',
    'step',
    'mediator',
    'capability_check',
    'completion_policy',
    'should_continue',
    'summarizer',
    'approval_summary',
    'watcher',
  ]),
  name: z.string().optional(),
  agent: z.string().optional(),
  at: instantSchema,
  attempt: count,
  error: z.object({ ...thrownShape, causes: z.array(z.object(thrownShape)).optional() }),
})

const turnSchema = z.object({
  id: z.uuid(),
  kind: z.string(),
  state: z.string(),
  reason: name,
  agent: z.string(),
  attempt: count,
  failures: count,
  parentTurn: z.uuid().nullable(),
  runId: name,
  signal: name,
  startedAt: instantSchema,
  outageSince: at,
  endedAt: at,
  ambient: count.meta({ description: 'How many messages of ambient context it was given' }),
  members: z.array(z.object({ id: z.uuid(), messageId: name, event: z.string(), state: z.string() })),
  steps: z.array(
    z.object({
      name: z.string(),
      answeredBy: name.optional(),
      state: z.string(),
      error: name,
      startedAt: instantSchema,
      finishedAt: at,
    }),
  ),
  history: z.array(
    z.object({
      at: instantSchema,
      what: z.string(),
      attempt: count.optional(),
      code: z.string().optional(),
      retryInMs: z.number().optional(),
      crashes: count.optional(),
      members: z.array(z.string()).optional(),
    }),
  ),
  errors: z.array(errorSchema).meta({ description: 'What the agent, its tools and its hooks threw' }),
})

const deliverySchema = z.object({
  id: z.uuid(),
  turnId: z.uuid().nullable(),
  purpose: z.string(),
  isPrimary: z.boolean(),
  ordinal: count,
  state: z.string(),
  reason: name,
  attempt: count,
  vendorId: name,
  isMaybeRepeat: z.boolean(),
  createdAt: instantSchema,
  notBefore: at,
  sendingAt: at,
  settledAt: at,
  history: z.array(
    z.object({
      at: instantSchema,
      what: z.string(),
      attempt: count,
      startedAt: instantSchema.optional(),
      reason: z.string().optional(),
      vendorId: z.string().optional(),
      isFinal: z.boolean().optional(),
      retryInMs: z.number().optional(),
      kind: z.enum(['failed', 'delayed']).optional(),
    }),
  ),
})

export const rejectionSchema = z
  .object({
    at: instantSchema,
    trace: z.string().meta({ description: 'What the answer named it by' }),
    connection: z.string(),
    reason: z.string(),
    isLocal: z.boolean(),
    bytes: count.nullable(),
  })
  .meta({ id: 'Rejection', description: 'A request that was refused before anything was stored' })

const factsSchema = z
  .object({
    message: messageSchema.nullable(),
    turns: z.array(turnSchema),
    deliveries: z.array(deliverySchema),
    edits: z.array(
      z.object({
        id: z.uuid(),
        messageId: name,
        event: z.string(),
        state: z.string(),
        reason: name,
        turnId: z.uuid().nullable(),
        receivedAt: instantSchema,
      }),
    ),
    decisions: z.array(
      z.object({
        seq: count.optional().meta({ description: 'Its place in the audit log' }),
        at: instantSchema,
        action: z.string(),
        outcome: z.string(),
        code: name,
        rule: name,
        person: name,
        actor: name,
        evidence: z.object({ issuer: z.string(), method: z.string(), assurance: z.string() }).nullable(),
      }),
    ),
    rejection: rejectionSchema.optional(),
  })
  .meta({ id: 'MessageFacts' })

const matchedSchema = z.enum([
  'inbox id',
  'message id',
  'platform id',
  'delivery id',
  'trace id',
  'turn id',
  'outbox id',
  'vendor message id',
])

const timelineSchema = z
  .object({
    fate: z.enum([
      'waiting',
      'held',
      'pairing',
      'in_turn',
      'replying',
      'answered',
      'merged',
      'refused',
      'ignored',
      'rejected',
      'dead_turn',
      'dead_send',
      'unknown_send',
      'unreadable',
      'turn',
    ]),
    headline: z.string(),
    lines: z.array(
      z.object({
        at,
        title: z.string(),
        text: z.string(),
        tone: z.enum(['plain', 'good', 'bad', 'wait']),
        details: z.array(z.string()).optional(),
      }),
    ),
    next: z
      .array(z.object({ text: z.string(), command: name }))
      .meta({ description: 'What an operator can do, with commands ready to be typed' }),
  })
  .meta({ id: 'Timeline' })

export const explainedSchema = z.union([
  z.object({
    explanation: z
      .object({ asked: z.string(), matched: matchedSchema, facts: factsSchema, story: timelineSchema })
      .meta({ id: 'Explanation' }),
  }),
  z.object({
    candidates: z
      .array(
        z.object({
          kind: z.enum(['message', 'turn', 'delivery']),
          id: z.uuid(),
          matched: matchedSchema,
          connection: z.string(),
          at: instantSchema,
          state: z.string(),
          messageId: name,
        }),
      )
      .meta({ description: 'Several things go by that id' }),
  }),
])

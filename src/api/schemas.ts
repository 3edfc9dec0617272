// Schemas of the API's answers: errors, pages, sessions, threads, runs and what they wait for.
import * as z from 'zod'
import { pendingActionStatuses } from '../agents/approvals/pending-action.ts'
import type { ActionLine } from '../db/pending-actions.ts'
import type { SessionLine } from '../db/sessions.ts'
import { type ToolRequestLine, toolRequestStatuses } from '../db/tool-requests.ts'

export const instantSchema = z
  .string()
  .meta({ description: 'An instant, ISO 8601 with a zone', examples: ['2026-01-31T08:00:00.000Z'] })

export const problemSchema = z
  .looseObject({
    type: z.string(),
    title: z.string(),
    status: z.number().int(),
    detail: z.string(),
    code: z.string(),
    remedy: z.string(),
    trace: z.string().optional(),
    error: z.object({
      code: z.string(),
      message: z.string().optional(),
      remedy: z.string(),
      trace: z.string().optional(),
    }),
  })
  .meta({ id: 'Problem', description: 'What went wrong and what to do about it (RFC 9457)' })

export type Problem = z.infer<typeof problemSchema>

export const doneSchema = z.object({ ok: z.literal(true) })

/** `next`: the `before` of the page after this one; null on the last. */
const nextId = z.string().nullable().meta({ description: 'before of the next page; null on the last' })

/** A page of a list whose ids sort by time. */
export const pageQuerySchema = (max: number) =>
  z.object({
    limit: z.coerce.number().int().min(1).max(max).default(50).meta({ description: 'How many at most' }),
    before: z.uuid().optional().meta({ description: 'The next of the page before' }),
  })

const sessionShape = z.object({
  id: z.uuid(),
  connection: z.string(),
  agent: z.string(),
  owner: z.string().nullable(),
  status: z.enum(['open', 'closed']),
  title: z.string().nullable(),
  metadata: z.record(z.string(), z.json()),
  provider: z.string().nullable(),
  model: z.string().nullable(),
  workspaceType: z.string(),
  workspaceId: z.string(),
  lines: z.number().int().meta({ description: 'How many lines its transcript has' }),
  createdAt: instantSchema,
  lastActivityAt: instantSchema,
  endedAt: instantSchema.nullable(),
  expiresAt: instantSchema.nullable(),
})

export const sessionSchema = (sessionShape satisfies z.ZodType<SessionLine>).meta({
  id: 'Session',
  description: 'The memory of one conversation',
})

export type Session = z.infer<typeof sessionSchema>

/** A line of a transcript: `agents-api.message`, with its number. */
const transcriptLineSchema = z
  .looseObject({
    seq: z.number().int(),
    role: z.string(),
    type: z.string(),
    content: z.json(),
    metadata: z.record(z.string(), z.json()),
  })
  .meta({ id: 'TranscriptLine' })

export const sessionPageSchema = z.object({ sessions: z.array(sessionSchema), next: nextId })
export const sessionWithLinesSchema = z.object({
  session: sessionSchema,
  messages: z.array(transcriptLineSchema),
  next: z.number().int().nullable().meta({ description: 'before of the page of older lines; null at the beginning' }),
})
export const titledSchema = z.object({ ok: z.literal(true), title: z.string() })

const policySchema = z
  .looseObject({
    kind: z.string(),
    state: z.enum(['pending', 'approved', 'rejected', 'expired', 'withdrawn', 'completed']).optional(),
    decided_by: z.string().optional(),
    decided_at: z.string().optional(),
  })
  .meta({ id: 'AskedPolicy', description: 'A question of the agent, and how it stands now' })

const linkSchema = z
  .object({
    url: z.string(),
    title: z.string().optional(),
    description: z.string().optional(),
    mime: z.string().optional(),
  })
  .meta({ description: 'What the text, an address, leads to' })

const toolCallSchema = z
  .object({
    id: z.string(),
    name: z.string(),
    args: z.json().optional(),
    success: z.boolean().optional().meta({ description: 'Absent while there is no result' }),
    result: z.json().optional(),
    error: z.string().optional(),
  })
  .meta({ id: 'HistoryToolCall', description: 'A call of the run, as its transcript keeps it' })

const contentPartSchema = z.union([
  z.object({
    type: z.literal('text'),
    text: z.string(),
    link: linkSchema.optional(),
    policy: policySchema.optional(),
  }),
  z.object({ type: z.literal('binary'), mimeType: z.string(), url: z.string() }),
  z.object({ type: z.literal('binary'), mimeType: z.string(), unavailable: z.literal(true), reason: z.string() }),
])

const historyMessageSchema = z
  .object({
    id: z.string(),
    role: z.string(),
    content: z.array(contentPartSchema),
    toolCalls: z.array(toolCallSchema).optional(),
  })
  .meta({ id: 'HistoryMessage' })

const historyLineSchema = z
  .object({
    id: z.string(),
    seq: z.number().int(),
    role: z.string(),
    content: z.string(),
    metadata: z.record(z.string(), z.json()),
    timestamp: z.string().nullable(),
    policies: z.array(policySchema).optional(),
    toolCalls: z.array(toolCallSchema).optional(),
  })
  .meta({ id: 'HistoryLine', description: 'With format=metadata' })

export const historySchema = z.object({ messages: z.array(z.union([historyMessageSchema, historyLineSchema])) })
export type HistoryMessage = z.infer<typeof historyMessageSchema>
export type HistoryLine = z.infer<typeof historyLineSchema>

export const uploadedSchema = z
  .object({ bucket: z.string(), path: z.string(), mime_type: z.string(), url: z.string() })
  .meta({ id: 'Attachment', description: 'A stored file; its URL works for a few minutes' })
export const signedUrlSchema = z.object({ bucket: z.string(), path: z.string(), url: z.string() })
export type Attachment = z.infer<typeof uploadedSchema>

const map = z.record(z.string(), z.json())

const actionShape = z.looseObject({
  action_id: z.uuid(),
  kind: z.string(),
  summary: z.string(),
  preview: z.json(),
  created_at: instantSchema,
  agent: z.string().nullable(),
  creator: z.string().nullable(),
  expires_at: instantSchema.nullable(),
  status: z.enum(pendingActionStatuses),
  resolved_at: instantSchema.nullable(),
  resolver: z.string().nullable(),
  resolution_result: z.json(),
  resolution_error: z.string().nullable(),
  resolution_metadata: map,
  hash: z.string().meta({ description: 'Send it with a decision to decide about exactly this' }),
  tool_name: z.string().nullable(),
  tool_call_id: z.string().nullable(),
  run_id: z.string().nullable(),
  session_id: z.string().nullable(),
  conversation_id: z.string(),
})

export const actionSchema = (actionShape satisfies z.ZodType<Omit<ActionLine, 'resolvers'>>).meta({
  id: 'PendingAction',
  description: 'An action that waits for a decision',
})
export type PendingAction = z.infer<typeof actionSchema>

export const actionPageSchema = z.object({ actions: z.array(actionSchema), next: nextId })
export const resolvedSchema = z.object({
  action_id: z.uuid(),
  decision: z.string(),
  action: actionSchema,
  duplicate: z.boolean().meta({ description: 'The same had been decided before; nothing happens twice' }),
})
export const summarySchema = z.object({ summary: z.record(z.string(), z.number().int()) })

const requestShape = z.object({
  id: z.uuid(),
  request_id: z.string(),
  status: z.enum(toolRequestStatuses),
  tool_name: z.string(),
  tool_call_id: z.string(),
  request: map,
  agent: z.string(),
  owner: z.string(),
  run_id: z.string(),
  session_id: z.string(),
  conversation_id: z.string(),
  created_at: instantSchema,
  timeout_at: instantSchema.nullable(),
  resolved_at: instantSchema.nullable(),
  resolver: z.string().nullable(),
  cancelled: z.boolean(),
  result: map.nullable(),
})

export const toolRequestSchema = (requestShape satisfies z.ZodType<ToolRequestLine>).meta({
  id: 'ToolRequest',
  description: 'A tool that a client runs, and its result',
})
export type ToolRequest = z.infer<typeof toolRequestSchema>

export const toolRequestPageSchema = z.object({ requests: z.array(toolRequestSchema), next: nextId })
export const toolRequestShownSchema = z.object({ request: toolRequestSchema, parameters: map })
export const toolAnsweredSchema = z.object({ request: toolRequestSchema, duplicate: z.boolean() })

export const cancelledSchema = z
  .object({
    ok: z.boolean().meta({ description: 'Whether there was anything to stop' }),
    id: z.uuid(),
    outcome: z.enum(['stopping', 'cancelled', 'over']),
    status: z.string(),
  })
  .meta({ id: 'CancelledRun' })
export type CancelledRun = z.infer<typeof cancelledSchema>

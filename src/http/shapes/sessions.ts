// Sessions and threads as they are answered.
import * as z from 'zod'
import type { SessionLine } from '../../db/sessions.ts'
import { instantSchema, nextId } from './common.ts'

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

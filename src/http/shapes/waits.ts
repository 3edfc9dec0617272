// What paused runs wait for, and runs, as they are answered.
import * as z from 'zod'
import { pendingActionStatuses } from '../../agents/approvals/pending-action.ts'
import type { ActionLine } from '../../db/pending-actions.ts'
import { type ToolRequestLine, toolRequestStatuses } from '../../db/tool-requests.ts'
import { instantSchema, nextId } from './common.ts'

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

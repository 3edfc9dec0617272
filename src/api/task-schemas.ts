// Schemas of the four task contracts, under their own schema ids.
import * as z from 'zod'
import { splitCommaList } from '../lib/index.ts'
import { fieldsSchema as facts, instantSchema, jsonValueSchema } from './resource.ts'

export const taskSchemaIds = {
  input: 'agents-api/task-input/v1',
  placement: 'agents-api/execution-placement/v1',
  target: 'agents-api/executor-target/v1',
  result: 'agents-api/task-result/v1',
} as const

const map = z.record(z.string(), z.json())
const words = z.array(z.string().trim().min(1).max(200)).max(64)
const text = z.string().max(500_000)
/** Chosen by the caller; visible characters, so that it can be said again. */
const id = z
  .string()
  .trim()
  .regex(/^[^\s\p{C}]{1,200}$/u, 'must be 1 to 200 visible characters without spaces')

const placementShape = {
  preferred_target: z.string().trim().min(1).optional(),
  allowed_targets: words.optional(),
  resource_class: z.string().trim().min(1).optional(),
  required_capabilities: words.optional(),
}

const attachmentSchema = z
  .looseObject({
    mime_type: z.string().min(1),
    url: z.string().optional(),
    data: z.string().optional(),
    name: z.string().optional(),
  })
  .meta({ description: 'A file: the URL of an upload of your own, or base64 bytes' })

const taskShape = {
  instructions: text.optional().meta({ description: 'What to do, in words' }),
  input: z.json().optional().meta({ description: 'What to do it with' }),
  attachments: z.array(attachmentSchema).max(16).optional(),
}

export const taskInputSchema = z
  .looseObject({
    schema: z.literal(taskSchemaIds.input).optional(),
    task: z.looseObject({ id: id.optional(), ...taskShape, metadata: map.optional() }).optional(),
    task_id: id.optional().meta({ description: 'In place of task.id' }),
    ...taskShape,
    run_id: id.optional().meta({ description: 'Your own id of this run: sent twice it runs once' }),
    session_id: id.optional().meta({ description: 'The thread it belongs to; without it: one of its own' }),
    session_owner: z.string().optional(),
    client_context: map.optional(),
    metadata: map.optional(),
    placement: z
      .looseObject({
        schema: z.literal(taskSchemaIds.placement).optional(),
        ...placementShape,
        metadata: map.optional(),
      })
      .optional(),
    ...placementShape,
  })
  .meta({ id: 'TaskInput', description: taskSchemaIds.input })

export type TaskInput = z.input<typeof taskInputSchema>

export const executionTargetSchema = z
  .object({
    schema: z.literal(taskSchemaIds.target),
    id: z.string(),
    label: z.string(),
    kind: z.string(),
    description: z.string(),
    capabilities: z.array(z.string()),
    resource_classes: z.array(z.string()),
    metadata: facts,
  })
  .meta({ id: 'ExecutionTarget', description: taskSchemaIds.target })

export type ExecutionTarget = z.infer<typeof executionTargetSchema>

export const taskStatuses = ['queued', 'running', 'cancelling', 'cancelled', 'succeeded', 'failed'] as const

export const taskResultSchema = z
  .object({
    schema: z.literal(taskSchemaIds.result),
    run_id: z.string(),
    session_id: z.string(),
    status: z.enum(taskStatuses),
    executor_id: z.string(),
    execution_metrics: facts,
    artifact_refs: z.array(facts),
    diagnostics: facts,
    events: z.array(facts),
    provenance: facts,
    output: jsonValueSchema,
    started_at: instantSchema,
    updated_at: instantSchema,
    metadata: facts,
  })
  .meta({ id: 'TaskResult', description: taskSchemaIds.result })

export type TaskResult = z.infer<typeof taskResultSchema>

export const targetsSchema = z.object({ targets: z.array(executionTargetSchema) })
export const taskRunQuery = z.object({
  run_id: id,
  session_id: id.optional().meta({ description: 'Where given, it must be the session of the run' }),
})
const listOfWords = z.string().transform(splitCommaList).optional()
export const targetsQuery = z.object({
  preferred_target: placementShape.preferred_target,
  allowed_targets: listOfWords.meta({ description: 'Several with commas' }),
  resource_class: placementShape.resource_class,
  required_capabilities: listOfWords.meta({ description: 'Several with commas' }),
})
export const cancelTaskSchema = z.object({ run_id: id, session_id: id.optional() })
export const cancelledTaskSchema = z.object({
  cancelled: z.boolean().meta({ description: 'False: it had ended before' }),
  result: taskResultSchema,
})

// The input of a task request, in the many ways the contract allows, and the agents that may execute it. Pure but for ids.

import type { AgentFacts } from '../agents/agent-settings.ts'
import type { Json, JsonObject } from '../lib/json-value.ts'
import { type ExecutionTarget, type TaskInput, taskInputSchema, taskSchemaIds } from './task-schemas.ts'

export type TaskOrder = {
  readonly taskId: string
  readonly runId: string
  readonly sessionId: string
  /** As the agent reads it. */
  readonly words: string
  readonly attachments: NonNullable<TaskInput['attachments']>
  readonly placement: Placement
  /** The task as it was asked, to be shown again. */
  readonly payload: JsonObject
}

export type TaskOrderResult = TaskOrder | { readonly problem: string }

/** `newId` for what they leave to us. */
export function readTaskInput(given: unknown, newId: () => string): TaskOrderResult {
  const parsed = taskInputSchema.safeParse(given)
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    return { problem: `${issue?.path.join('.') || 'the body'} does not fit: ${issue?.message ?? ''}` }
  }
  const { task = {}, placement = {}, ...top } = parsed.data
  const taskId = task.id ?? top.task_id
  if (taskId === undefined) return { problem: 'task.id is missing; give the task an id of your own' }
  const words = taskPrompt(task.instructions ?? top.instructions ?? '', task.input ?? top.input)
  const attachments = task.attachments ?? top.attachments ?? []
  if (words === '' && attachments.length === 0)
    return { problem: 'task.instructions is missing; say what is to be done, or give an input' }
  if (startsWithCommand(words)) return { problem: 'instructions must not be a command; cancel-task-run stops a run' }
  const runId = top.run_id ?? `task_run_${newId()}`
  const sessionId = top.session_id ?? `task_session_${newId()}`
  return {
    taskId,
    runId,
    sessionId,
    words,
    attachments,
    placement: {
      preferred: placement.preferred_target ?? top.preferred_target,
      allowed: placement.allowed_targets ?? top.allowed_targets ?? [],
      resourceClass: placement.resource_class ?? top.resource_class ?? 'generic',
      capabilities: placement.required_capabilities ?? top.required_capabilities ?? [],
    },
    payload: {
      schema: taskSchemaIds.input,
      task_id: taskId,
      run_id: runId,
      session_id: sessionId,
      instructions: task.instructions ?? top.instructions ?? '',
      input: task.input ?? top.input ?? null,
      client_context: top.client_context ?? {},
      metadata: { ...top.metadata, ...task.metadata },
    },
  }
}

function taskPrompt(instructions: string, input: Json | undefined): string {
  const isEmpty =
    input === undefined || input === null || JSON.stringify(input) === '{}' || JSON.stringify(input) === '[]'
  const block = isEmpty ? '' : `\`\`\`json\n${JSON.stringify(input, null, 2)}\n\`\`\``
  return [instructions.trim(), block].filter((each) => each !== '').join('\n\n')
}

/** The gateway would take it for a word to itself. */
function startsWithCommand(words: string): boolean {
  return /^\/[a-z][a-z0-9_]{0,31}(\s|$)/i.test(words)
}

export type Placement = {
  readonly preferred: string | undefined
  /** Empty: all. */
  readonly allowed: readonly string[]
  readonly resourceClass: string
  readonly capabilities: readonly string[]
}

/** Every agent runs tasks; what else it is good for are its skills. */
export function executionTarget({ slug, label = slug, description = '', skills = [] }: AgentFacts): ExecutionTarget {
  return {
    schema: taskSchemaIds.target,
    id: slug,
    label,
    kind: 'agent',
    description,
    capabilities: ['tasks.run', 'tasks.cancel', 'artifacts.reference', ...skills.map(({ id }) => id)],
    resource_classes: ['generic'],
    metadata: {
      skills: skills.map(({ id, name, description: words, tags }) => ({
        id,
        name,
        description: words,
        tags: [...tags],
      })),
    },
  }
}

type Known = Pick<ExecutionTarget, 'id' | 'capabilities' | 'resource_classes'>

/** The preferred one first, if it fits; the others in the order they are configured. */
export function orderFittingTargets<Target extends Known>(
  targets: readonly Target[],
  placement: Placement,
): readonly Target[] {
  const { preferred, allowed, resourceClass, capabilities } = placement
  const fitting = targets
    .filter(({ id }) => allowed.length === 0 || allowed.includes(id))
    .filter(({ resource_classes: classes }) => classes.length === 0 || classes.includes(resourceClass))
    .filter((target) => capabilities.every((each) => target.capabilities.includes(each)))
  return [...fitting.filter(({ id }) => id === preferred), ...fitting.filter(({ id }) => id !== preferred)]
}

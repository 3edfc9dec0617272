// Who executes a task: the agents that may, filtered by what is asked for. Pure.
import type { AgentFacts } from '../../agents/agent-settings.ts'
import { type ExecutionTarget, taskSchemaIds } from '../shapes/tasks.ts'

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
export function fittingTargets<Target extends Known>(
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

// A tool policy as configuration writes it, read into lists that need no further questions.
import { fieldsOf, textsOf, trimmed } from '../fields.ts'
import type { ToolDeclaration } from '../tools/tool.ts'
import { categoriesOf } from './tool-traits.ts'

export type ToolPolicy = {
  /** Null: a word nobody knows; the two lists below it are then passed over. */
  readonly mode: 'allow' | 'deny' | null
  readonly tools: readonly string[]
  readonly categories: readonly string[]
  readonly allow_only: readonly string[]
  readonly deny: readonly string[]
  readonly mandatory_tools: readonly string[]
  readonly mandatory_categories: readonly string[]
  readonly runtime_tools: readonly string[]
  readonly runtime_categories: readonly string[]
  readonly allow_write_tools: boolean
}

export function readToolPolicy(value: unknown): ToolPolicy {
  const given = fieldsOf(value)
  const list = (key: string) => textsOf(given[key] ?? [])
  return {
    mode: readMode(given['mode']),
    tools: list('tools'),
    categories: list('categories'),
    allow_only: list('allow_only'),
    deny: list('deny'),
    mandatory_tools: list('mandatory_tools'),
    mandatory_categories: list('mandatory_categories'),
    runtime_tools: list('runtime_tools'),
    runtime_categories: list('runtime_categories'),
    allow_write_tools: given['allow_write_tools'] === true,
  }
}

/** Whether the lists of a policy's mode name the tool. */
export function isListed(policy: Pick<ToolPolicy, 'tools' | 'categories'>, tool: ToolDeclaration): boolean {
  return policy.tools.includes(tool.name) || hasCategory(tool, policy.categories)
}

export function hasCategory(tool: ToolDeclaration, categories: readonly string[]): boolean {
  return categoriesOf(tool).some((category) => categories.includes(category))
}

function readMode(value: unknown): ToolPolicy['mode'] {
  if (value === undefined || value === null) return 'deny'
  const mode = trimmed(value)?.toLowerCase()
  return mode === 'allow' || mode === 'deny' ? mode : null
}

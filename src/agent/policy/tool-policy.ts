// A tool policy as configuration writes it, read into lists that need no further questions.
import { asFields, textList, trimmedText } from '../fields.ts'
import { declaredName } from '../tools/client-names.ts'
import type { ToolDeclaration } from '../tools/tool.ts'
import { toolCategories } from './tool-traits.ts'

export type ToolPolicy = {
  /** Null: an unknown mode; the two lists below it are then passed over. */
  readonly mode: 'allow' | 'deny' | null
  readonly tools: readonly string[]
  readonly categories: readonly string[]
  readonly allow_only: readonly string[]
  readonly deny: readonly string[]
  readonly mandatory_tools: readonly string[]
  readonly mandatory_categories: readonly string[]
  /** Names and patterns of tools that a caller runs itself, in our spelling or in the caller's; `all` in a configuration is `*`. */
  readonly runtime_tools: readonly string[]
  readonly runtime_categories: readonly string[]
  /** Tools whose results only the model may see, as if each were declared so; `all` is `*`. */
  readonly sensitive_results: readonly string[]
  readonly allow_write_tools: boolean
}

export function readToolPolicy(value: unknown): ToolPolicy {
  const given = asFields(value)
  const policyList = (key: string) => textList(given[key] ?? [])
  const listOrAll = (key: string) => (given[key] === 'all' ? ['*'] : policyList(key))
  return {
    mode: readMode(given['mode']),
    tools: policyList('tools'),
    categories: policyList('categories'),
    allow_only: policyList('allow_only'),
    deny: policyList('deny'),
    mandatory_tools: policyList('mandatory_tools'),
    mandatory_categories: policyList('mandatory_categories'),
    runtime_tools: listOrAll('runtime_tools'),
    runtime_categories: policyList('runtime_categories'),
    sensitive_results: listOrAll('sensitive_results'),
    allow_write_tools: given['allow_write_tools'] === true,
  }
}

/** Whether the lists of a policy's mode name the tool. */
export function isToolListed(policy: Pick<ToolPolicy, 'tools' | 'categories'>, tool: ToolDeclaration): boolean {
  return isToolNamed(policy.tools, tool) || hasCategory(tool, policy.categories)
}

/** By name, or by a pattern such as `shop/*`. A caller's tool also as `client/` and what the caller calls it. */
export function isToolNamed(names: readonly string[], tool: ToolDeclaration): boolean {
  const own = declaredName(tool)
  return names.some(
    (name) => matchesWildcard(name, tool.name) || (own !== undefined && matchesWildcard(name, `client/${own}`)),
  )
}

/** The same among names that only a caller's tools can have: the caller's word alone is enough. */
export function isNamedRuntime(names: readonly string[], tool: ToolDeclaration): boolean {
  const own = declaredName(tool)
  return isToolNamed(names, tool) || (own !== undefined && names.some((name) => matchesWildcard(name, own)))
}

/** `*` is any text. The pieces between are looked for one after the other, so that no name costs more than its length. */
function matchesWildcard(pattern: string, name: string): boolean {
  const [first = '', ...rest] = pattern.split('*')
  const last = rest.pop()
  if (last === undefined) return pattern === name
  if (!name.startsWith(first) || name.length < first.length + last.length || !name.endsWith(last)) return false
  const end = name.length - last.length
  let at = first.length
  for (const piece of rest) {
    const found = name.indexOf(piece, at)
    if (found < 0 || found + piece.length > end) return false
    at = found + piece.length
  }
  return true
}

export function hasCategory(tool: ToolDeclaration, categories: readonly string[]): boolean {
  return toolCategories(tool).some((category) => categories.includes(category))
}

function readMode(value: unknown): ToolPolicy['mode'] {
  if (value === undefined || value === null) return 'deny'
  const mode = trimmedText(value)?.toLowerCase()
  return mode === 'allow' || mode === 'deny' ? mode : null
}

// Which tools a model is shown. The order of the steps is the contract; whatever came from outside is applied last
// and can only take away.
import type { Fields } from '../../contract/index.ts'
import { textsOf } from '../fields.ts'
import type { ToolDeclaration } from '../tools/tool.ts'
import { isAutonomous, principalIn } from './principal.ts'
import { hasCategory, isListed, isNamed, isNamedRuntime, readToolPolicy, type ToolPolicy } from './tool-policy.ts'
import { isRuntimeTool, isWriteTool, modesOf } from './tool-traits.ts'

export type VisibilityRequest = {
  /** Trusted, in order: the agent's configuration, the run's, then what policy providers add. */
  readonly policies?: readonly unknown[]
  /** Trusted facts of the run: `mode`, `categories`, `allow_only`, `deny`, and `principal` or its flat fields. */
  readonly context?: Fields
  readonly isAccessible?: (tool: ToolDeclaration) => boolean
  /** Anything a caller sent along: `allow_only`, `deny`, `categories`, `tool_policy`. */
  readonly outside?: Fields
  /** The host's last look; like everything at the end it only takes away. */
  readonly keep?: (tool: ToolDeclaration) => boolean
}

type Tools = readonly ToolDeclaration[]

export function resolveVisibleTools(
  tools: ReadonlyMap<string, ToolDeclaration>,
  request: VisibilityRequest,
): ReadonlyMap<string, ToolDeclaration> {
  const context = request.context ?? {}
  const policies = (request.policies ?? []).map(readToolPolicy)
  const rules = { policies, allowOnly: allowOnlyOf(context, policies), isMandatory: mandatoryBy(policies) }
  let visible: Tools = [...tools.values()].filter((tool) => fitsMode(tool, context['mode']))
  visible = visible.filter((tool) => isYes(request.isAccessible, tool))
  for (const policy of policies) visible = applyLists(visible, policy, rules.isMandatory)
  visible = byCategories(visible, context, rules.isMandatory)
  if (rules.allowOnly.length > 0)
    visible = visible.filter((tool) => isNamed(rules.allowOnly, tool) || rules.isMandatory(tool))
  visible = visible.filter((tool) => !isRuntimeTool(tool) || isOptedIn(tool, rules))
  if (isAutonomous(principalIn(context))) visible = visible.filter((tool) => mayWriteAlone(tool, rules))
  const denied = [...textsOf(context['deny'] ?? []), ...policies.flatMap((policy) => policy.deny)]
  visible = visible.filter((tool) => !isNamed(denied, tool))
  visible = narrowed(visible, request.outside ?? {}).filter((tool) => isYes(request.keep, tool))
  return new Map(visible.map((tool) => [tool.name, tool]))
}

type Rules = {
  readonly policies: readonly ToolPolicy[]
  readonly allowOnly: readonly string[]
  readonly isMandatory: (tool: ToolDeclaration) => boolean
}

function fitsMode(tool: ToolDeclaration, mode: unknown = 'chat'): boolean {
  const modes = modesOf(tool)
  return mode === '' || modes.length === 0 || modes.includes(String(mode))
}

/** A check that breaks is a no. */
function isYes(check: ((tool: ToolDeclaration) => boolean) | undefined, tool: ToolDeclaration): boolean {
  if (check === undefined) return true
  try {
    return check(tool) === true
  } catch {
    return false
  }
}

/** Mandatory tools outlive every step but the mode, the access check and an explicit denial. */
function mandatoryBy(policies: readonly ToolPolicy[]): (tool: ToolDeclaration) => boolean {
  const names = policies.flatMap((policy) => policy.mandatory_tools)
  const categories = policies.flatMap((policy) => policy.mandatory_categories)
  return (tool) => tool['mandatory'] === true || isNamed(names, tool) || hasCategory(tool, categories)
}

function applyLists(tools: Tools, policy: ToolPolicy, isMandatory: Rules['isMandatory']): Tools {
  switch (policy.mode) {
    case 'allow':
      return tools.filter((tool) => isListed(policy, tool) || isMandatory(tool))
    case 'deny':
      return tools.filter((tool) => !isListed(policy, tool) || isMandatory(tool))
    case null:
      return tools
  }
}

function byCategories(tools: Tools, context: Fields, isMandatory: Rules['isMandatory']): Tools {
  const categories = textsOf(context['categories'] ?? [])
  if (categories.length === 0) return tools
  return tools.filter((tool) => hasCategory(tool, categories) || isMandatory(tool))
}

function allowOnlyOf(context: Fields, policies: readonly ToolPolicy[]): readonly string[] {
  return [...textsOf(context['allow_only'] ?? []), ...policies.flatMap((policy) => policy.allow_only)]
}

function isOptedIn(tool: ToolDeclaration, { policies, allowOnly, isMandatory }: Rules): boolean {
  if (isNamed(allowOnly, tool) || isMandatory(tool)) return true
  return policies.some(
    (policy) =>
      isNamedRuntime(policy.runtime_tools, tool) ||
      hasCategory(tool, policy.runtime_categories) ||
      (policy.mode === 'allow' && isListed(policy, tool)),
  )
}

function mayWriteAlone(tool: ToolDeclaration, rules: Rules): boolean {
  if (!isWriteTool(tool) || isOptedIn(tool, rules)) return true
  return rules.policies.some((policy) => policy.allow_write_tools)
}

/** An outside policy has no mandatory tools, opts nothing in and permits no writing. */
function narrowed(tools: Tools, outside: Fields): Tools {
  const policy = readToolPolicy(outside['tool_policy'])
  const isNamedBy = (names: readonly string[]) => (tool: ToolDeclaration) => isNamed(names, tool)
  let kept = applyLists(tools, policy, () => false)
  kept = byCategories(kept, outside, () => false)
  for (const only of [textsOf(outside['allow_only'] ?? []), policy.allow_only]) {
    if (only.length > 0) kept = kept.filter(isNamedBy(only))
  }
  const denied = isNamedBy([...textsOf(outside['deny'] ?? []), ...policy.deny])
  return kept.filter((tool) => !denied(tool))
}

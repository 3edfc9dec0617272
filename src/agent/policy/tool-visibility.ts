// Which tools a model is shown. The order of the steps is the contract; whatever came from outside is applied last
// and can only take away.
import type { Fields } from '../../contract/index.ts'
import { textList } from '../fields.ts'
import type { ToolDeclaration } from '../tools/tool.ts'
import { actingPrincipal, isAutonomous } from './principal.ts'
import {
  hasCategory,
  isNamedRuntime,
  isToolListed,
  isToolNamed,
  readToolPolicy,
  type ToolPolicy,
} from './tool-policy.ts'
import { isRuntimeTool, isWriteTool, toolModes } from './tool-traits.ts'

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
  const rules = { policies, allowOnly: allowOnlyNames(context, policies), isMandatory: mandatoryTools(policies) }
  let visible: Tools = [...tools.values()].filter((tool) => fitsMode(tool, context['mode']))
  visible = visible.filter((tool) => passesCheck(request.isAccessible, tool))
  for (const policy of policies) visible = applyPolicyLists(visible, policy, rules.isMandatory)
  visible = filterByCategories(visible, context, rules.isMandatory)
  if (rules.allowOnly.length > 0)
    visible = visible.filter((tool) => isToolNamed(rules.allowOnly, tool) || rules.isMandatory(tool))
  visible = visible.filter((tool) => !isRuntimeTool(tool) || isToolOptedIn(tool, rules))
  if (isAutonomous(actingPrincipal(context))) visible = visible.filter((tool) => mayWriteAlone(tool, rules))
  const denied = [...textList(context['deny'] ?? []), ...policies.flatMap((policy) => policy.deny)]
  visible = visible.filter((tool) => !isToolNamed(denied, tool))
  visible = narrowByRequest(visible, request.outside ?? {}).filter((tool) => passesCheck(request.keep, tool))
  return new Map(visible.map((tool) => [tool.name, tool]))
}

type Rules = {
  readonly policies: readonly ToolPolicy[]
  readonly allowOnly: readonly string[]
  readonly isMandatory: (tool: ToolDeclaration) => boolean
}

function fitsMode(tool: ToolDeclaration, mode: unknown = 'chat'): boolean {
  const modes = toolModes(tool)
  return mode === '' || modes.length === 0 || modes.includes(String(mode))
}

/** A check that breaks is a no. */
function passesCheck(check: ((tool: ToolDeclaration) => boolean) | undefined, tool: ToolDeclaration): boolean {
  if (check === undefined) return true
  try {
    return check(tool) === true
  } catch {
    return false
  }
}

/** Mandatory tools outlive every step but the mode, the access check and an explicit denial. */
function mandatoryTools(policies: readonly ToolPolicy[]): (tool: ToolDeclaration) => boolean {
  const names = policies.flatMap((policy) => policy.mandatory_tools)
  const categories = policies.flatMap((policy) => policy.mandatory_categories)
  return (tool) => tool['mandatory'] === true || isToolNamed(names, tool) || hasCategory(tool, categories)
}

function applyPolicyLists(tools: Tools, policy: ToolPolicy, isMandatory: Rules['isMandatory']): Tools {
  switch (policy.mode) {
    case 'allow':
      return tools.filter((tool) => isToolListed(policy, tool) || isMandatory(tool))
    case 'deny':
      return tools.filter((tool) => !isToolListed(policy, tool) || isMandatory(tool))
    case null:
      return tools
  }
}

function filterByCategories(tools: Tools, context: Fields, isMandatory: Rules['isMandatory']): Tools {
  const categories = textList(context['categories'] ?? [])
  if (categories.length === 0) return tools
  return tools.filter((tool) => hasCategory(tool, categories) || isMandatory(tool))
}

function allowOnlyNames(context: Fields, policies: readonly ToolPolicy[]): readonly string[] {
  return [...textList(context['allow_only'] ?? []), ...policies.flatMap((policy) => policy.allow_only)]
}

function isToolOptedIn(tool: ToolDeclaration, { policies, allowOnly, isMandatory }: Rules): boolean {
  if (isToolNamed(allowOnly, tool) || isMandatory(tool)) return true
  return policies.some(
    (policy) =>
      isNamedRuntime(policy.runtime_tools, tool) ||
      hasCategory(tool, policy.runtime_categories) ||
      (policy.mode === 'allow' && isToolListed(policy, tool)),
  )
}

function mayWriteAlone(tool: ToolDeclaration, rules: Rules): boolean {
  if (!isWriteTool(tool) || isToolOptedIn(tool, rules)) return true
  return rules.policies.some((policy) => policy.allow_write_tools)
}

/** An outside policy has no mandatory tools, opts nothing in and permits no writing. */
function narrowByRequest(tools: Tools, outside: Fields): Tools {
  const policy = readToolPolicy(outside['tool_policy'])
  const isNamedBy = (names: readonly string[]) => (tool: ToolDeclaration) => isToolNamed(names, tool)
  let kept = applyPolicyLists(tools, policy, () => false)
  kept = filterByCategories(kept, outside, () => false)
  for (const only of [textList(outside['allow_only'] ?? []), policy.allow_only]) {
    if (only.length > 0) kept = kept.filter(isNamedBy(only))
  }
  const denied = isNamedBy([...textList(outside['deny'] ?? []), ...policy.deny])
  return kept.filter((tool) => !denied(tool))
}

// Tool policies: read from configuration, applied to the tools a model is shown, and handed to delegated runtimes.

import { asFields, ownField, textList, trimmedText } from '../../lib/index.ts'
import type { Fields } from '../../lib/json-value.ts'
import type { ToolDeclaration } from '../tools/tool.ts'
import { readDeclaredName } from '../tools/tool-names.ts'
import { actingPrincipal, isAutonomous } from './principal.ts'

type ToolPolicy = {
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
  const readPolicyNames = (key: string) => textList(given[key] ?? [])
  const readListOrAll = (key: string) => (given[key] === 'all' ? ['*'] : readPolicyNames(key))
  return {
    mode: readMode(given['mode']),
    tools: readPolicyNames('tools'),
    categories: readPolicyNames('categories'),
    allow_only: readPolicyNames('allow_only'),
    deny: readPolicyNames('deny'),
    mandatory_tools: readPolicyNames('mandatory_tools'),
    mandatory_categories: readPolicyNames('mandatory_categories'),
    runtime_tools: readListOrAll('runtime_tools'),
    runtime_categories: readPolicyNames('runtime_categories'),
    sensitive_results: readListOrAll('sensitive_results'),
    allow_write_tools: given['allow_write_tools'] === true,
  }
}

/** Whether the lists of a policy's mode name the tool. */
function isToolListed(policy: Pick<ToolPolicy, 'tools' | 'categories'>, tool: ToolDeclaration): boolean {
  return isToolNamed(policy.tools, tool) || hasToolCategory(tool, policy.categories)
}

/** By name, or by a pattern such as `shop/*`. A caller's tool also as `client/` and what the caller calls it. */
export function isToolNamed(names: readonly string[], tool: ToolDeclaration): boolean {
  const own = readDeclaredName(tool)
  return names.some(
    (name) => matchesWildcard(name, tool.name) || (own !== undefined && matchesWildcard(name, `client/${own}`)),
  )
}

/** The same among names that only a caller's tools can have: the caller's word alone is enough. */
function isRuntimeToolNamed(names: readonly string[], tool: ToolDeclaration): boolean {
  const own = readDeclaredName(tool)
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

function hasToolCategory(tool: ToolDeclaration, categories: readonly string[]): boolean {
  return toolCategories(tool).some((category) => categories.includes(category))
}

function readMode(value: unknown): ToolPolicy['mode'] {
  if (value === undefined || value === null) return 'deny'
  const mode = trimmedText(value)?.toLowerCase()
  return mode === 'allow' || mode === 'deny' ? mode : null
}

const writeCategories = ['write', 'publishing', 'mutating', 'destructive']

export function toolCategories(tool: ToolDeclaration): readonly string[] {
  const keys = ['category', 'ability_category', 'categories', 'ability_categories']
  return [...new Set(keys.flatMap((key) => textList(tool[key] ?? [])))]
}

function toolModes(tool: ToolDeclaration): readonly string[] {
  return textList(tool['modes'] ?? tool['mode'] ?? [])
}

/** Declared for one run and executed by a client; shown only where policy names it. */
function isRuntimeTool(tool: ToolDeclaration): boolean {
  return tool['runtime_tool'] === true || tool.executor === 'client'
}

export function isWriteTool(tool: ToolDeclaration): boolean {
  if (tool['write'] === true || tool['mutating'] === true) return true
  return toolCategories(tool).some((category) => writeCategories.includes(category))
}

// Visibility: the order of the steps is the contract; whatever came from outside is applied last and can only take away.

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
  const rules = {
    policies,
    allowOnly: collectAllowOnlyNames(context, policies),
    isMandatory: createMandatoryCheck(policies),
  }
  let visible: Tools = [...tools.values()].filter((tool) => isToolAllowedInMode(tool, context['mode']))
  visible = visible.filter((tool) => passesAccessCheck(request.isAccessible, tool))
  for (const policy of policies) visible = filterByPolicyMode(visible, policy, rules.isMandatory)
  visible = filterByCategories(visible, context, rules.isMandatory)
  if (rules.allowOnly.length > 0)
    visible = visible.filter((tool) => isToolNamed(rules.allowOnly, tool) || rules.isMandatory(tool))
  visible = visible.filter((tool) => !isRuntimeTool(tool) || isToolOptedIn(tool, rules))
  if (isAutonomous(actingPrincipal(context))) visible = visible.filter((tool) => isWriteAllowed(tool, rules))
  const denied = [...textList(context['deny'] ?? []), ...policies.flatMap((policy) => policy.deny)]
  visible = visible.filter((tool) => !isToolNamed(denied, tool))
  visible = narrowToolsByRequest(visible, request.outside ?? {}).filter((tool) => passesAccessCheck(request.keep, tool))
  return new Map(visible.map((tool) => [tool.name, tool]))
}

type Rules = {
  readonly policies: readonly ToolPolicy[]
  readonly allowOnly: readonly string[]
  readonly isMandatory: (tool: ToolDeclaration) => boolean
}

function isToolAllowedInMode(tool: ToolDeclaration, mode: unknown = 'chat'): boolean {
  const modes = toolModes(tool)
  return mode === '' || modes.length === 0 || modes.includes(String(mode))
}

/** A check that breaks is a no. */
function passesAccessCheck(check: ((tool: ToolDeclaration) => boolean) | undefined, tool: ToolDeclaration): boolean {
  if (check === undefined) return true
  try {
    return check(tool) === true
  } catch {
    return false
  }
}

/** Mandatory tools outlive every step but the mode, the access check and an explicit denial. */
function createMandatoryCheck(policies: readonly ToolPolicy[]): (tool: ToolDeclaration) => boolean {
  const names = policies.flatMap((policy) => policy.mandatory_tools)
  const categories = policies.flatMap((policy) => policy.mandatory_categories)
  return (tool) => tool['mandatory'] === true || isToolNamed(names, tool) || hasToolCategory(tool, categories)
}

function filterByPolicyMode(tools: Tools, policy: ToolPolicy, isMandatory: Rules['isMandatory']): Tools {
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
  return tools.filter((tool) => hasToolCategory(tool, categories) || isMandatory(tool))
}

function collectAllowOnlyNames(context: Fields, policies: readonly ToolPolicy[]): readonly string[] {
  return [...textList(context['allow_only'] ?? []), ...policies.flatMap((policy) => policy.allow_only)]
}

function isToolOptedIn(tool: ToolDeclaration, { policies, allowOnly, isMandatory }: Rules): boolean {
  if (isToolNamed(allowOnly, tool) || isMandatory(tool)) return true
  return policies.some(
    (policy) =>
      isRuntimeToolNamed(policy.runtime_tools, tool) ||
      hasToolCategory(tool, policy.runtime_categories) ||
      (policy.mode === 'allow' && isToolListed(policy, tool)),
  )
}

function isWriteAllowed(tool: ToolDeclaration, rules: Rules): boolean {
  if (!isWriteTool(tool) || isToolOptedIn(tool, rules)) return true
  return rules.policies.some((policy) => policy.allow_write_tools)
}

/** An outside policy has no mandatory tools, opts nothing in and permits no writing. */
function narrowToolsByRequest(tools: Tools, outside: Fields): Tools {
  const policy = readToolPolicy(outside['tool_policy'])
  const createNameCheck = (names: readonly string[]) => (tool: ToolDeclaration) => isToolNamed(names, tool)
  let kept = filterByPolicyMode(tools, policy, () => false)
  kept = filterByCategories(kept, outside, () => false)
  for (const only of [textList(outside['allow_only'] ?? []), policy.allow_only]) {
    if (only.length > 0) kept = kept.filter(createNameCheck(only))
  }
  const denied = createNameCheck([...textList(outside['deny'] ?? []), ...policy.deny])
  return kept.filter((tool) => !denied(tool))
}

// For a delegated runtime: `agents-api/runtime-tool-policy/v1`. Closed unless a tool says twice that it belongs there.

type Place = 'runtime_local' | 'control_plane'

export function runtimeToolPolicy(tools: Iterable<ToolDeclaration>, context?: Fields): Fields {
  const scalars = Object.entries(context ?? {}).filter(([, value]) =>
    ['string', 'number', 'boolean'].includes(typeof value),
  )
  return {
    schema: 'agents-api/runtime-tool-policy/v1',
    version: 1,
    tools: [...tools].map(describeToolPlacement),
    ...(scalars.length === 0 ? {} : { context: Object.fromEntries(scalars) }),
  }
}

function describeToolPlacement(tool: ToolDeclaration): Fields {
  const environment = runtimePlacement(tool, 'environment')
  const capabilityScope = runtimePlacement(tool, 'capability_scope')
  const allowed = environment === 'runtime_local' && capabilityScope === 'runtime_local'
  return {
    id: tool.name,
    runtime_tool_id: trimmedText(tool['runtime_tool_id']) ?? tool.name.replace(/[/-]/g, '_'),
    allowed,
    environment,
    capability_scope: capabilityScope,
    runtime: { environment, capability_scope: capabilityScope },
    execution_location: allowed ? 'sandbox' : 'parent',
    transport_visibility: allowed ? 'sandbox' : 'parent',
    legacy_fields: ['execution_location', 'transport_visibility'],
    source: tool.source,
  }
}

function runtimePlacement(tool: ToolDeclaration, key: string): Place {
  const value = ownField(asFields(tool.runtime), key)
  return value === 'runtime_local' ? value : 'control_plane'
}

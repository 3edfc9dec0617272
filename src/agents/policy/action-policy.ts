// The action policy: a visible tool may act at once, only after a person has approved it, or not at all. The first rule that says
// something wins; there is no memory of earlier approvals, and outside input can only make it stricter.

import { asFields, ownField, textList, trimmedText } from '../../lib/index.ts'
import type { Fields } from '../../lib/json-value.ts'
import type { ToolDeclaration } from '../tools/tool.ts'
import { readDeclaredName } from '../tools/tool-names.ts'
import { toolCategories } from './tool-policy.ts'

export type ActionPolicy = 'direct' | 'preview' | 'forbidden'

/** `rule`: what said so, for the audit log. */
export type ActionRuling = { readonly policy: ActionPolicy; readonly rule: string | undefined }

/** From loose to strict. */
const strictness: readonly ActionPolicy[] = ['direct', 'preview', 'forbidden']

export type ActionRequest = {
  readonly toolName: string
  readonly tool?: ToolDeclaration
  readonly mode?: string
  /** The tool says how a person is asked: `preview` where nothing else is said. */
  readonly hasApproval?: boolean
  /** Trusted: names that may not be used in this run. */
  readonly deny?: readonly string[]
  /** `{tools, categories}` of the run; it takes the place of the agent's. */
  readonly actionPolicy?: unknown
  readonly agentActionPolicy?: unknown
  readonly providers?: readonly ((request: ActionRequest) => unknown)[]
  /** What a caller sent along: `deny` and `action_policy`. */
  readonly outside?: Fields
}

/** A policy value in any case and with blanks around it; null for any other word. */
export function readActionPolicy(value: unknown, otherwise: unknown = null): ActionPolicy | null {
  const word = trimmedText(value)?.toLowerCase()
  const known = strictness.find((policy) => policy === word)
  if (known !== undefined) return known
  return otherwise === null ? null : readActionPolicy(otherwise)
}

export function resolveActionPolicy(request: ActionRequest): ActionPolicy {
  return resolveActionPolicyAndRule(request).policy
}

/** The same with what decided: the run's or the agent's policy, a provider, the tool itself, its approval terms, or its caller. */
export function resolveActionPolicyAndRule(request: ActionRequest): ActionRuling {
  if (request.toolName === '') return { policy: 'direct', rule: undefined }
  const ours = resolvePolicyWithoutCaller(request)
  const { outside } = request
  if (outside === undefined) return ours
  if (textList(outside['deny'] ?? []).includes(request.toolName)) return { policy: 'forbidden', rule: 'caller' }
  const theirs = readPolicyForTool(outside['action_policy'], request) ?? 'direct'
  return strictness.indexOf(ours.policy) >= strictness.indexOf(theirs) ? ours : { policy: theirs, rule: 'caller' }
}

function resolvePolicyWithoutCaller(request: ActionRequest): ActionRuling {
  const { tool, mode = 'chat', actionPolicy, agentActionPolicy } = request
  if (request.deny?.includes(request.toolName)) return { policy: 'forbidden', rule: 'run' }
  const rules: readonly (readonly [string, () => ActionPolicy | null])[] = [
    [actionPolicy === undefined ? 'agent' : 'run', () => readPolicyForTool(actionPolicy ?? agentActionPolicy, request)],
    ['provider', () => askPolicyProviders(request)],
    ['tool', () => readActionPolicy(tool?.['action_policy'])],
    ['tool', () => readActionPolicy(tool?.[`action_policy_${mode}`])],
    // Terms on which a person is asked are a wish to have them asked.
    ['approval', () => (request.hasApproval === true ? 'preview' : null)],
  ]
  for (const [rule, read] of rules) {
    const policy = read()
    if (policy !== null) return { policy, rule }
  }
  return { policy: 'direct', rule: undefined }
}

function readPolicyForTool(policy: unknown, { toolName, tool }: ActionRequest): ActionPolicy | null {
  const given = asFields(policy)
  const byName = asFields(given['tools'])
  const own = readDeclaredName(tool)
  const named = readActionPolicy(ownField(byName, toolName) ?? (own && ownField(byName, `client/${own}`)))
  if (named !== null) return named
  const categories = tool === undefined ? [] : toolCategories(tool)
  for (const [category, value] of Object.entries(asFields(given['categories']))) {
    const policyOf = categories.includes(category) ? readActionPolicy(value) : null
    if (policyOf !== null) return policyOf
  }
  return null
}

function askPolicyProviders(request: ActionRequest): ActionPolicy | null {
  for (const provider of request.providers ?? []) {
    try {
      const policy = readActionPolicy(provider(request))
      if (policy !== null) return policy
    } catch {
      // A policy provider that fails allows nothing.
      return 'forbidden'
    }
  }
  return null
}

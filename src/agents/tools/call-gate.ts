// The call gate: rules about the order of tool calls, which call may come now, and whether the run may end. Decided from the
// transcript alone, so that a resumed run decides alike.
import type { Envelope } from '../../contract/gateway-events.ts'
import { asFields, isPlainObject, textList, trimmedText } from '../../lib/index.ts'
import type { Fields } from '../../lib/json-value.ts'
import type { CompletionGate } from '../loop/options.ts'
import type { PreToolMediator } from './mediate.ts'

export type GateDecision = { readonly message: string; readonly context: Fields }

/** The tools called so far, in order. Refused attempts stand there too and count. */
export function listCalledTools(messages: readonly Pick<Envelope, 'type' | 'payload'>[]): readonly string[] {
  return messages.filter(({ type }) => type === 'tool_call').map(({ payload }) => String(payload['tool_name'] ?? ''))
}

/** Undefined: the call may be made. */
export function findCallGateViolation(
  rules: readonly GateRule[],
  called: readonly string[],
  tool: string,
): GateDecision | undefined {
  for (const rule of rules) {
    if (!rule.gate_calls || rule.after_tool === undefined || rule.require_one_of.includes(tool)) continue
    const anchor = called.lastIndexOf(rule.after_tool)
    if (anchor === -1) continue
    const since = called.slice(anchor + 1)
    if (since.some((name) => rule.require_one_of.includes(name))) continue
    const spent = since.filter((name) => rule.limited_tools.includes(name)).length
    if (spent < rule.max_calls) continue
    const message = `${tool} may not be called now: after ${rule.after_tool}, call ${formatRequiredToolNames(rule)} first.`
    return { message, context: { ...gateRuleContext(rule), tool_name: tool, calls: spent } }
  }
  return undefined
}

/** Undefined: the run may end. */
export function findCompletionGateViolation(
  rules: readonly GateRule[],
  called: readonly string[],
): GateDecision | undefined {
  for (const rule of rules) {
    if (!rule.gate_completion) continue
    const anchor = rule.after_tool === undefined ? -1 : called.indexOf(rule.after_tool)
    const isOpen =
      anchor !== -1 &&
      rule.require_one_of.length > 0 &&
      !called.slice(anchor).some((name) => rule.require_one_of.includes(name))
    const counted =
      rule.require_one_of.length === 0 ? called : called.filter((name) => rule.require_one_of.includes(name))
    const isShort = rule.require_tool_use && counted.length < rule.min_tool_calls
    if (!isOpen && !isShort) continue
    const message = `call ${formatRequiredToolNames(rule)} before you finish.`
    return { message, context: { ...gateRuleContext(rule), calls: counted.length } }
  }
  return undefined
}

/** The gate at the end of a run. */
export function createCompletionGate(rules: readonly GateRule[]): CompletionGate {
  return (messages) => {
    const decision = findCompletionGateViolation(rules, listCalledTools(messages))
    return decision === undefined ? undefined : { ...decision.context, message: decision.message }
  }
}

/** The gate as a mediator, to be asked before any other. The call being judged is the last one in the transcript. */
export function createGateMediator(rules: readonly GateRule[]): PreToolMediator {
  return ({ messages, tool_name }) => {
    const decision = findCallGateViolation(rules, listCalledTools(messages).slice(0, -1), tool_name)
    if (decision === undefined) return { action: 'proceed' }
    const metadata = { ...decision.context, error_type: 'tool_call_gate_rejected' }
    return { action: 'reject', error: decision.message, metadata }
  }
}

function formatRequiredToolNames(rule: GateRule): string {
  return rule.require_one_of.length === 0 ? 'a tool' : rule.require_one_of.join(' or ')
}

function gateRuleContext(rule: GateRule): Fields {
  return {
    rule_id: rule.id,
    ...(rule.after_tool === undefined ? {} : { after_tool: rule.after_tool }),
    require_one_of: rule.require_one_of,
    min_tool_calls: rule.min_tool_calls,
  }
}

/** "After `after_tool`, at most `max_calls` of the `limited_tools`, then one of `require_one_of`." */
export type GateRule = {
  readonly id: string
  readonly after_tool?: string
  readonly limited_tools: readonly string[]
  readonly max_calls: number
  readonly require_one_of: readonly string[]
  readonly require_tool_use: boolean
  readonly min_tool_calls: number
  readonly gate_calls: boolean
  readonly gate_completion: boolean
}

/** A rule that could never apply is dropped. `canonical` turns a provider's spelling into ours. */
export function readGateRules(
  input: unknown,
  canonical: (name: string) => string = (name) => name,
): readonly GateRule[] {
  if (!Array.isArray(input)) return []
  return input
    .flatMap((entry, index) => (isPlainObject(entry) ? [readRule(entry, `rule-${index + 1}`, canonical)] : []))
    .filter(isRuleComplete)
}

function readRule(value: unknown, id: string, canonical: (name: string) => string): GateRule {
  const given = asFields(value)
  const canonicalToolNames = (key: string, alias: string) => textList(given[key] ?? given[alias]).map(canonical)
  const anchor = trimmedText(given['after_tool'])
  return {
    id: trimmedText(given['id']) ?? id,
    ...(anchor === undefined ? {} : { after_tool: canonical(anchor) }),
    limited_tools: canonicalToolNames('limited_tools', 'limited_tool_names'),
    max_calls: readIntegerAtLeast(0, given['max_calls']),
    require_one_of: canonicalToolNames('require_one_of', 'then_require_one_of'),
    require_tool_use: readBooleanSetting(given['require_tool_use'], false),
    min_tool_calls: readIntegerAtLeast(1, given['min_tool_calls']),
    gate_calls: readBooleanSetting(given['gate_calls'], true),
    gate_completion: readBooleanSetting(given['gate_completion'], true),
  }
}

function isRuleComplete(rule: GateRule): boolean {
  return rule.require_tool_use || (rule.after_tool !== undefined && rule.require_one_of.length > 0)
}

function readIntegerAtLeast(least: number, value: unknown): number {
  const number = Math.trunc(Number(value ?? least))
  return Number.isNaN(number) ? least : Math.max(least, number)
}

function readBooleanSetting(value: unknown, otherwise: boolean): boolean {
  if (value === undefined || value === null) return otherwise
  if (typeof value === 'string') return !['', '0', 'false', 'no', 'off'].includes(value.trim().toLowerCase())
  return Boolean(value)
}

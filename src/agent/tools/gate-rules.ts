// Rules about the order of tool calls, read from configuration.
import { asFields, isPlainObject, textList, trimmedText } from '../fields.ts'

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
    .filter(canApply)
}

function readRule(value: unknown, id: string, canonical: (name: string) => string): GateRule {
  const given = asFields(value)
  const canonicalToolNames = (key: string, alias: string) => textList(given[key] ?? given[alias]).map(canonical)
  const anchor = trimmedText(given['after_tool'])
  return {
    id: trimmedText(given['id']) ?? id,
    ...(anchor === undefined ? {} : { after_tool: canonical(anchor) }),
    limited_tools: canonicalToolNames('limited_tools', 'limited_tool_names'),
    max_calls: integerAtLeast(0, given['max_calls']),
    require_one_of: canonicalToolNames('require_one_of', 'then_require_one_of'),
    require_tool_use: readSwitch(given['require_tool_use'], false),
    min_tool_calls: integerAtLeast(1, given['min_tool_calls']),
    gate_calls: readSwitch(given['gate_calls'], true),
    gate_completion: readSwitch(given['gate_completion'], true),
  }
}

function canApply(rule: GateRule): boolean {
  return rule.require_tool_use || (rule.after_tool !== undefined && rule.require_one_of.length > 0)
}

function integerAtLeast(least: number, value: unknown): number {
  const number = Math.trunc(Number(value ?? least))
  return Number.isNaN(number) ? least : Math.max(least, number)
}

function readSwitch(value: unknown, otherwise: boolean): boolean {
  if (value === undefined || value === null) return otherwise
  if (typeof value === 'string') return !['', '0', 'false', 'no', 'off'].includes(value.trim().toLowerCase())
  return Boolean(value)
}

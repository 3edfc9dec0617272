// What one request may set for its run, over what the agent says. Anything unreadable counts as not said.
import type { Fields } from '../../contract/index.ts'
import { fieldsOf, textsOf, trimmed } from '../fields.ts'

export type RuntimeOverrides = {
  readonly system_prompt: string | null
  readonly provider_id: string | null
  readonly model_id: string | null
  readonly temperature: number | null
  readonly max_iterations: number | null
  readonly tier_1_tools: readonly string[]
  readonly greeting: string | null
}

export function readRuntimeOverrides(input: unknown): RuntimeOverrides {
  const given = fieldsOf(input)
  const { temperature, max_iterations: iterations } = given
  return {
    system_prompt: trimmed(given['system_prompt']) ?? null,
    provider_id: trimmed(given['provider_id']) ?? null,
    model_id: trimmed(given['model_id']) ?? null,
    temperature: typeof temperature === 'number' && Number.isFinite(temperature) ? temperature : null,
    max_iterations: Number.isInteger(iterations) && Number(iterations) > 0 ? Number(iterations) : null,
    tier_1_tools: [...new Set(textsOf(given['tier_1_tools']))],
    greeting: trimmed(given['greeting']) ?? null,
  }
}

/** What was said, under its own names. */
export function saidOverrides(overrides: RuntimeOverrides): Fields {
  const said = Object.entries(overrides).filter(([, value]) => value !== null && !isEmptyList(value))
  return Object.fromEntries(said)
}

function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0
}

// What one request may set for its run, over what the agent says. Anything unreadable counts as not said.
import type { Fields } from '../../contract/index.ts'
import { asFields, textList, trimmedText } from '../fields.ts'

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
  const given = asFields(input)
  const { temperature, max_iterations: iterations } = given
  return {
    system_prompt: trimmedText(given['system_prompt']) ?? null,
    provider_id: trimmedText(given['provider_id']) ?? null,
    model_id: trimmedText(given['model_id']) ?? null,
    temperature: typeof temperature === 'number' && Number.isFinite(temperature) ? temperature : null,
    max_iterations: Number.isInteger(iterations) && Number(iterations) > 0 ? Number(iterations) : null,
    tier_1_tools: [...new Set(textList(given['tier_1_tools']))],
    greeting: trimmedText(given['greeting']) ?? null,
  }
}

/** What was said, under its own names. */
export function saidOverrides(overrides: RuntimeOverrides): Fields {
  const said = Object.entries(overrides).filter(([, value]) => value !== null && !isEmptyArray(value))
  return Object.fromEntries(said)
}

function isEmptyArray(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0
}

// Many tools, few slots: the first tier is shown in full, the second as a list of names and summaries.
import { textList } from '../fields.ts'
import { requiredByProperties } from './required-parameters.ts'
import type { ToolDeclaration } from './tool.ts'

export type ToolTiers = {
  readonly tier_1: readonly ToolDeclaration[]
  readonly tier_2: readonly ToolDeclaration[]
  readonly manifest: readonly {
    readonly name: string
    readonly summary: string
    readonly required_fields: readonly string[]
  }[]
}

export type TierChoice = {
  readonly curated?: readonly string[]
  /** Names, most used first. */
  readonly mostUsed?: readonly string[]
  readonly cap?: number
}

const defaultCap = 15

/** Mandatory tools come first and never make room for others, whatever the cap. */
export function tierTools(tools: ReadonlyMap<string, ToolDeclaration>, choice: TierChoice = {}): ToolTiers {
  const cap = Math.max(1, Math.trunc(choice.cap ?? defaultCap))
  const mandatory = [...tools.values()].filter((tool) => tool['mandatory'] === true).map((tool) => tool.name)
  const candidates = [...mandatory, ...(choice.curated ?? []), ...(choice.mostUsed ?? []), ...tools.keys()]
  const order = [...new Set(candidates)].map((name) => tools.get(name)).filter((tool) => tool !== undefined)
  const first = Math.max(cap, mandatory.length)
  const tier2 = order.slice(first)
  return { tier_1: order.slice(0, first), tier_2: tier2, manifest: tier2.map(manifestEntry) }
}

function manifestEntry({ name, description, parameters }: ToolDeclaration): ToolTiers['manifest'][number] {
  const required = [...textList(parameters['required'] ?? []), ...requiredByProperties(parameters['properties'])]
  return { name, summary: description.split('\n')[0] ?? '', required_fields: [...new Set(required)] }
}

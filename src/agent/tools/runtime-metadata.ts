// `runtime`: neutral hints about how a tool runs, from its declaration and refined by its results.
import type { Fields } from '../../contract/index.ts'
import { asFields, toJson } from '../fields.ts'
import { redactParameters } from './redact.ts'

/** Plain JSON only; nulls go, and what looks like a secret is hidden: hints are shown to every reader. */
export function normalizeRuntime(value: unknown): Fields {
  const entries = Object.entries(asFields(toJson(value)))
  return redactParameters(Object.fromEntries(entries.filter(([, hint]) => hint !== null)))
}

/** The result's word wins, key by key. */
export function mergeRuntime(declared: Fields | undefined, returned: unknown): Fields | undefined {
  const merged = { ...declared, ...normalizeRuntime(returned) }
  return Object.keys(merged).length === 0 ? undefined : merged
}

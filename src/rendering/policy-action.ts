// What a policy part asks a person to open: only https, only the agent's own site where that is known.
import type { KnownPart } from '../contract/index.ts'
import { safeUrl } from './safe-url.ts'
import { cleanShownText } from './shown-text.ts'

export type Policy = Extract<KnownPart, { readonly kind: 'policy' }>['policy']

export type PolicyAction = { readonly label: string; readonly url: string }

const defaultLabel = 'Open'

/** Undefined where there is nothing to open, or nothing that may be: then the message stands alone. */
export function policyAction(policy: Policy, origin?: string): PolicyAction | undefined {
  const written = policy['url']
  const url = typeof written === 'string' ? safeUrl(written) : undefined
  if (url === undefined || new URL(url).protocol !== 'https:') return undefined
  if (origin !== undefined && new URL(url).origin !== origin) return undefined
  const label = policyText(policy['action_label']).replace(/\s+/g, ' ')
  return { label: label === '' ? defaultLabel : label, url }
}

export function policyText(value: unknown): string {
  return typeof value === 'string' ? cleanShownText(value).trim() : ''
}

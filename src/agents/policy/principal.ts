// What tool policies need to know about the principal. Identity decides who that is; here it is only read.

import { autonomousSources } from '../../contract/caller.ts'
import { asFields, isPlainObject, ownField } from '../../lib/index.ts'
import type { Fields } from '../../lib/json-value.ts'

const safeKeys = [
  'effective_agent_id',
  'auth_source',
  'request_context',
  'acting_user_id',
  'workspace_id',
  'client_id',
  'audience_id',
  'owner_type',
]

/** Taken from `principal`, else from fields that lie flat in the context. */
export function actingPrincipal(context: Fields): Fields | undefined {
  if (isPlainObject(context['principal'])) return context['principal']
  const isFlat = 'acting_user_id' in context || 'auth_source' in context
  return isFlat ? context : undefined
}

/** An unknown sender, or a program that acts without a person: it gets no tools that write, unless policy says so. */
export function isAutonomous(principal: Fields | undefined): boolean {
  if (principal === undefined) return true
  const { acting_user_id: user, auth_source: source, owner_key: owner } = principal
  const isNoUser = user === undefined || user === null || user === 0 || user === '' || user === '0'
  // A sender from outside with a verified identity is a person, though no user of this installation.
  const isPerson = source === 'audience' && typeof owner === 'string' && owner !== ''
  return (isNoUser && !isPerson) || autonomousSources.some((each) => each === source)
}

/** What may be shown: never token ids, owner keys, claims, bindings or lists of capabilities. */
export function principalForDisplay(principal: Fields): Fields {
  const shown = safeKeys.map((key) => [key, ownField(principal, key)] as const)
  const scalars = shown.filter(([, value]) => ['string', 'number'].includes(typeof value))
  return {
    schema_version: 1,
    ...Object.fromEntries(scalars),
    has_conversation_owner: isNotBlank(principal['owner_key']),
    has_capability_ceiling: Object.keys(asFields(principal['capability_ceiling'])).length > 0,
    has_caller_context: Object.keys(asFields(principal['caller_context'])).length > 0,
  }
}

function isNotBlank(value: unknown): boolean {
  return value !== undefined && value !== null && value !== ''
}

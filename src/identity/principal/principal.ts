// The execution principal: who acts in one request, for which agent, with what authority. Immutable.
import * as z from 'zod'
import { type CallerContext, type Fields, GatewayError } from '../../contract/index.ts'
import type { CapabilityCeiling } from './capability-ceiling.ts'

const authSources = ['user', 'application_password', 'agent_token', 'audience', 'runtime', 'system'] as const

const nullableText = z.string().trim().min(1).nullable()
const isJsonSerializable = (value: unknown) => {
  try {
    return JSON.stringify(value) !== undefined
  } catch {
    return false
  }
}
const jsonMap = z.record(z.string(), z.unknown()).refine(isJsonSerializable, 'must be JSON')

const principalSchema = z
  .strictObject({
    /** 0: no user of this installation. */
    acting_user_id: z.number().int().min(0),
    effective_agent_id: z.string().trim().min(1),
    auth_source: z.string(),
    request_context: z.string().trim().min(1),
    token_id: z.union([z.number().int().min(1), z.string().trim().min(1)]).nullable(),
    workspace_id: nullableText,
    client_id: nullableText,
    audience_id: nullableText,
    owner_type: nullableText,
    owner_key: nullableText,
    request_metadata: jsonMap,
    audience_claims: jsonMap,
    binding: jsonMap.nullable(),
    capability_ceiling: z.custom<CapabilityCeiling>(isJsonSerializable).nullable(),
    caller_context: z.custom<CallerContext>(isJsonSerializable).nullable(),
  })
  .refine((fields) => (fields.owner_type === null) === (fields.owner_key === null), {
    path: ['owner_key'],
    message: 'and owner_type go together',
  })

export type ExecutionPrincipal = Readonly<z.infer<typeof principalSchema>>
export type PrincipalFacts = Partial<z.input<typeof principalSchema>>

const emptyPrincipal = {
  acting_user_id: 0,
  request_context: 'rest',
  token_id: null,
  workspace_id: null,
  client_id: null,
  audience_id: null,
  owner_type: null,
  owner_key: null,
  request_metadata: {},
  audience_claims: {},
  binding: null,
  capability_ceiling: null,
  caller_context: null,
}

/** Throws `invalid_agent_execution_principal` with the field at fault. A host may know further sources of authority. */
export function createPrincipal(facts: PrincipalFacts, extraSources: readonly string[] = []): ExecutionPrincipal {
  const parsed = principalSchema.safeParse({ ...emptyPrincipal, ...facts })
  if (!parsed.success) {
    const issue = parsed.error.issues[0]
    throw invalidPrincipal(issue?.path.join('.') ?? '', issue?.message ?? 'is invalid')
  }
  if (![...authSources, ...extraSources].includes(parsed.data.auth_source)) {
    throw invalidPrincipal('auth_source', `must be one of ${[...authSources, ...extraSources].join(', ')}`)
  }
  // A copy of its own all the way down: a caller that keeps a reference to the facts cannot change who is acting.
  return deepFrozenCopy(parsed.data)
}

export type ConversationOwner = { readonly type: string; readonly key: string }

/** Whose sessions these are; undefined for a principal that owns nothing, such as an audience without a key. */
export function conversationOwner(principal: ExecutionPrincipal): ConversationOwner | undefined {
  const { owner_type, owner_key, acting_user_id, auth_source, token_id } = principal
  if (owner_type !== null && owner_key !== null) return { type: owner_type, key: owner_key }
  if (acting_user_id > 0 && auth_source !== 'agent_token') return { type: 'user', key: String(acting_user_id) }
  return token_id === null ? undefined : { type: 'token', key: String(token_id) }
}

/** What may be logged and shown: never token ids, owner keys, metadata, bindings, claims or lists of capabilities. */
export function safeMetadata(principal: ExecutionPrincipal): Fields {
  const { effective_agent_id, auth_source, request_context, acting_user_id } = principal
  const { workspace_id, client_id, audience_id } = principal
  const owner = conversationOwner(principal)
  return {
    schema_version: 1,
    effective_agent_id,
    auth_source,
    request_context,
    acting_user_id,
    workspace_id,
    client_id,
    audience_id,
    owner_type: owner?.type ?? null,
    has_conversation_owner: owner !== undefined,
    has_capability_ceiling: principal.capability_ceiling !== null,
    has_caller_context: principal.caller_context !== null,
  }
}

function invalidPrincipal(field: string, reason: string): GatewayError {
  return new GatewayError('bad_request', `invalid_agent_execution_principal: ${field || 'principal'} ${reason}`)
}

/** Of JSON, as checked above. */
function deepFrozenCopy<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value
  const copy = Array.isArray(value)
    ? value.map(deepFrozenCopy)
    : Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, deepFrozenCopy(inner)]))
  // The same shape, made anew.
  return Object.freeze(copy) as T
}

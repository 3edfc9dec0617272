// The execution principal: who acts in one request, for which agent, with what authority and which capabilities at most.
// Immutable.
import * as z from 'zod'
import type { StoredAccess } from '../contract/access.ts'
import { autonomousSources, type CallerContext } from '../contract/caller.ts'
import type { IdentityEvidence } from '../contract/evidence.ts'
import type { PolicySender } from '../contract/sender.ts'
import { GatewayError } from '../lib/errors.ts'
import type { Fields } from '../lib/json-value.ts'

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
type PrincipalFacts = Partial<z.input<typeof principalSchema>>

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
    throw invalidPrincipalError(issue?.path.join('.') ?? '', issue?.message ?? 'is invalid')
  }
  if (![...authSources, ...extraSources].includes(parsed.data.auth_source)) {
    throw invalidPrincipalError('auth_source', `must be one of ${[...authSources, ...extraSources].join(', ')}`)
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
export function loggablePrincipalFields(principal: ExecutionPrincipal): Fields {
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

function invalidPrincipalError(field: string, reason: string): GatewayError {
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

// A capability ceiling takes away; nothing in here gives.

export type CapabilityCeiling = {
  /** Whose capabilities are meant; 0: those of the acting user. */
  readonly user_id: number
  /** Null: no list of its own. An empty list allows nothing. */
  readonly allowed_capabilities: readonly string[] | null
  readonly denied_capabilities: readonly string[] | null
  readonly metadata: Readonly<Record<string, unknown>>
}

export function ceilingAllows(ceiling: CapabilityCeiling | null, capability: string): boolean {
  const name = capability.trim()
  if (name === '') return false
  if (ceiling === null) return true
  if ((ceiling.denied_capabilities ?? []).some((denied) => isCapabilityDenied(denied, name))) return false
  return ceiling.allowed_capabilities === null || ceiling.allowed_capabilities.includes(name)
}

/** Both ceilings at once. The result never allows what one of them does not. */
export function narrowCeiling(
  one: CapabilityCeiling | null,
  other: CapabilityCeiling | null,
): CapabilityCeiling | null {
  if (one === null || other === null) return one ?? other
  const allowed = [one.allowed_capabilities, other.allowed_capabilities].filter((list) => list !== null)
  const denied = [...(one.denied_capabilities ?? []), ...(other.denied_capabilities ?? [])]
  const [first, second] = allowed
  // Two users would both have to have it; no list can say that, so nothing is allowed.
  const isOfTwo = one.user_id > 0 && other.user_id > 0 && one.user_id !== other.user_id
  return {
    user_id: one.user_id > 0 ? one.user_id : other.user_id,
    allowed_capabilities: isOfTwo
      ? []
      : first === undefined
        ? null
        : first.filter((name) => second?.includes(name) ?? true),
    denied_capabilities: denied.length === 0 ? null : [...new Set(denied)],
    metadata: { ...other.metadata, ...one.metadata },
  }
}

function isCapabilityDenied(denied: string, name: string): boolean {
  return name === denied || name.startsWith(`${denied}_`) || name.startsWith(`${denied}:`)
}

// One factory per kind of principal. Each says whose authority it is and whose sessions it may open.

/** What every kind may carry besides. */
export type PrincipalExtras = Pick<
  PrincipalFacts,
  | 'request_context'
  | 'workspace_id'
  | 'client_id'
  | 'request_metadata'
  | 'binding'
  | 'capability_ceiling'
  | 'caller_context'
>

/** A person with an account of this installation, in a session. */
export function userPrincipal(user: number, agent: string, extras: PrincipalExtras = {}): ExecutionPrincipal {
  const owner = { owner_type: 'user', owner_key: String(user) }
  return createPrincipal({
    ...extras,
    ...(user > 0 ? owner : {}),
    acting_user_id: user,
    effective_agent_id: agent,
    auth_source: 'user',
  })
}

/** The same person by a password made for one application. */
export function applicationPrincipal(user: number, agent: string, extras: PrincipalExtras = {}): ExecutionPrincipal {
  return createPrincipal({ ...userPrincipal(user, agent, extras), auth_source: 'application_password' })
}

/** A token acts for its owner, and its sessions are its own. */
export function tokenPrincipal(
  token: { readonly id: number | string; readonly ownerUser: number },
  agent: string,
  extras: PrincipalExtras = {},
): ExecutionPrincipal {
  return createPrincipal({
    ...extras,
    acting_user_id: token.ownerUser,
    effective_agent_id: agent,
    auth_source: 'agent_token',
    token_id: token.id,
    owner_type: 'token',
    owner_key: String(token.id),
  })
}

/** People from outside. Without an owner key they share nothing and own nothing. */
export function audiencePrincipal(
  audience: { readonly id: string; readonly ownerKey?: string; readonly claims?: Readonly<Record<string, unknown>> },
  agent: string,
  extras: PrincipalExtras = {},
): ExecutionPrincipal {
  return createPrincipal({
    ...extras,
    effective_agent_id: agent,
    auth_source: 'audience',
    audience_id: audience.id,
    ...(audience.ownerKey === undefined ? {} : { owner_type: 'audience', owner_key: audience.ownerKey }),
    ...(audience.claims === undefined ? {} : { audience_claims: { ...audience.claims } }),
  })
}

/** Another runtime that acts through us, with no person in front of it. */
export function runtimePrincipal(
  runtime: { readonly id: string; readonly ownerKey?: string },
  agent: string,
  extras: PrincipalExtras = {},
): ExecutionPrincipal {
  return createPrincipal({
    ...extras,
    effective_agent_id: agent,
    auth_source: 'runtime',
    request_context: 'runtime',
    audience_id: runtime.id,
    owner_type: 'runtime',
    owner_key: runtime.ownerKey ?? runtime.id,
  })
}

/** The gateway itself: timers, sweeps, reminders. */
export function systemPrincipal(agent: string, extras: PrincipalExtras = {}): ExecutionPrincipal {
  return createPrincipal({
    request_context: 'cron',
    ...extras,
    effective_agent_id: agent,
    auth_source: 'system',
    owner_type: 'system',
    owner_key: agent,
  })
}

// The ceiling decides first, then what the user behind it has.

/** Verbs an autonomous principal is not given unless its ceiling lists them. Each also covers `verb_…` and `verb:…`. */
const autonomousDenials: readonly string[] = [
  'write',
  'create',
  'edit',
  'update',
  'publish',
  'delete',
  'remove',
  'send',
  'pay',
  'approve',
  'grant',
  'install',
  'activate',
  'manage',
  'admin',
]

/** Port: whether a user of the host has a capability at all. */
export type UserHas = (user: number, capability: string) => boolean | Promise<boolean>

/** The ceiling that counts for a principal: without a list of its own an autonomous one gets the safe default. */
export function effectiveCeiling(principal: ExecutionPrincipal): CapabilityCeiling | null {
  const { capability_ceiling: ceiling, auth_source, acting_user_id } = principal
  const hasList = ceiling !== null && (ceiling.allowed_capabilities !== null || ceiling.denied_capabilities !== null)
  if (hasList || !autonomousSources.includes(auth_source)) return ceiling
  return {
    user_id: ceiling?.user_id ?? acting_user_id,
    allowed_capabilities: null,
    denied_capabilities: autonomousDenials,
    metadata: { ...ceiling?.metadata, autonomous_safe_default: true },
  }
}

/** The ceiling allows it, and the user behind it has it. Without a user behind it the answer is no. */
export async function isCapabilityGranted(
  principal: ExecutionPrincipal,
  capability: string,
  userHas: UserHas,
): Promise<boolean> {
  const ceiling = effectiveCeiling(principal)
  if (!ceilingAllows(ceiling, capability)) return false
  const user = ceiling !== null && ceiling.user_id > 0 ? ceiling.user_id : principal.acting_user_id
  return user > 0 && (await userHas(user, capability.trim()))
}

// Whether the sender may use a tool that needs a capability. The agent asks; identity answers.

export type CapabilityCheck = { readonly can: (principal: Fields, capability: string) => Promise<boolean> }

/** A principal that cannot be read may do nothing: reading it throws, and the asker takes that for a no. */
export function createCapabilityCheck(userHas: UserHas): CapabilityCheck {
  return {
    async can({ role, ...facts }, capability) {
      const principal = createPrincipal(facts)
      const isOperator = role === 'operator' || role === 'admin'
      // The token was made with a list of what it may do: the list is the grant.
      const isListed = principal.capability_ceiling?.allowed_capabilities?.includes(capability.trim()) === true
      if (isOperator || (principal.auth_source === 'agent_token' && isListed))
        return ceilingAllows(effectiveCeiling(principal), capability)
      return isCapabilityGranted(principal, capability, userHas)
    },
  }
}

// Resolving: from the evidence of a sender to the person it names, and the principal that person acts as.

/** Where the message came in, as the configuration knows it; nothing of it is the sender's to choose. */
export type ResolutionContext = {
  readonly agent: string
  /** Id of the connection. */
  readonly connector: string
  readonly provider: string
  readonly workspace: string
}

/** What a sender has shown that was found to hold, and what an operator said about whose it is. */
export type ProvenSender = {
  readonly evidence: IdentityEvidence
  readonly links: StoredAccess['links']
}

/** `id` names the person everywhere: as owner of runs and sessions, in grants and in the audit log. */
export type ResolvedPrincipal = { readonly id: string; readonly principal: ExecutionPrincipal }

/** Port: a host with accounts of its own maps evidence to its users here. Undefined: unknown there. */
export interface PrincipalResolver {
  resolve(
    sender: PolicySender,
    context: ResolutionContext & ProvenSender,
  ): Promise<ResolvedPrincipal | undefined> | ResolvedPrincipal | undefined
}

export function createEvidenceResolver(): PrincipalResolver {
  return {
    resolve(_sender, { evidence, links, ...context }) {
      const linked = links.find((link) => link.subject === evidence.subject)
      const principal = bearerPrincipal(evidence, context.agent) ?? createExternalPrincipal(evidence, context)
      return { id: linked?.principal ?? evidence.subject, principal }
    },
  }
}

/** Connection ids are slugs, so the first colon ends them: no two people on any two connections share a key. */
export function createExternalPrincipal(evidence: IdentityEvidence, context: ResolutionContext): ExecutionPrincipal {
  const { agent, connector, provider, workspace } = context
  const audience = {
    id: `${provider}:${workspace}`,
    ownerKey: `${connector}:${evidence.subject}`,
    claims: { issuer: evidence.issuer, method: evidence.method, assurance: evidence.assurance },
  }
  return audiencePrincipal(audience, agent, { request_context: 'chat', workspace_id: workspace })
}

// A token acts by the evidence that was made when it was shown, so that a message that waited acts with the limits its token had
// then.

const claimsSchema = z.object({
  agent: z.string().optional(),
  workspace_id: z.string().optional(),
  client_id: z.string().optional(),
  allowed_capabilities: z.array(z.string()).optional(),
})

/** Undefined: no token speaks here. Ask only of evidence that is accepted. */
export function bearerPrincipal(evidence: IdentityEvidence, agent: string): ExecutionPrincipal | undefined {
  const { proof } = evidence
  if (proof.type !== 'bearer-token' || typeof proof['token_id'] !== 'string') return undefined
  const { workspace_id, client_id, allowed_capabilities } = claimsSchema.parse(evidence.claims ?? {})
  // Ours are issued under a bare domain. Tokens of other issuers come and go; their holder stays the same.
  if (evidence.issuer.includes('://')) return externalTokenPrincipal(evidence, agent, client_id)
  return tokenPrincipal({ id: proof['token_id'], ownerUser: 0 }, agent, {
    request_context: 'rest',
    workspace_id: workspace_id ?? null,
    client_id: client_id ?? null,
    capability_ceiling:
      allowed_capabilities === undefined
        ? null
        : { user_id: 0, allowed_capabilities, denied_capabilities: null, metadata: {} },
  })
}

function externalTokenPrincipal(
  { issuer, subject, method, assurance }: IdentityEvidence,
  agent: string,
  client: string | undefined,
): ExecutionPrincipal {
  const audience = { id: issuer, ownerKey: subject, claims: { issuer, method, assurance } }
  return audiencePrincipal(audience, agent, { request_context: 'rest', client_id: client ?? null })
}

/** True for a token that was made for one agent, when another one is to answer: routed by a mention, or asked by that one. */
export function isTokenForOtherAgent({ proof, claims }: IdentityEvidence, agent: string): boolean {
  if (proof.type !== 'bearer-token') return false
  const meant = claimsSchema.parse(claims ?? {}).agent
  return meant !== undefined && meant !== agent
}

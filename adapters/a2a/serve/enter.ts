// The checks that every operation passes before it runs: who calls, whom, and in which version.
import type { RejectReason, ServeContext } from '../../../src/contract/index.ts'
import { mayCall, rejectionFault, verifyCaller } from '../verify/caller.ts'
import { readExtensions } from '../verify/extensions.ts'
import type { A2aCaller } from '../wire/caller.ts'
import { knownExtensions } from '../wire/extensions.ts'
import { createFault, type Fault, isA2aFault } from '../wire/faults.ts'
import { type Fields, getMember } from '../wire/fields.ts'
import { type Dialect, type OperationName, operations } from '../wire/operations.ts'
import { type A2aDeps, type A2aRequest, invalidParams } from './call.ts'

/** Who calls, if they may call at all. `mount`: the agent that the path names. */
export async function identifyCaller(
  deps: A2aDeps,
  request: Request,
  door: ServeContext,
  mount: string | undefined,
): Promise<A2aCaller | Fault> {
  const { settings } = deps
  const headers = Object.fromEntries(request.headers)
  const verdict = await verifyCaller(
    deps.callers,
    { headers, from: door.from },
    {
      agent: mount ?? firstAgent(deps),
      isNamed: mount !== undefined,
      urls: tokenAudiences(deps, mount),
      anonymous: settings.anonymous,
      keyHeader: settings.apiKeyHeader,
    },
  )
  return verdict.kind === 'rejected' ? rejectA2aCaller(door, verdict.reason, verdict.challenge) : verdict.caller
}

/** What a token may be made out to. A caller chooses the name it asks for us by, so that only a configured one counts. */
function tokenAudiences({ publicUrl, settings }: A2aDeps, mount: string | undefined): readonly string[] {
  if (publicUrl === undefined) return []
  const hub = `${publicUrl}${settings.path}`
  return mount === undefined ? [hub] : [`${hub}/${mount}`, hub]
}

function firstAgent({ agents, connection }: Pick<A2aDeps, 'agents' | 'connection'>): string {
  return agents()[0]?.slug ?? connection.agent
}

const words = {
  unauthenticated: 'a valid credential is needed',
  forbidden: 'this credential is not for this',
  unavailable: 'the issuer of this credential cannot be asked right now; try again',
} as const

function rejectA2aCaller(door: ServeContext, reason: RejectReason, challenge: string): Fault {
  const reference = door.turnAway(reason)
  const name = rejectionFault(reason)
  const headers = name === 'unavailable' ? { 'retry-after': '5' } : { 'www-authenticate': challenge }
  return createFault(name, `${words[name]} (reference ${reference})`, { headers })
}

/** What the operation needs of a token; nothing where none had to be shown. */
function scopeFault(deps: A2aDeps, { caller, door, mount }: CallEntry, name: OperationName): Fault | undefined {
  const { scope } = operations[name]
  if (mayCall(caller, scope)) return undefined
  const [resource] = tokenAudiences(deps, mount)
  const at = { scope, ...(resource === undefined ? {} : { resource }) }
  return rejectA2aCaller(door, 'insufficient_scope', deps.callers.challenge('insufficient_scope', at))
}

export type CallEntry = {
  readonly request: Request
  readonly door: ServeContext
  readonly caller: A2aCaller
  readonly mount: string | undefined
  readonly tenant: string | undefined
  readonly dialect: Dialect
  readonly origin: string
  readonly signal: AbortSignal
}

/** The call, and what the answer says about extensions. */
export function admitCall(
  deps: A2aDeps,
  entering: CallEntry,
  name: OperationName,
  params: Fields,
): { readonly call: A2aRequest; readonly headers: Readonly<Record<string, string>> } | Fault {
  const { settings, agents } = deps
  const { request, door, caller, dialect, origin, signal } = entering
  const lacking = scopeFault(deps, entering, name)
  if (lacking !== undefined) return lacking
  const required = settings.requiredExtensions.map(({ uri }) => uri)
  const known = [...Object.keys(knownExtensions), ...required]
  const extensions = readExtensions(request.headers, dialect, { known, required })
  if (isA2aFault(extensions)) return extensions
  const named = namedAgent(
    entering,
    params,
    agents().map(({ slug }) => slug),
  )
  if (named !== undefined && isA2aFault(named)) return named
  const lastEventId = request.headers.get('last-event-id') ?? undefined
  const call = {
    door,
    caller,
    origin,
    dialect,
    signal,
    extensions: extensions.active,
    named: named?.agent,
    agent: named?.agent ?? caller.bearer?.agent ?? firstAgent(deps),
    lastEventId: lastEventId !== undefined && /^[\w.:/+=-]{1,200}$/.test(lastEventId) ? lastEventId : undefined,
  }
  return { call, headers: extensions.headers }
}

/** A tenant is a second way to name an agent; where the two disagree, no agent is named. */
function namedAgent(
  { mount, tenant: inPath }: CallEntry,
  params: Fields,
  agents: readonly string[],
): { readonly agent: string } | Fault | undefined {
  const given = getMember(params, 'tenant')
  const inBody = given === undefined || given === null || given === '' ? undefined : given
  const tenantFault = (description: string): Fault => invalidParams([{ field: 'tenant', description }])
  if (inBody !== undefined && typeof inBody !== 'string') return tenantFault('must be a string')
  if (inBody !== undefined && inPath !== undefined && inBody !== inPath) return tenantFault('is another in the path')
  const tenant = inBody ?? inPath
  if (mount !== undefined)
    return tenant === undefined || tenant === mount ? { agent: mount } : tenantFault('is not known here')
  if (tenant === undefined) return undefined
  return agents.includes(tenant) ? { agent: tenant } : tenantFault('is not known here')
}

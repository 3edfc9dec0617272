// The checks that every operation passes before it runs: who calls, whom, and in which version.
import type { RejectReason, ServeDoor } from '../../../src/contract/index.ts'
import { judgeCaller, mayCall, refusalOf } from '../verify/caller.ts'
import { readExtensions } from '../verify/extensions.ts'
import type { A2aCaller } from '../wire/caller.ts'
import { knownExtensions } from '../wire/extensions.ts'
import { type Fault, fault, isFault } from '../wire/faults.ts'
import { type Fields, memberOf } from '../wire/fields.ts'
import { type Dialect, type OperationName, operations } from '../wire/operations.ts'
import { type A2aDeps, type Call, invalidParams } from './call.ts'

/** Who calls, if they may call at all. `mount`: the agent that the path names. */
export async function identify(
  deps: A2aDeps,
  request: Request,
  door: ServeDoor,
  mount: string | undefined,
): Promise<A2aCaller | Fault> {
  const { settings } = deps
  const headers = Object.fromEntries(request.headers)
  const verdict = await judgeCaller(
    deps.callers,
    { headers, from: door.from },
    {
      agent: mount ?? firstAgent(deps),
      isNamed: mount !== undefined,
      urls: urlsOf(deps, mount),
      anonymous: settings.anonymous,
      keyHeader: settings.apiKeyHeader,
    },
  )
  return verdict.kind === 'rejected' ? turnedAway(door, verdict.reason, verdict.challenge) : verdict.caller
}

/** What a token may be made out to. A caller chooses the name it asks for us by, so that only a configured one counts. */
function urlsOf({ publicUrl, settings }: A2aDeps, mount: string | undefined): readonly string[] {
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

function turnedAway(door: ServeDoor, reason: RejectReason, challenge: string): Fault {
  const reference = door.turnAway(reason)
  const name = refusalOf(reason)
  const headers = name === 'unavailable' ? { 'retry-after': '5' } : { 'www-authenticate': challenge }
  return fault(name, `${words[name]} (reference ${reference})`, { headers })
}

/** What the operation needs of a token; nothing where none had to be shown. */
function scopeFault(deps: A2aDeps, { caller, door, mount }: Entering, name: OperationName): Fault | undefined {
  const { scope } = operations[name]
  if (mayCall(caller, scope)) return undefined
  const [resource] = urlsOf(deps, mount)
  const at = { scope, ...(resource === undefined ? {} : { resource }) }
  return turnedAway(door, 'insufficient_scope', deps.callers.challenge('insufficient_scope', at))
}

export type Entering = {
  readonly request: Request
  readonly door: ServeDoor
  readonly caller: A2aCaller
  readonly mount: string | undefined
  readonly tenant: string | undefined
  readonly dialect: Dialect
  readonly origin: string
  readonly signal: AbortSignal
}

/** The call, and what the answer says about extensions. */
export function callOf(
  deps: A2aDeps,
  entering: Entering,
  name: OperationName,
  params: Fields,
): { readonly call: Call; readonly headers: Readonly<Record<string, string>> } | Fault {
  const { settings, agents } = deps
  const { request, door, caller, dialect, origin, signal } = entering
  const lacking = scopeFault(deps, entering, name)
  if (lacking !== undefined) return lacking
  const required = settings.requiredExtensions.map(({ uri }) => uri)
  const known = [...Object.keys(knownExtensions), ...required]
  const extensions = readExtensions(request.headers, dialect, { known, required })
  if (isFault(extensions)) return extensions
  const named = namedAgent(
    entering,
    params,
    agents().map(({ slug }) => slug),
  )
  if (named !== undefined && isFault(named)) return named
  const lastEventId = request.headers.get('last-event-id') ?? undefined
  const call = {
    ...{ door, caller, origin, dialect, signal },
    extensions: extensions.active,
    named: named?.agent,
    agent: named?.agent ?? caller.bearer?.agent ?? firstAgent(deps),
    lastEventId: lastEventId !== undefined && /^[\w.:/+=-]{1,200}$/.test(lastEventId) ? lastEventId : undefined,
  }
  return { call, headers: extensions.headers }
}

/** A tenant is a second way to name an agent; where the two disagree, no agent is named. */
function namedAgent(
  { mount, tenant: inPath }: Entering,
  params: Fields,
  agents: readonly string[],
): { readonly agent: string } | Fault | undefined {
  const given = memberOf(params, 'tenant')
  const inBody = given === undefined || given === null || given === '' ? undefined : given
  const wrong = (description: string): Fault => invalidParams([{ field: 'tenant', description }])
  if (inBody !== undefined && typeof inBody !== 'string') return wrong('must be a string')
  if (inBody !== undefined && inPath !== undefined && inBody !== inPath) return wrong('is another in the path')
  const tenant = inBody ?? inPath
  if (mount !== undefined)
    return tenant === undefined || tenant === mount ? { agent: mount } : wrong('is not known here')
  if (tenant === undefined) return undefined
  return agents.includes(tenant) ? { agent: tenant } : wrong('is not known here')
}

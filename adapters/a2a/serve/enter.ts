// What every operation passes before it is looked at: who calls, whom, and in which version (a2a 9.5).
import type { RejectReason, ServeDoor } from '../../../src/contract/index.ts'
import { judgeCaller } from '../verify/caller.ts'
import { readExtensions } from '../verify/extensions.ts'
import type { A2aCaller } from '../wire/caller.ts'
import { knownExtensions } from '../wire/extensions.ts'
import { type Fault, fault, isFault } from '../wire/faults.ts'
import { type Fields, memberOf } from '../wire/fields.ts'
import type { Dialect } from '../wire/operations.ts'
import { type A2aDeps, type Call, invalidParams } from './call.ts'

const challenge = 'Bearer realm="a2a"'

/** What a token that is not good enough is told (RFC 6750). */
const refusals: Readonly<Partial<Record<RejectReason, { readonly forbidden: boolean; readonly error: string }>>> = {
  invalid_token: { forbidden: false, error: 'invalid_token' },
  insufficient_scope: { forbidden: true, error: 'insufficient_scope' },
  wrong_agent: { forbidden: true, error: 'insufficient_scope' },
}

export async function identify(
  deps: A2aDeps,
  request: Request,
  door: ServeDoor,
  agent: string,
): Promise<A2aCaller | Fault> {
  const headers = Object.fromEntries(request.headers)
  const { anonymous } = deps.settings
  const verdict = await judgeCaller(deps.callers, { headers, isLoopback: door.isLoopback }, { agent, anonymous })
  if (verdict.kind === 'rejected') return turnedAway(door, verdict.reason)
  const { bearer } = verdict.caller
  const isOthers = bearer !== undefined && bearer.agent !== null && bearer.agent !== agent
  return isOthers ? turnedAway(door, 'wrong_agent') : verdict.caller
}

function turnedAway(door: ServeDoor, reason: RejectReason): Fault {
  const reference = door.turnAway(reason)
  const known = refusals[reason]
  const words = known?.forbidden === true ? 'this credential is not for this' : 'a valid credential is needed'
  return fault(known?.forbidden === true ? 'forbidden' : 'unauthenticated', `${words} (reference ${reference})`, {
    headers: { 'www-authenticate': known === undefined ? challenge : `${challenge}, error="${known.error}"` },
  })
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
  { settings, connection, agents }: A2aDeps,
  entering: Entering,
  params: Fields,
): { readonly call: Call; readonly headers: Readonly<Record<string, string>> } | Fault {
  const { request, door, caller, dialect, origin, signal } = entering
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
    agent: named?.agent ?? caller.bearer?.agent ?? agents()[0]?.slug ?? connection.agent,
    lastEventId: lastEventId !== undefined && /^[\w.:/+=-]{1,200}$/.test(lastEventId) ? lastEventId : undefined,
  }
  return { call, headers: extensions.headers }
}

/** A tenant is a second way to name an agent; two that disagree name nobody (a2a 2.13). */
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

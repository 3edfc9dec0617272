// Hop 2: who calls. A token is believed from anywhere; without one there is this machine, and whoever an open connection lets in.
import type { CallerDesk, RawArrival, RejectReason } from '../../../src/contract/index.ts'
import { type A2aCaller, anonymousSubject, localSubject } from '../wire/caller.ts'

export type CallerVerdict =
  | { readonly kind: 'known'; readonly caller: A2aCaller }
  | { readonly kind: 'rejected'; readonly reason: RejectReason }

const localOrigin = /^https?:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?$/i

export async function judgeCaller(
  callers: CallerDesk,
  { headers, isLoopback }: Pick<RawArrival, 'headers' | 'isLoopback'>,
  { agent, anonymous }: { readonly agent: string; readonly anonymous: boolean },
): Promise<CallerVerdict> {
  const from = await callers.identify(headers, agent)
  if (from.kind === 'rejected') return from
  const { bearer } = from
  const chain =
    from.kind === 'unreadable'
      ? ({ kind: 'unreadable', remedy: from.remedy } as const)
      : ({ kind: 'read', caller: from.caller, agentChain: from.agentChain } as const)
  if (bearer !== undefined) return { kind: 'known', caller: { kind: 'token', bearer, subject: bearer.subject, chain } }
  if (isLocal(headers, isLoopback))
    return { kind: 'known', caller: { kind: 'local', bearer, subject: localSubject, chain } }
  if (anonymous) return { kind: 'known', caller: { kind: 'anonymous', bearer, subject: anonymousSubject, chain } }
  return { kind: 'rejected', reason: 'missing_credential' }
}

/** A web page open on this machine also arrives by loopback; its browser says where the page came from. */
function isLocal(headers: Readonly<Record<string, string>>, isLoopback: boolean): boolean {
  const origin = headers['origin']
  return isLoopback && (origin === undefined || localOrigin.test(origin))
}

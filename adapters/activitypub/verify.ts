// Verification with this connection's moderation before it, and what the channel knows about the verified sender.

import {
  type RawRequest,
  type Records,
  registrableDomain,
  type StoredEventFacts,
  type TransportAnswer,
  type VerifyResult,
} from '../../src/contract/index.ts'
import type { RateLimiter } from '../../src/lib/index.ts'
import type { RemoteLookup } from './actors/remote-lookup.ts'
import type { MayWrite } from './moderation.ts'
import { type LocalAgents, mentionedAgents } from './normalize/activity-context.ts'
import { type AnnounceResult, verifyAnnounce } from './signatures/announced-posts.ts'
import {
  type ReverifyDeps,
  restoreVerifiedActivity,
  type SignatureVerifier,
  type SignatureVerifierDeps,
  toVerifyResult,
} from './signatures/verify-activity.ts'
import type { ActivityPayload, KnownFacts, ReadActivity, VerifiedActivity } from './wire/activity.ts'
import { isAgentBlockedBy, peerFamilies } from './wire/records.ts'

/** What is needed to say who wrote, and what is known about them. */
export type KnownFactsDeps = {
  readonly remote: Pick<RemoteLookup, 'refreshActor' | 'handle' | 'actor' | 'post'>
  readonly records: Records
  readonly home: () => LocalAgents
  readonly mayWrite: MayWrite
  readonly now: () => number
}

export type VerifyDeps = KnownFactsDeps & {
  readonly gate: SignatureVerifier
  readonly pace: ServerPace
}

/** How much one server may send; what strangers there use up is not taken from people who are known. */
export type ServerPace = {
  readonly strangers: RateLimiter
  readonly known: RateLimiter
  readonly isKnown: (actor: string) => Promise<boolean>
}

/** As others understand it: there is nothing to deliver again. */
const taken: VerifyResult<never> = { kind: 'handshake', answer: { status: 202 } }

export async function verifyActivity(deps: VerifyDeps, rawRequest: RawRequest): Promise<VerifyResult<ActivityPayload>> {
  const opened = await deps.gate.open(rawRequest)
  if (opened.kind === 'departed') {
    const { activity } = opened
    return (await isActorGone(deps, activity)) ? { kind: 'genuine', payload: { kind: 'departed', activity } } : taken
  }
  const result = toVerifyResult(opened)
  if (result.kind !== 'genuine') return result
  const { pace } = deps
  const actor = result.payload.signer.id
  const seconds = (await pace.isKnown(actor)) ? pace.known.take(actor) : pace.strangers.take(serverRateKey(actor))
  if (seconds !== undefined) return { kind: 'handshake', answer: tooManyActivitiesAnswer(seconds) }
  const passed = await verifyAnnounce(deps, result.payload)
  if (passed?.kind === 'later') return { kind: 'handshake', answer: tryAgainLaterAnswer(passed.seconds) }
  return { kind: 'genuine', payload: await buildActivityPayload(deps, result.payload, passed) }
}

/** What a community passes on is its author's, where that can be shown; anything else is its signer's. */
async function buildActivityPayload(
  deps: KnownFactsDeps,
  gated: VerifiedActivity,
  passed: Exclude<AnnounceResult, { kind: 'later' }> | undefined,
): Promise<ActivityPayload> {
  return passed?.kind === 'unproven' ? { ...passed, gated } : attachFactsAndRefreshSender(deps, passed?.gated ?? gated)
}

/** The same for what was kept. */
export async function readStoredPayload(
  deps: KnownFactsDeps & ReverifyDeps,
  rawRequest: RawRequest,
  kept: StoredEventFacts,
): Promise<ActivityPayload | undefined> {
  const gated = await restoreVerifiedActivity(deps, rawRequest, kept)
  if (gated === undefined) return undefined
  const passed = await verifyAnnounce(deps, gated)
  // It is not delivered again: it stays as it was kept, and the operator can resubmit it later.
  if (passed?.kind === 'later') return { kind: 'unproven', reason: 'origin_unavailable', gated }
  return buildActivityPayload(deps, gated, passed)
}

/** Any server can say that an actor is gone: only their own server is believed. */
async function isActorGone({ remote }: VerifyDeps, { actor }: ReadActivity): Promise<boolean> {
  return (await remote.refreshActor(actor)).kind === 'gone'
}

async function attachFactsAndRefreshSender(deps: KnownFactsDeps, gated: VerifiedActivity): Promise<ActivityPayload> {
  const { activity, signer } = gated
  // What they are called is learnt beside the answer, never before it: the next message shows it.
  const isProfile = activity.type === 'Update' && activityObjectId(activity) === signer.id
  void (isProfile ? deps.remote.refreshActor(signer.id) : deps.remote.handle(signer)).catch(() => undefined)
  return { kind: 'activity', gated, facts: await readRelatedRecords(deps, gated) }
}

async function readRelatedRecords(
  { records, home }: KnownFactsDeps,
  { activity, signer }: VerifiedActivity,
): Promise<KnownFacts> {
  const { type } = activity
  const object = activityObjectId(activity)
  const isSaid = type === 'Create' || type === 'Update' || type === 'Follow'
  const named = isSaid ? mentionedAgents(home(), activity) : []
  const blocked: string[] = []
  for (const agent of named) if (await isAgentBlockedBy(records, agent, signer.id)) blocked.push(agent)
  const shared = type === 'Delete' && object !== undefined ? await records.get(peerFamilies.shared, object) : undefined
  const undone = type === 'Undo' && object !== undefined ? await records.get(peerFamilies.follow, object) : undefined
  const isTheirs = undone?.['actor'] === signer.id
  return {
    blocked,
    shared: Array.isArray(shared?.['agents']) ? shared['agents'].filter((each) => typeof each === 'string') : [],
    undone: isTheirs
      ? { kind: undone['kind'] === 'Block' ? 'Block' : 'Follow', agent: String(undone['agent']) }
      : undefined,
  }
}

function activityObjectId({ object }: ReadActivity): string | undefined {
  const id = typeof object === 'string' ? object : object?.id
  // Keys are in an index.
  return id === undefined || id.length > 1000 ? undefined : id
}

/** Nothing is said by these. A blocked actor may still take back what they said before, and leave. */
const takesBack: ReadonlySet<string> = new Set(['Delete', 'Undo'])

/** Who may come in at all and how often, by what they say they are: asked before any other server is. */
export function createSenderScreen(
  mayWrite: MayWrite,
  pace: ServerPace,
  knows: SignatureVerifierDeps['knows'] = async () => false,
): NonNullable<SignatureVerifierDeps['screen']> {
  return async ({ actor, type }) => {
    if (!(await mayWrite(actor)) && !(takesBack.has(type) && (await knows(actor))))
      return jsonRejection(403, 'not_federating', 'this server does not federate with yours; ask its operator')
    const seconds = pace.strangers.ask(serverRateKey(actor))
    if (seconds === undefined) return undefined
    // Only a name so far: whose it is, the signature says.
    return (await pace.isKnown(actor)) && pace.known.ask(actor) === undefined
      ? undefined
      : tooManyActivitiesAnswer(seconds)
  }
}

/** Who has a domain makes as many servers below it as they like. */
function serverRateKey(actor: string): string {
  const { hostname, port } = new URL(actor)
  return `${registrableDomain(hostname)}:${port}`
}

function tooManyActivitiesAnswer(seconds: number): TransportAnswer {
  return addRetryAfter(seconds, jsonRejection(429, 'too_many', `deliver it again in ${seconds} s, and more slowly`))
}

/** Not 429: Lemmy drops what is answered with any 4xx, and delivers again after a 5xx. */
function tryAgainLaterAnswer(seconds: number): TransportAnswer {
  const remedy = `the server of its author could not be asked; deliver it again in ${seconds} s`
  return addRetryAfter(seconds, jsonRejection(503, 'origin_unavailable', remedy))
}

function addRetryAfter(seconds: number, answer: TransportAnswer): TransportAnswer {
  return { ...answer, headers: { ...answer.headers, 'retry-after': String(seconds) } }
}

function jsonRejection(status: number, code: string, remedy: string): TransportAnswer {
  const headers = { 'content-type': 'application/json; charset=utf-8' }
  return { status, headers, body: JSON.stringify({ error: { code, remedy } }) }
}

// Hop 2: verification with this connection's moderation before it, and what the channel knows about the verified sender.
import {
  type KeptFacts,
  type Pace,
  type RawArrival,
  type Records,
  registrableDomain,
  type TransportAnswer,
  type Verdict,
} from '../../src/contract/index.ts'
import { type KeptDeps, keptActivity } from './gate/kept-activity.ts'
import { type Gate, type GateDeps, verdictOf } from './gate/open-gate.ts'
import { type PassedOn, passedOn } from './gate/passed-on.ts'
import type { MayWrite } from './manners/may-write.ts'
import { agentsNamed } from './normalize/audience.ts'
import type { Home } from './normalize/scene.ts'
import type { Remote } from './remote/remote.ts'
import type { GatedActivity, ReadActivity } from './wire/activity.ts'
import type { ActivityPayload, KnownFacts } from './wire/payload.ts'
import { hasBlocked, peerFamilies } from './wire/peer-records.ts'

/** What is needed to say who wrote, and what is known about them. */
export type KnowDeps = {
  readonly remote: Pick<Remote, 'refreshActor' | 'handle' | 'actor' | 'post'>
  readonly records: Records
  readonly home: () => Home
  readonly mayWrite: MayWrite
  readonly now: () => number
}

export type VerifyDeps = KnowDeps & {
  readonly gate: Gate
  readonly pace: ServerPace
}

/** How much one server may send; what strangers there use up is not taken from people who are known. */
export type ServerPace = {
  readonly strangers: Pace
  readonly known: Pace
  readonly isKnown: (actor: string) => Promise<boolean>
}

/** As others understand it: there is nothing to deliver again. */
const taken: Verdict<never> = { kind: 'handshake', answer: { status: 202 } }

export async function verifyActivity(deps: VerifyDeps, arrival: RawArrival): Promise<Verdict<ActivityPayload>> {
  const opened = await deps.gate.open(arrival)
  if (opened.kind === 'departed') {
    const { activity } = opened
    return (await isGone(deps, activity)) ? { kind: 'genuine', payload: { kind: 'departed', activity } } : taken
  }
  const verdict = verdictOf(opened)
  if (verdict.kind !== 'genuine') return verdict
  const { pace } = deps
  const actor = verdict.payload.signer.id
  const seconds = (await pace.isKnown(actor)) ? pace.known.take(actor) : pace.strangers.take(serverOf(actor))
  if (seconds !== undefined) return { kind: 'handshake', answer: tooMany(seconds) }
  const passed = await passedOn(deps, verdict.payload)
  if (passed?.kind === 'later') return { kind: 'handshake', answer: notYet(passed.seconds) }
  return { kind: 'genuine', payload: await payloadIn(deps, verdict.payload, passed) }
}

/** What a community passes on is its author's, where that can be shown; anything else is its signer's. */
async function payloadIn(
  deps: KnowDeps,
  gated: GatedActivity,
  passed: Exclude<PassedOn, { kind: 'later' }> | undefined,
): Promise<ActivityPayload> {
  return passed?.kind === 'unproven' ? { ...passed, gated } : known(deps, passed?.gated ?? gated)
}

/** The same for what was kept. */
export async function keptPayload(
  deps: KnowDeps & KeptDeps,
  arrival: RawArrival,
  kept: KeptFacts,
): Promise<ActivityPayload | undefined> {
  const gated = await keptActivity(deps, arrival, kept)
  if (gated === undefined) return undefined
  const passed = await passedOn(deps, gated)
  // It is not delivered again: it stays as it was kept, and the operator can resubmit it later.
  if (passed?.kind === 'later') return { kind: 'unproven', reason: 'origin_unavailable', gated }
  return payloadIn(deps, gated, passed)
}

/** Any server can say that an actor is gone: only their own server is believed. */
async function isGone({ remote }: VerifyDeps, { actor }: ReadActivity): Promise<boolean> {
  return (await remote.refreshActor(actor)).kind === 'gone'
}

async function known(deps: KnowDeps, gated: GatedActivity): Promise<ActivityPayload> {
  const { activity, signer } = gated
  // What they are called is learnt beside the answer, never before it: the next message shows it.
  const isProfile = activity.type === 'Update' && objectOf(activity) === signer.id
  void (isProfile ? deps.remote.refreshActor(signer.id) : deps.remote.handle(signer)).catch(() => undefined)
  return { kind: 'activity', gated, facts: await factsOf(deps, gated) }
}

async function factsOf({ records, home }: KnowDeps, { activity, signer }: GatedActivity): Promise<KnownFacts> {
  const { type } = activity
  const object = objectOf(activity)
  const isSaid = type === 'Create' || type === 'Update' || type === 'Follow'
  const named = isSaid ? agentsNamed(home(), activity) : []
  const blocked: string[] = []
  for (const agent of named) if (await hasBlocked(records, agent, signer.id)) blocked.push(agent)
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

function objectOf({ object }: ReadActivity): string | undefined {
  const id = typeof object === 'string' ? object : object?.id
  // Keys are in an index.
  return id === undefined || id.length > 1000 ? undefined : id
}

/** Nothing is said by these. A blocked actor may still take back what they said before, and leave. */
const takesBack: ReadonlySet<string> = new Set(['Delete', 'Undo'])

/** Who may come in at all and how often, by what they say they are: asked before any other server is. */
export function screenWith(
  mayWrite: MayWrite,
  pace: ServerPace,
  knows: GateDeps['knows'] = async () => false,
): NonNullable<GateDeps['screen']> {
  return async ({ actor, type }) => {
    if (!(await mayWrite(actor)) && !(takesBack.has(type) && (await knows(actor))))
      return refusal(403, 'not_federating', 'this server does not federate with yours; ask its operator')
    const seconds = pace.strangers.ask(serverOf(actor))
    if (seconds === undefined) return undefined
    // Only a name so far: whose it is, the signature says.
    return (await pace.isKnown(actor)) && pace.known.ask(actor) === undefined ? undefined : tooMany(seconds)
  }
}

/** Who has a domain makes as many servers below it as they like. */
function serverOf(actor: string): string {
  const { hostname, port } = new URL(actor)
  return `${registrableDomain(hostname)}:${port}`
}

function tooMany(seconds: number): TransportAnswer {
  return after(seconds, refusal(429, 'too_many', `deliver it again in ${seconds} s, and more slowly`))
}

/** Not 429: Lemmy drops what is answered with any 4xx, and delivers again after a 5xx. */
function notYet(seconds: number): TransportAnswer {
  const remedy = `the server of its author could not be asked; deliver it again in ${seconds} s`
  return after(seconds, refusal(503, 'origin_unavailable', remedy))
}

function after(seconds: number, answer: TransportAnswer): TransportAnswer {
  return { ...answer, headers: { ...answer.headers, 'retry-after': String(seconds) } }
}

function refusal(status: number, code: string, remedy: string): TransportAnswer {
  const headers = { 'content-type': 'application/json; charset=utf-8' }
  return { status, headers, body: JSON.stringify({ error: { code, remedy } }) }
}

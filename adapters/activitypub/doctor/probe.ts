// The health probe of the fediverse: an agent's WebFinger and actor are fetched at the public address, as other servers do.
// `parley activitypub check` looks at everything else.
import {
  type ProbeProblem,
  type ProbeRequest,
  type ProbeResult,
  wrongAnswerProblem,
} from '../../../src/contract/index.ts'
import { fetchOwnPublicDocument } from '../../../src/lib/index.ts'
import type { DocumentUrls } from '../documents/urls.ts'
import { activityJson, jrdJson, webFingerSelfLink } from './checks.ts'

export type ActivityPubProbeDeps = {
  readonly fetch: typeof fetch
  readonly places: DocumentUrls
  /** Those that have an account. All are served by the same paths: the first stands for them. */
  readonly agents: () => readonly string[]
}

const shownHandles = 3

export function createActivityPubProbe(deps: ActivityPubProbeDeps): (request: ProbeRequest) => Promise<ProbeResult> {
  return async ({ signal }) => {
    const { places } = deps
    const agents = deps.agents()
    const [agent] = agents
    if (agent === undefined) return { summary: 'no agent with an account', problems: [] }
    const more = agents.length - shownHandles
    const handles = agents.slice(0, shownHandles).map(places.handle)
    const problem = (await findWebFingerProblem(deps, agent, signal)) ?? (await findActorProblem(deps, agent, signal))
    return {
      summary: [...handles, ...(more > 0 ? [`${more} more`] : [])].join(', '),
      problems: problem === undefined ? [] : [problem],
    }
  }
}

async function findWebFingerProblem(
  { fetch, places }: ActivityPubProbeDeps,
  agent: string,
  signal: AbortSignal,
): Promise<ProbeProblem | undefined> {
  const { origin, handleHost } = places
  const isElsewhere = handleHost !== new URL(origin).host
  const place = `${isElsewhere ? `https://${handleHost}` : origin}/.well-known/webfinger`
  const asked = { headers: { accept: jrdJson }, signal }
  const url = `${place}?resource=${encodeURIComponent(`acct:${agent}@${handleHost}`)}`
  const first = await fetchOwnPublicDocument(fetch, url, asked)
  // The host of the handles may pass the question on to us: a redirect, as other servers follow it.
  const isPassedOn = first.kind === 'redirect' && isElsewhere && new URL(first.to).origin === origin
  const found = isPassedOn ? await fetchOwnPublicDocument(fetch, first.to, asked) : first
  if (found.kind === 'problem') return found.problem
  if (found.kind === 'redirect') return wrongAnswerProblem(`${place} redirects elsewhere`)
  return webFingerSelfLink(found.json) === places.actor(agent)
    ? undefined
    : wrongAnswerProblem(`${place} does not lead to this gateway`)
}

async function findActorProblem(
  { fetch, places }: ActivityPubProbeDeps,
  agent: string,
  signal: AbortSignal,
): Promise<ProbeProblem | undefined> {
  const actor = places.actor(agent)
  const found = await fetchOwnPublicDocument(fetch, actor, { headers: { accept: activityJson }, signal })
  if (found.kind === 'problem') return found.problem
  if (found.kind === 'redirect') return wrongAnswerProblem(`${actor} redirects elsewhere`)
  return found.json['id'] === actor ? undefined : wrongAnswerProblem(`${actor} is not the actor of this gateway`)
}

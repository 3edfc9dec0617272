// `explain`: from any id an operator may hold to the whole life of the message behind it.

import type { ExplainStore, Facts, Hit } from '../../db/explain.ts'
import type { Rejections } from '../../identity/rejected-requests.ts'
import { listDedupeKeys } from '../../inbound/accept.ts'
import { rejectionTimeline } from './rejected-request.ts'
import { buildTimeline } from './timeline.ts'
import type { Timeline } from './timeline-entry.ts'

export type ExplainDeps = {
  readonly store: ExplainStore
  readonly agents: readonly string[]
  /** What this process turned away: asked last, since it has no row. */
  readonly rejections?: Pick<Rejections, 'list'>
}

export type Explanation = {
  readonly asked: string
  readonly matched: Hit['matched']
  readonly facts: Facts
  readonly story: Timeline
}

export type ExplainResult =
  | { readonly kind: 'explained'; readonly explanation: Explanation }
  /** Several things go by this id; the newest of them, each with an id that names nothing else. */
  | { readonly kind: 'ambiguous'; readonly candidates: readonly Hit[] }
  | { readonly kind: 'unknown' }

const maxCandidates = 20

/** `connection` narrows an id that several connections know. */
export async function explainById(deps: ExplainDeps, asked: string, connection?: string): Promise<ExplainResult> {
  const isOnAskedConnection = (hit: Hit): boolean => connection === undefined || hit.connection === connection
  const known = await deps.store.search(asked, listDedupeKeys(asked, deps.agents), maxCandidates)
  const hits = known.length > 0 ? known : await deps.store.searchNewest(asked, maxCandidates)
  const candidates = uniqueHits(hits.filter(isOnAskedConnection))
  const [only, ...others] = candidates
  if (only === undefined) return explainRejected(deps, asked, connection)
  if (others.length > 0) return { kind: 'ambiguous', candidates: candidates.slice(0, maxCandidates) }
  const facts = await deps.store.read(only)
  return { kind: 'explained', explanation: { asked, matched: only.matched, facts, story: buildTimeline(facts) } }
}

/** For callers who may see nothing that was said: an error may quote it, so only its class and its place are left. */
export function withoutErrorTexts(explanation: Explanation): Explanation {
  const { turns } = explanation.facts
  if (turns.every(({ errors }) => errors.length === 0)) return explanation
  const bare = turns.map((turn) => ({
    ...turn,
    errors: turn.errors.map((each) => ({
      ...each,
      error: { name: each.error.name, message: '[for admin tokens]', stack: each.error.stack.slice(0, 1) },
    })),
  }))
  const facts = { ...explanation.facts, turns: bare }
  return { ...explanation, facts, story: buildTimeline(facts) }
}

function explainRejected({ rejections }: ExplainDeps, trace: string, connection: string | undefined): ExplainResult {
  const [rejection] = rejections?.list({ limit: 1, trace, connection }) ?? []
  if (rejection === undefined) return { kind: 'unknown' }
  const facts = { message: null, decisions: [], turns: [], deliveries: [], edits: [], rejection }
  return {
    kind: 'explained',
    explanation: { asked: trace, matched: 'trace id', facts, story: rejectionTimeline(rejection) },
  }
}

/** One message found in two ways is one message. Newest first. */
function uniqueHits(hits: readonly Hit[]): readonly Hit[] {
  const unique = new Map(hits.toReversed().map((hit) => [`${hit.kind} ${hit.id}`, hit]))
  return [...unique.values()].toSorted((a, b) => (a.at < b.at ? 1 : a.at > b.at ? -1 : 0))
}

// `explain`: from any id an operator may have to the whole life of the message behind it.
import type { ChannelDefinition } from '../../contract/index.ts'
import type { Db } from '../../db/client.ts'
import {
  type Facts,
  findNewestMessagesByUnindexedId,
  findRowsByIndexedId,
  type Hit,
  readTimelineFacts,
} from '../../db/explain.ts'
import type { Rejection, Rejections } from '../../identity/rejected-requests.ts'
import { listDedupeKeys } from '../../inbound/accept.ts'
import type { ChannelReasons } from './reason-texts.ts'
import { buildTimeline } from './timeline.ts'
import { type Timeline, timelineEntry } from './timeline-entry.ts'

export type ExplainDeps = {
  readonly db: Db
  readonly agents: readonly string[]
  /** Whose own reasons are told in words. */
  readonly channels?: readonly Pick<ChannelDefinition, 'channel' | 'reasons'>[]
  /** What this process rejected: asked last, since it has no row. */
  readonly rejections?: Pick<Rejections, 'list'>
}

export type Explanation = {
  readonly asked: string
  readonly matched: Hit['matched']
  readonly facts: Facts
  readonly story: Timeline
}

export type ExplainResult =
  | { readonly kind: 'explained'; readonly explanation: Explanation; readonly reasons: ChannelReasons }
  /** Several things go by this id; the newest of them, each with an id that names nothing else. */
  | { readonly kind: 'ambiguous'; readonly candidates: readonly Hit[] }
  | { readonly kind: 'unknown' }

const maxCandidates = 20

/** `connection` narrows an id that several connections know. */
export async function explainById(deps: ExplainDeps, asked: string, connection?: string): Promise<ExplainResult> {
  const isOnAskedConnection = (hit: Hit): boolean => connection === undefined || hit.connection === connection
  const known = await findRowsByIndexedId(deps.db, asked, listDedupeKeys(asked, deps.agents), maxCandidates)
  const hits = known.length > 0 ? known : await findNewestMessagesByUnindexedId(deps.db, asked, maxCandidates)
  const candidates = dropDuplicateHits(hits.filter(isOnAskedConnection))
  const [only, ...others] = candidates
  if (only === undefined) return explainRejectionByTrace(deps, asked, connection)
  if (others.length > 0) return { kind: 'ambiguous', candidates: candidates.slice(0, maxCandidates) }
  const facts = await readTimelineFacts(deps.db, only)
  const reasons = findChannelReasons(deps, only.connection)
  const story = buildTimeline(facts, reasons)
  return { kind: 'explained', reasons, explanation: { asked, matched: only.matched, facts, story } }
}

/** For callers who may see nothing that was said: an error may quote it, so only its class and its place are left. */
export function withoutErrorTexts(explanation: Explanation, reasons: ChannelReasons): Explanation {
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
  return { ...explanation, facts, story: buildTimeline(facts, reasons) }
}

function findChannelReasons({ channels = [] }: ExplainDeps, connection: string): ChannelReasons {
  return channels.find(({ channel }) => connection.startsWith(`${channel}/`))?.reasons ?? {}
}

function explainRejectionByTrace(
  { rejections }: ExplainDeps,
  trace: string,
  connection: string | undefined,
): ExplainResult {
  const [rejection] = rejections?.list({ limit: 1, trace, connection }) ?? []
  if (rejection === undefined) return { kind: 'unknown' }
  const facts = { message: null, decisions: [], turns: [], deliveries: [], edits: [], rejection }
  return {
    kind: 'explained',
    reasons: {},
    explanation: { asked: trace, matched: 'trace id', facts, story: rejectionTimeline(rejection) },
  }
}

/** One message found in two ways is one message. Newest first. */
function dropDuplicateHits(hits: readonly Hit[]): readonly Hit[] {
  const unique = new Map(hits.toReversed().map((hit) => [`${hit.kind} ${hit.id}`, hit]))
  return [...unique.values()].toSorted((a, b) => (a.at < b.at ? 1 : a.at > b.at ? -1 : 0))
}

// For a rejected event there is no row to tell from, only what this process remembers.

type RejectionText = { readonly why: string; readonly remedy: string }

const rejectionTexts: Readonly<Record<string, RejectionText>> = {
  strangers_spent: {
    why: 'its sender is not admitted, and such senders have had their share of the day on this connection',
    remedy: 'let the sender in with parley grants add, wait for midnight UTC, or raise strangers of the connection',
  },
  disk_low: {
    why: 'its sender is not admitted, and little room is left on the disk of the data folder',
    remedy: 'make room on the disk; what senders who are admitted send is still stored',
  },
  missing_credential: {
    why: 'it brought no credential',
    remedy: 'have the sender send the credential this connection was configured with',
  },
  wrong_credential: {
    why: 'its credential is not the one that is configured',
    remedy: 'compare the secret at the platform with the one in the configuration; after a change, restart',
  },
  bad_signature: {
    why: 'its signature does not fit its body',
    remedy: 'compare the signing secret on both sides; look for a proxy that rewrites bodies',
  },
  stale_timestamp: { why: 'it was signed too long ago', remedy: 'compare the clocks of sender and gateway' },
  future_timestamp: { why: 'it was signed in the future', remedy: 'compare the clocks of sender and gateway' },
  replayed: { why: 'the same signed request had come before', remedy: 'have the sender sign every request anew' },
  not_allowed_here: {
    why: 'this connection answers callers on its own machine only',
    remedy: 'call it from there, or set up a connection for callers elsewhere',
  },
  foreign_page: {
    why: 'a web page that is not ours had a browser send it, without a token',
    remedy: 'if the page is yours, have it send a token and list its origin in PARLEY_CORS_ORIGINS',
  },
  malformed_request: { why: 'it is not the kind of request this endpoint takes', remedy: 'send JSON, and say so' },
  invalid_token: {
    why: 'its token is unknown, expired or revoked, or none at all',
    remedy: 'look at the tokens with parley tokens list, and make one with parley tokens create --scope run',
  },
  insufficient_scope: {
    why: 'its token may not do what was asked',
    remedy: 'make one with the scope run, or map a scope of the issuer in tokenIssuers',
  },
  wrong_agent: { why: 'its token is for another agent', remedy: 'use a token that was made for this one' },
  token_issuer: {
    why: 'the issuer of its token is not configured here',
    remedy: 'add the issuer to tokenIssuers, exactly as the token names it',
  },
  token_algorithm: {
    why: 'its token is signed in a way that is not allowed, or not at all',
    remedy: 'have it signed with an algorithm of the issuer’s list in tokenIssuers',
  },
  token_key: {
    why: 'the issuer of its token publishes no key of that name',
    remedy: 'have the caller get a new token; look at the key set of the issuer',
  },
  token_key_header: {
    why: 'its token brought a key along, or named a place to fetch one from',
    remedy: 'look at who sent it: keys come from the configured issuer only',
  },
  token_signature: {
    why: 'the signature of its token is not by the issuer’s key',
    remedy: 'look at who sent it: the token may be forged',
  },
  token_type: {
    why: 'its token is no access token',
    remedy: 'have the caller send an access token; if its typ is another one, add it to typ in tokenIssuers',
  },
  token_audience: {
    why: 'its token is made out to another audience',
    remedy: 'have the issuer make tokens out to the audience in tokenIssuers, or to the URL of the agent',
  },
  token_expired: { why: 'its token has expired', remedy: 'have the caller get a new one' },
  token_not_yet_valid: { why: 'its token is not valid yet', remedy: 'compare the clocks of issuer and gateway' },
  token_lifetime: {
    why: 'its token says not when it was made and ends, or lives longer than is allowed',
    remedy: 'have the issuer make shorter ones, or raise maxLifetimeSeconds in tokenIssuers',
  },
  token_inactive: {
    why: 'the issuer of its token says that it is not active',
    remedy: 'have the caller get a new one',
  },
  token_replayed: {
    why: 'its token counts once and was used before',
    remedy: 'have the caller get one for every request; if it did not send it twice, the token was stolen',
  },
  issuer_unavailable: {
    why: 'the issuer of its token could not be asked',
    remedy: 'look for token_issuer_failed in the log: it says what came back',
  },
  no_token: { why: 'it brought no token', remedy: 'send Authorization: Bearer with a token (parley tokens create)' },
  bad_token: {
    why: 'its token is unknown, expired or revoked',
    remedy: 'look at the tokens with parley tokens list, and make a new one',
  },
  wrong_scope: { why: 'its token is not for that route', remedy: 'use a token whose scopes cover it' },
}

const routeNames: Readonly<Record<string, string>> = { admin: "the operator's routes", http: 'some route' }

function rejectionTimeline({ at, connection, reason, isLocal, bytes }: Rejection): Timeline {
  const { why, remedy } = rejectionTexts[reason] ?? { why: 'it did not prove its origin', remedy: 'look at the reason' }
  const size = bytes === null ? '' : `, ${bytes} bytes`
  const where = routeNames[connection] ?? connection
  const from = isLocal ? 'from this machine' : 'from elsewhere'
  return {
    fate: 'rejected',
    headline: `Rejected: ${why} (${reason}). Nothing of it was stored.`,
    lines: [
      timelineEntry(at, 'Rejected', `on ${where}, ${from}${size}: ${why}. It was answered with the reason.`, 'bad'),
    ],
    next: [{ text: remedy, command: null }],
  }
}

// The access challenge: a turn that tells a sender why they have no access, or gives them a pairing code. No agent runs.
import { normalizeAgentReply } from '../agents/reply.ts'
import type { NormalizedResponse } from '../contract/index.ts'
import type { AccessBasis, TurnEnd, WaitingMessage } from '../db/turn-rows.ts'
import {
  accessDeniedNotice,
  type NewPairing,
  newPairingCode,
  pairingPrompt,
  rateLimitNotice,
} from '../identity/pairing.ts'
import { isGroupRoom } from '../identity/reply-policy.ts'
import { cleanName } from '../lib/clean-text.ts'
import type { IdSource } from '../lib/ids.ts'
import type { Sentence } from '../locales/say.ts'
import {
  countStrangerNoticeWithinLimit,
  countTurnReplyAgainstLimits,
  isDirectMessageFromPerson,
  replyLimit,
} from '../outbound/reply-limits.ts'
import { admitOrHold, answersEachRequest, choosePairingQuota, lookUpSenderName } from './admit.ts'
import { createEmptyEnd, renderOutgoing } from './end-turn.ts'
import type { GatewayConnection } from './gateway-connection.ts'
import type { Admission } from './plan-turn.ts'
import type { TurnServices } from './services.ts'
import { replyFields, type TurnContext } from './turn-context.ts'

const pairingDays = 7

/** Decided anew, since it may be resumed much later. Undefined: they are let in by now, and the message is to be run. */
export async function buildAccessChallengeEnd(deps: TurnServices, ready: TurnContext): Promise<TurnEnd | undefined> {
  const row = ready.members.at(-1)?.row
  if (row === undefined) return createEmptyEnd(ready)
  const admission = await admitOrHold(deps, ready.at, row, ready.lane)
  const { accessRule, subject, evidence } = admission
  const ground = { accessRule, subject, evidence }
  switch (admission.kind) {
    case 'admitted':
      return buildReplyLimitEnd(deps, ready, row, ground)
    case 'refused': {
      const words = accessDeniedNotice(admission.reason, admission.subject)
      const calls = await renderNoticeCalls(deps, ready, row, words)
      const end = { leadState: 'refused', leadReason: admission.reason, taskState: 'rejected' } as const
      const reported =
        row.taskId === null || words === undefined ? undefined : refusalNotice(ready, words, admission.reason)
      return { ...createEmptyEnd(ready), ...end, response: reported ?? null, calls, ground }
    }
    case 'held':
      return { ...(await buildPairingRequestEnd(deps, ready, row, admission)), ground }
  }
}

/** A person in private who reached a limit of answers is told when it ends. Undefined: they may be answered, or are not told. */
async function buildReplyLimitEnd(
  deps: TurnServices,
  ready: TurnContext,
  row: WaitingMessage,
  ground: AccessBasis,
): Promise<TurnEnd | undefined> {
  if (!isDirectMessageFromPerson(row.message)) return undefined
  const reached = await countTurnReplyAgainstLimits(
    deps,
    ready.at,
    ready.lane,
    ready.members,
    new Map([[row.id, ground]]),
  )
  const reply = reached === undefined ? undefined : challengeNotice(ready, rateLimitNotice(reached.freeInMs))
  if (reached === undefined || reply === undefined) return undefined
  const end = { leadState: 'refused', leadReason: replyLimit, taskState: 'rejected' } as const
  const calls = await renderOutgoing(deps, ready, [{ reply, purpose: 'notice' }])
  return {
    ...createEmptyEnd(ready),
    ...end,
    response: null,
    calls,
    ground: { ...ground, accessRule: `limit ${reached.rule}` },
  }
}

async function buildPairingRequestEnd(
  deps: TurnServices,
  ready: TurnContext,
  row: WaitingMessage,
  admission: Extract<Admission, { kind: 'held' }>,
): Promise<TurnEnd> {
  // Once per pairing, of which each group of strangers has only so many.
  const name = admission.pairing === null ? await lookUpSenderName(ready.at, row) : row.message.sender.display_name
  const pairing = createPairing(deps, ready.at, admission, name ?? '')
  const isRead = isGroupRoom(row.message.channel) && ready.at.adapter.capabilities.tellsInPrivate !== true
  const words = pairingPrompt(pairing.code, isRead)
  // A request that waits for its answer is given the code as one.
  return {
    ...createEmptyEnd(ready),
    leadState: 'held',
    leadReason: 'pairing_required',
    taskState: 'auth_required',
    pairing,
    ...(answersEachRequest(ready.at)
      ? { response: challengeNotice(ready, words) ?? null }
      : { calls: await renderNoticeCalls(deps, ready, row, words) }),
  }
}

function createPairing(
  deps: { readonly newId: IdSource; readonly fillRandom: (bytes: Uint8Array<ArrayBuffer>) => void },
  at: GatewayConnection,
  { pairing, pairedWith, subject, evidence }: Extract<Admission, { kind: 'held' }>,
  reported: string,
): NewPairing {
  const name = cleanName(reported).slice(0, 100)
  return {
    id: deps.newId(),
    knownId: pairing?.id ?? null,
    agent: pairedWith,
    subject: subject ?? '',
    code: pairing?.code ?? newPairingCode(deps.fillRandom),
    shownName: name === '' ? null : name,
    evidence: evidence ?? {},
    expiresInMs: pairingDays * 24 * 60 * 60_000,
    ...choosePairingQuota(at, subject),
  }
}

function challengeNotice(ready: TurnContext, words: Sentence): NormalizedResponse | undefined {
  const reply = normalizeAgentReply(words, replyFields(ready))
  return reply === undefined ? undefined : { ...reply, control: { about: 'access_challenge' } }
}

/** The agent that passed it on must be able to tell its own caller why a chain of agents ended here. */
function refusalNotice(ready: TurnContext, words: Sentence, reason: string): NormalizedResponse | undefined {
  const reported = challengeNotice(ready, words)
  if (reported === undefined || !reason.startsWith('gw:')) return reported
  return { ...reported, error: { code: reason, message: words, retryable: false } }
}

async function renderNoticeCalls(
  deps: TurnServices,
  ready: TurnContext,
  row: WaitingMessage,
  words: Sentence | undefined,
): Promise<TurnEnd['calls']> {
  const reply = words === undefined ? undefined : challengeNotice(ready, words)
  if (reply === undefined || !(await countStrangerNoticeWithinLimit(deps, ready.at, ready.lane, row))) return []
  return renderOutgoing(deps, ready, [{ reply, purpose: 'notice' }])
}

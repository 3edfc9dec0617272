// Operator takeover of a session: exporting its transcript, taking it over, speaking in it, giving it back. Export and takeover
// need the consent of those who take part; the decision is stored beside the act.

import type { Envelope } from '../contract/gateway-events.ts'
import { type NormalizedResponse, textPart } from '../contract/index.ts'
import type { Db } from '../db/client.ts'
import { haveAllParticipantsConsented, recordConsentDecision } from '../db/consents.ts'
import {
  findSessionConversation,
  type OperatorMessage,
  type SessionRoom,
  storeOperatorMessage,
} from '../db/operator-takeover.ts'
import type { TranscriptLine } from '../db/sessions.ts'
import { readTranscript } from '../db/sessions.ts'
import type { ConsentOperation, ConsentPolicy } from '../identity/consent.ts'
import { createConsentContext } from '../identity/consent.ts'
import { GatewayError } from '../lib/errors.ts'
import type { IdSource } from '../lib/ids.ts'
import { newTraceId } from '../lib/ids.ts'
import { say } from '../locales/say.ts'
import { renderCalls } from '../outbound/render.ts'
import { assistantEnvelope } from '../sessions/transcript.ts'
import { consentKeywords } from './chat-commands.ts'
import type { GatewayConnection } from './gateway-connection.ts'
import type { TurnServices } from './services.ts'

export type SessionTakeover = {
  /** Every line, once it may be handed on. Asked after the session was found in the caller's scope. */
  readonly exportTranscript: (sessionId: string, actor: string) => Promise<readonly TranscriptLine[]>
  readonly takeOver: (sessionId: string, actor: string) => Promise<void>
  readonly giveBack: (sessionId: string) => Promise<void>
  readonly say: (sessionId: string, text: string) => Promise<void>
}

const pageLines = 500

export function createSessionTakeover(deps: TurnServices): SessionTakeover {
  const { db } = deps
  const requireSessionRoom = async (sessionId: string): Promise<SessionRoom> => {
    const room = await findSessionConversation(db, sessionId)
    if (room === undefined) throw new GatewayError('not_found', 'no such session; list them with GET /admin/sessions')
    return room
  }
  const speakAsOperator = async (
    sessionId: string,
    text: string,
    from: OperatorMessage['from'],
    to: OperatorMessage['to'],
  ): Promise<void> => {
    const room = await requireSessionRoom(sessionId)
    const spoken = await renderOperatorMessage(deps, room, text)
    if (!(await storeOperatorMessage(db, sessionId, { ...spoken, from, to }))) throw takeoverConflictError(room, from)
    deps.wakeups.sends.notify()
  }
  return {
    async exportTranscript(sessionId, actor) {
      const act = { sessionId, actor, action: 'session.export' } as const
      await requireSessionConsent(deps, await requireSessionRoom(sessionId), 'share_transcript', act)
      return readWholeTranscript(db, sessionId)
    },
    async takeOver(sessionId, actor) {
      const place = await requireSessionRoom(sessionId)
      if (!place.isCurrent || place.mode !== 'active') throw takeoverConflictError(place, 'active')
      await requireSessionConsent(deps, place, 'escalate_to_human', { sessionId, actor, action: 'session.take_over' })
      await speakAsOperator(sessionId, say('session.taken_over'), 'active', 'operator')
    },
    async giveBack(sessionId) {
      await speakAsOperator(sessionId, say('session.given_back'), 'operator', 'active')
      deps.wakeups.turns.notify()
    },
    say: (sessionId, text) => speakAsOperator(sessionId, text, 'operator', 'operator'),
  }
}

type Act = { readonly sessionId: string; readonly actor: string; readonly action: string }

async function requireSessionConsent(
  deps: {
    readonly connections: readonly GatewayConnection[]
    readonly db: Db
    readonly consent: ConsentPolicy
    readonly newId: IdSource
  },
  room: SessionRoom,
  operation: ConsentOperation,
  { sessionId, actor, action }: Act,
): Promise<void> {
  const consent = { [operation]: await haveAllParticipantsConsented(deps.db, sessionId, operation) }
  const decision = deps.consent(operation, {
    ...createConsentContext(findRoomConnection(deps, room), room.agent),
    consent,
  })
  await recordConsentDecision(deps.db, { id: deps.newId(), sessionId, decision, action, actor })
  if (decision.allowed) return
  const remedy =
    decision.reason === 'non_interactive_default_denied'
      ? 'no person can be asked on its connection'
      : `ask every person who takes part to send /consent allow ${consentKeywords[operation]}`
  throw new GatewayError('consent_missing', `this needs consent to ${operation}; ${remedy}`)
}

async function renderOperatorMessage(
  deps: { readonly connections: readonly GatewayConnection[]; readonly newId: IdSource; readonly now: () => number },
  room: SessionRoom,
  text: string,
): Promise<Omit<OperatorMessage, 'from' | 'to'>> {
  const at = findRoomConnection(deps, room)
  if (at === undefined)
    throw new GatewayError('conflict', `connection "${room.connection}" is not configured here; add it to speak there`)
  const turnId = deps.newId()
  const response: NormalizedResponse = {
    thread_id: room.conversationId,
    in_reply_to: turnId,
    agent: room.agent,
    status: 'completed',
    parts: [textPart(text)],
  }
  const own = { adapter: at.adapter, maxParts: at.replyParts }
  const context = { ...own, newId: deps.newId, origin: turnId, orderKey: room.conversationId }
  const calls = await renderCalls({ ...context, to: room.replyTo }, [{ reply: response, purpose: 'reply' }])
  return {
    turnId,
    traceId: newTraceId(deps),
    envelope: operatorMessageEnvelope(deps, room, at, response, turnId),
    response,
    calls,
  }
}

/** In the transcript it stands where the agent's words stand, and says that they were not the agent's. */
function operatorMessageEnvelope(
  deps: { readonly now: () => number },
  { agent }: SessionRoom,
  { connection }: GatewayConnection,
  { parts }: NormalizedResponse,
  runId: string,
): Envelope {
  const at = new Date(deps.now()).toISOString()
  const line = assistantEnvelope(`@${agent}@${connection.domain}`, parts, { runId, at })
  return { ...line, metadata: { ...line.metadata, spoken_by: 'operator' } }
}

function findRoomConnection(
  { connections }: { readonly connections: readonly GatewayConnection[] },
  { connection }: SessionRoom,
): GatewayConnection | undefined {
  return connections.find((each) => each.key === connection)
}

function takeoverConflictError({ isCurrent }: SessionRoom, needed: SessionRoom['mode']): GatewayError {
  if (!isCurrent)
    return new GatewayError('conflict', 'this session is over; take over the one its conversation is in now')
  return needed === 'operator'
    ? new GatewayError('conflict', 'this session has not been taken over; do that first (parley sessions take-over)')
    : new GatewayError('conflict', 'an operator has taken this session over already')
}

async function readWholeTranscript(db: Db, sessionId: string): Promise<readonly TranscriptLine[]> {
  const pages: (readonly TranscriptLine[])[] = []
  for (let before: number | null = null; ; ) {
    const page: readonly TranscriptLine[] = await readTranscript(db, sessionId, pageLines, before)
    pages.unshift(page)
    const first = page[0]?.seq ?? 0
    if (page.length < pageLines || first === 0) return pages.flat()
    before = first
  }
}

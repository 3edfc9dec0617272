// Hop 3: normalizes a send request into one message with its claim to a task. Pure: new ids come with the facts.
import {
  bearerEvidenceFacts,
  type Connection,
  formatAddress,
  type InboundEvent,
  type InboundMessage,
  type JsonObject,
  mintEvidence,
  type Part,
  type RawRequest,
  type TaskClaim,
  UnparsableEventError,
  type VerifiedSender,
  verifiedSender,
} from '../../../src/contract/index.ts'
import { parseBoundedJson } from '../../../src/lib/index.ts'
import type { A2aCaller, A2aPayload, AgentChain } from '../protocol/caller.ts'
import type { A2aMessage } from '../protocol/objects.ts'
import type { Dialect } from '../protocol/operations.ts'
import { readSendRequest, type SendRequest } from '../protocol/requests.ts'
import { readCallChain, takeMentionable } from './call-chain.ts'
import { normalizeParts } from './parts.ts'

/** What a request says, and what was decided about it before it is accepted. */
export type SendFacts = {
  readonly message: A2aMessage
  readonly caller: A2aCaller
  /** The agent it is for; `isNamed`: its address says so, and nothing in the message says otherwise. */
  readonly agent: string
  readonly isNamed: boolean
  readonly contextId: string
  /** Other than its id where that must not count as the same message: see `serve/send.ts`. */
  readonly semanticId: string
  /** False where another caller could have guessed the name of the context. */
  readonly isContextOwn: boolean
  readonly known?: string
  readonly dialect: Dialect
  readonly forwarded: unknown
  readonly relay: unknown
  readonly chain: AgentChain | undefined
  /** The tasks it refers to, in words. */
  readonly references: readonly Part[]
  /** The message that it answers: what its sender names, else what was said last in the task that it is about. */
  readonly inReplyTo?: string | undefined
  readonly receivedAt: string
}

/** A message without what must not be kept, and what was taken from it. */
export function cleanSend({ message, metadata }: Pick<SendRequest, 'message' | 'metadata'>): {
  readonly message: A2aMessage
  readonly forwarded: unknown
  readonly relay: unknown
  readonly chain: unknown
  readonly inReplyTo: string | undefined
} {
  const { metadata: own, ...rest } = message
  const carried = takeMentionable(own)
  const beside = takeMentionable(metadata)
  return {
    message: { ...rest, ...(carried.metadata === undefined ? {} : { metadata: carried.metadata }) },
    forwarded: carried.forwarded ?? beside.forwarded,
    relay: carried.relay ?? beside.relay,
    chain: carried.chain ?? beside.chain,
    inReplyTo: carried.inReplyTo,
  }
}

export function sendToMessage(facts: SendFacts, connection: Connection): InboundMessage {
  const { message, caller, agent, contextId, receivedAt, chain, forwarded, relay, known, isContextOwn } = facts
  const recipient = formatAddress({ local: agent, domain: connection.domain })
  return {
    kind: 'message',
    message: {
      id: message.messageId,
      thread_id: contextId,
      ...(facts.inReplyTo === undefined ? {} : { in_reply_to: facts.inReplyTo }),
      sender: callerSender(caller, { connection, recipient, receivedAt }),
      recipient,
      parts: [...normalizeParts(message.parts), ...facts.references],
      recipient_capabilities: {
        mention_relay: { kind: 'none' },
        ...(chain === undefined ? {} : { agent_chain: chain }),
      },
      received_via: 'a2a',
      received_at: receivedAt,
      raw: { message },
      channel: a2aChannelContext(facts, connection),
    },
    agent,
    ...(facts.isNamed ? { isAddressed: true } : {}),
    semanticId: facts.semanticId,
    version: '0',
    isSenderChosenId: true,
    isOnceById: true,
    deliveryId: message.messageId,
    subject: caller.subject,
    ...(forwarded === undefined ? {} : { forwarded, ...(relay === undefined ? {} : { relay }) }),
    // The caller picks the name of the context: it leads back to what is the caller's own and to nothing else.
    thread: isContextOwn
      ? { candidates: [contextId], vouched: false, fresh: contextId }
      : { candidates: [], vouched: false, fresh: `${contextId}#${facts.semanticId}` },
    replyTo: { contextId },
    obligation: 'task',
    task: toTaskClaim(facts, known),
  }
}

function toTaskClaim({ message, contextId, dialect }: SendFacts, known: string | undefined): TaskClaim {
  return {
    ...(known === undefined ? {} : { known }),
    contextId,
    // Checked field by field, and JSON all through.
    payload: message as unknown as JsonObject,
    dialect,
  }
}

function a2aChannelContext(
  { message, caller, contextId }: SendFacts,
  connection: Connection,
): NonNullable<InboundMessage['message']['channel']> {
  const before = caller.chain.kind === 'read' ? caller.chain.caller : undefined
  return {
    connector_id: connection.id,
    external_provider: 'a2a',
    external_conversation_id: contextId,
    external_message_id: message.messageId,
    sender_id: callerName(caller.kind, caller.bearer),
    room_kind: 'dm',
    from_self: false,
    addressed: 'dm',
    visibility: 'private',
    mentions: [],
    event: 'new',
    ...(before === undefined ? {} : { caller: before }),
  }
}

/** The same for a send that came by the gateway's webhook route, where no caller waits for a task. */
export function normalizeA2a(
  { bytes, caller }: A2aPayload,
  arrival: RawRequest,
  connection: Connection,
): readonly InboundEvent[] {
  const facts = { subject: caller.subject }
  const json = parseBoundedJson(bytes)
  if (!json.ok) throw new UnparsableEventError(json.reason, facts)
  if (caller.chain.kind === 'unreadable')
    throw new UnparsableEventError('invalid_agent_caller_context', {
      ...facts,
      remedy: caller.chain.remedy,
      isFinal: true,
    })
  const read = readSendRequest(json.value)
  if (!read.ok) {
    const remedy = read.violations.map(({ field, description }) => `${field} ${description}`).join('; ')
    throw new UnparsableEventError('invalid_send_request', { ...facts, remedy: remedy.slice(0, 300) })
  }
  const { message, forwarded, relay, chain: claimed, inReplyTo } = cleanSend(read.value)
  const chain = readCallChain(claimed, caller.chain.agentChain)
  if (!chain.ok) throw new UnparsableEventError('invalid_agent_chain', facts)
  const { messageId, contextId = messageId, taskId } = message
  const arrived = sendToMessage(
    {
      message,
      caller,
      contextId,
      forwarded,
      relay,
      chain: chain.chain,
      receivedAt: arrival.receivedAt,
      agent: caller.bearer?.agent ?? connection.agent,
      isNamed: false,
      semanticId: messageId,
      isContextOwn: caller.kind !== 'anonymous',
      ...(taskId === undefined ? {} : { known: taskId }),
      dialect: '1.0',
      references: [],
      inReplyTo,
    },
    connection,
  )
  return [arrived]
}

// The sender of a message: the holder of a token, this machine's user, or an unverified caller where the connection allows that.

type CallerContext = { readonly connection: Connection; readonly recipient: string; readonly receivedAt: string }

function callerSender({ kind, bearer, subject }: A2aCaller, scene: CallerContext): VerifiedSender {
  const { connection, recipient, receivedAt: issuedAt } = scene
  const bound = { issuer: connection.domain, recipient, issuedAt, subject }
  const address = formatAddress({ local: callerName(kind, bearer), domain: `a2a.${connection.domain}` })
  if (bearer !== undefined) {
    const auth_method = bearer.vouched === undefined ? 'bearer-token' : `a2a-${bearer.vouched.kind}`
    const facts = bearerEvidenceFacts(bearer, { domain: connection.domain, receivedAt: issuedAt })
    const evidence = mintEvidence({ ...facts, recipient, method: `urn:gw:auth:${auth_method}:v0.1` })
    return verifiedSender([evidence], { address, auth_method, key_id: bearer.tokenId })
  }
  if (kind === 'local') {
    const method = 'urn:gw:auth:local-caller:v0.1'
    const evidence = mintEvidence({ ...bound, method, assurance: 'platform' })
    return verifiedSender([evidence], { address, auth_method: 'a2a-local' })
  }
  // What is proven is no more than that an open connection was asked: the weakest class there is.
  const method = 'urn:gw:auth:open-connection:v0.1'
  const evidence = mintEvidence({ ...bound, method, assurance: 'delegated' })
  return verifiedSender([evidence], { address, auth_method: 'a2a-anonymous' })
}

function callerName(kind: A2aCaller['kind'], bearer: A2aCaller['bearer']): string {
  return bearer === undefined ? kind : (bearer.name ?? `token-${bearer.tokenId}`)
}

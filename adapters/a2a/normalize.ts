// Normalizes a send request into one message with its claim to a task. Pure: new ids come with the facts.
import {
  bearerEvidenceFacts,
  type Connection,
  formatAddress,
  type InboundEvent,
  type InboundMessage,
  type KnownPart,
  maxInlineBytes,
  mintEvidence,
  type Part,
  type RawRequest,
  type Sender,
  textPart,
  UnparsableEventError,
  verifiedSender,
} from '../../src/contract/index.ts'
import { encodeBase64, type Fields, isPlainObject, type JsonObject, parseBoundedJson } from '../../src/lib/index.ts'
import type { A2aCaller, A2aMessage, A2aPart, A2aPayload, AgentChain } from './protocol/objects.ts'
import type { Dialect } from './protocol/operations.ts'
import { readSendRequest, type SendRequest } from './protocol/requests.ts'
/** What a request says, and what was decided about it before it is accepted. */
export type SendFacts = {
  readonly message: A2aMessage
  readonly caller: A2aCaller
  /** The agent it is for; `isNamed`: its address says so, and nothing in the message says otherwise. */
  readonly agent: string
  readonly isNamed: boolean
  readonly contextId: string
  /** Other than its id where that must not count as the same message: see `server/send-message.ts`. */
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
export function takeGatewayMetadata({ message, metadata }: Pick<SendRequest, 'message' | 'metadata'>): {
  readonly message: A2aMessage
  readonly forwarded: unknown
  readonly relay: unknown
  readonly chain: unknown
  readonly inReplyTo: string | undefined
} {
  const { metadata: own, ...rest } = message
  const carried = takeForwardedMetadata(own)
  const beside = takeForwardedMetadata(metadata)
  return {
    message: { ...rest, ...(carried.metadata === undefined ? {} : { metadata: carried.metadata }) },
    forwarded: carried.forwarded ?? beside.forwarded,
    relay: carried.relay ?? beside.relay,
    chain: carried.chain ?? beside.chain,
    inReplyTo: carried.inReplyTo,
  }
}

export function sendRequestToMessage(facts: SendFacts, connection: Connection): InboundMessage {
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
      ? { candidates: [contextId], platformVerified: false, newThreadKey: contextId }
      : { candidates: [], platformVerified: false, newThreadKey: `${contextId}#${facts.semanticId}` },
    replyTo: { contextId },
    mustReplyIndividually: 'task',
    task: toTaskClaim(facts, known),
  }
}

function toTaskClaim(
  { message, contextId, dialect }: SendFacts,
  known: string | undefined,
): NonNullable<InboundMessage['task']> {
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
  rawRequest: RawRequest,
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
  const { message, forwarded, relay, chain: claimed, inReplyTo } = takeGatewayMetadata(read.value)
  const chain = readCallChain(claimed, caller.chain.agentChain)
  if (!chain.ok) throw new UnparsableEventError('invalid_agent_chain', facts)
  const { messageId, contextId = messageId, taskId } = message
  const arrived = sendRequestToMessage(
    {
      message,
      caller,
      contextId,
      forwarded,
      relay,
      chain: chain.chain,
      receivedAt: rawRequest.receivedAt,
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

// The sender is the holder of a token, this machine's user, or an unverified caller where the connection allows that.

type CallerContext = { readonly connection: Connection; readonly recipient: string; readonly receivedAt: string }

function callerSender({ kind, bearer, subject }: A2aCaller, context: CallerContext): Sender {
  const { connection, recipient, receivedAt: issuedAt } = context
  const bound = { issuer: connection.domain, recipient, issuedAt, subject }
  const address = formatAddress({ local: callerName(kind, bearer), domain: `a2a.${connection.domain}` })
  if (bearer !== undefined) {
    const auth_method = bearer.issuerClaims === undefined ? 'bearer-token' : `a2a-${bearer.issuerClaims.kind}`
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

// `metadata.mentionable` is taken out before anything is kept, and judged apart. What a client may not say of itself, the
// resolution of a policy or what its own channel can do, is left out.

/** Keys that are judged, or that only we may set. The rest is the sender's own and stays. */
const taken = [
  'identity_evidence',
  'verifiable_credentials',
  'agent_chain',
  'policy_resolution',
  'recipient_capabilities',
]
const key = 'mentionable'

export type MentionableMetadata = {
  readonly metadata: JsonObject | undefined
  /** Evidence from another gateway, as it came. */
  readonly forwarded: unknown
  readonly chain: unknown
  /** What it says its own channel can do, for the check of the evidence. */
  readonly relay: unknown
  /** The message that it answers, as its sender says. */
  readonly inReplyTo: string | undefined
}

const nothing = { forwarded: undefined, chain: undefined, relay: undefined, inReplyTo: undefined }
const maxIdLength = 256

function takeForwardedMetadata(metadata: JsonObject | undefined): MentionableMetadata {
  const carried = metadata?.[key]
  if (metadata === undefined || carried === undefined) return { metadata, ...nothing }
  const { [key]: _carried, ...rest } = metadata
  // What is not an object is no evidence either, and said to be none.
  if (!isPlainObject(carried)) return { metadata: undefinedIfEmptyMetadata(rest), ...nothing, forwarded: carried }
  const own = Object.fromEntries(Object.entries(carried).filter(([name]) => !taken.includes(name)))
  const kept = Object.keys(own).length === 0 ? rest : { ...rest, [key]: own }
  const { identity_evidence: forwarded, agent_chain: chain, recipient_capabilities: can, in_reply_to: parent } = carried
  const relay = isPlainObject(can) ? can['mention_relay'] : undefined
  const isId = typeof parent === 'string' && parent !== '' && parent.length <= maxIdLength
  return { metadata: undefinedIfEmptyMetadata(kept), forwarded, chain, relay, inReplyTo: isId ? parent : undefined }
}

function undefinedIfEmptyMetadata(metadata: Fields): JsonObject | undefined {
  // A part of what came as JSON.
  return Object.keys(metadata).length === 0 ? undefined : (metadata as JsonObject)
}

export type CallChainResult =
  | { readonly ok: true; readonly chain: AgentChain | undefined }
  | { readonly ok: false; readonly problem: string }

const ceiling = 4

/** Headers and metadata may both tell how far the chain has come: the larger depth and the smaller ceiling count. */
export function readCallChain(claimed: unknown, byHeaders: AgentChain | undefined): CallChainResult {
  if (claimed === undefined || claimed === null) return { ok: true, chain: byHeaders }
  if (!isAgentChain(claimed))
    return { ok: false, problem: 'must be { hop, max_hops, is_final } that agree with each other' }
  const hop = Math.max(claimed.hop, byHeaders?.hop ?? 0)
  const max_hops = Math.min(claimed.max_hops, byHeaders?.max_hops ?? ceiling, ceiling)
  if (hop > max_hops) return { ok: false, problem: `must not have more than ${max_hops} hops` }
  return { ok: true, chain: { hop, max_hops, is_final: hop === max_hops } }
}

function isAgentChain(value: unknown): value is AgentChain {
  if (!isPlainObject(value)) return false
  const { hop, max_hops, is_final } = value
  const areWhole = Number.isSafeInteger(hop) && Number.isSafeInteger(max_hops)
  return areWhole && Number(hop) >= 1 && Number(hop) <= Number(max_hops) && is_final === (hop === max_hops)
}

// Files are fetched only when an agent opens them.

const textTypes = ['text/plain', 'text/markdown', 'text/html'] as const
/** Written as text, and a file to the agent that works with it. */
const tableTypes = ['text/csv', 'text/tab-separated-values']
const toolEvents = ['tool-call', 'tool-result', 'tool-error']

export function normalizeParts(given: readonly A2aPart[]): readonly Part[] {
  const parts: Part[] = []
  const calls = new Map<string, number>()
  for (const part of given) {
    const event = readToolEvent(part)
    const known = event === undefined ? undefined : calls.get(event.id)
    if (event === undefined) parts.push(normalizePart(part))
    else if (known === undefined) {
      calls.set(event.id, parts.length)
      parts.push(event)
    } else parts[known] = { ...parts[known], ...pickToolOutcome(event) } as KnownPart
  }
  return parts
}

function normalizePart({ text, raw, url, data, mediaType, filename }: A2aPart): Part {
  const mime = mediaType === undefined ? {} : { mime: mediaType }
  const name = filename === undefined ? {} : { name: filename }
  if (text !== undefined) {
    const type = mediaType?.toLowerCase().split(';')[0]?.trim()
    const data_base64 = type !== undefined && tableTypes.includes(type) ? encodeTextBase64(text) : undefined
    if (data_base64 !== undefined && data_base64.length * 3 <= maxInlineBytes * 4)
      return { kind: 'file', bytes_ref: { kind: 'inline', data_base64 }, ...mime, ...name }
    const known = textTypes.find((each) => each === type)
    return { kind: 'text', mime: known ?? 'text/plain', content: text }
  }
  if (raw !== undefined) return { kind: 'file', bytes_ref: { kind: 'inline', data_base64: raw }, ...mime, ...name }
  if (url !== undefined) {
    // Only what can be fetched safely is a file; anything else is an address in the sender's text.
    if (new URL(url).protocol === 'https:') return { kind: 'file', bytes_ref: { kind: 'url', url }, ...mime, ...name }
    return { kind: 'link', url, ...(filename === undefined ? {} : { title: filename }) }
  }
  return {
    kind: 'artifact',
    bytes_ref: { kind: 'inline', data_base64: encodeTextBase64(JSON.stringify(data ?? null)) },
    mime: mediaType ?? 'application/json',
    ...name,
  }
}

type ToolCall = Extract<KnownPart, { kind: 'tool_call' }>

/** The tool event in a data part, if it is one. Text never becomes one. */
function readToolEvent({ data }: A2aPart): ToolCall | undefined {
  if (!isPlainObject(data) || typeof data['type'] !== 'string' || !toolEvents.includes(data['type'])) return undefined
  const { type, toolCallId: id, toolName, input, output, error } = data as Fields
  if (typeof id !== 'string' || id === '' || id.length > 256) return undefined
  const name = typeof toolName === 'string' && toolName !== '' ? toolName : undefined
  return {
    kind: 'tool_call',
    id,
    name: name ?? 'unknown',
    args: input ?? {},
    ...(type === 'tool-result' ? { result: output ?? null } : {}),
    ...(type === 'tool-error' ? { error: { message: readErrorText(error) } } : {}),
  }
}

/** A result says nothing about the call that it belongs to: its name and input stay as they were. */
function pickToolOutcome({ result, error }: ToolCall): Partial<ToolCall> {
  return { ...(result === undefined ? {} : { result }), ...(error === undefined ? {} : { error }) }
}

function readErrorText(error: unknown): string {
  const message = isPlainObject(error) ? error['message'] : error
  return typeof message === 'string' ? message : 'failed'
}

/** Reference to earlier work of the same caller, in words. */
export function taskReferencePart(id: string, state: string, text: string): Part {
  const said = text.trim() === '' ? '' : `:\n${text.slice(0, 4000)}`
  return textPart(`[refers to task ${id}, ${state}]${said}`)
}

function encodeTextBase64(text: string): string {
  return encodeBase64(new TextEncoder().encode(text))
}

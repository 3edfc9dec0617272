// Normalizes a run request into one message. Only the trailing user messages count; our transcript is the history.
import type { ZodError } from 'zod'
import {
  bearerEvidenceFacts,
  type ChannelContext,
  type Connection,
  formatAddress,
  type InboundEvent,
  type InboundMessage,
  maxClientDataBytes,
  maxParts,
  mintEvidence,
  type Part,
  plainIdRemedy,
  type RawRequest,
  type Sender,
  type StoredEventFacts,
  textOf,
  textPart,
  UnparsableEventError,
  verifiedSender,
} from '../../src/contract/index.ts'
import { type Json, parseBoundedJson } from '../../src/lib/index.ts'
import {
  type AguiPayload,
  aguiSubject,
  dropDuplicateFiles,
  guestPrefix,
  messageIdSchema,
  type Resume,
  type RunRequest,
  runIdSchema,
  runRequestSchema,
  type ToolMessage,
  toolMessageSchema,
  type UserMessage,
  userMessageParts,
  userMessageSchema,
} from './wire.ts'

/** What is kept of a request says nothing about tokens; this machine's user and its guests need none. */
export function rebuildStoredRunPayload({ bytes }: RawRequest, kept: StoredEventFacts): AguiPayload | undefined {
  const { subject, caller, agentChain } = kept
  const payload: AguiPayload = { bytes, bearer: undefined, chain: { kind: 'read', caller, agentChain } }
  if (subject === aguiSubject(payload)) return payload
  return subject?.startsWith(guestPrefix) === true ? { ...payload, guest: subject } : undefined
}

export function normalizeAgui(
  payload: AguiPayload,
  rawRequest: RawRequest,
  connection: Connection,
): readonly InboundEvent[] {
  const json = parseBoundedJson(payload.bytes)
  const value = json.ok ? json.value : undefined
  try {
    if (!json.ok) throw new UnparsableEventError(json.reason)
    return normalizeRunRequest(payload, value, rawRequest, connection)
  } catch (error) {
    if (!(error instanceof UnparsableEventError)) throw error
    throw new UnparsableEventError(error.reason, { ...unreadableRequestDetails(payload, value), ...error.facts })
  }
}

function normalizeRunRequest(
  payload: AguiPayload,
  value: unknown,
  rawRequest: RawRequest,
  connection: Connection,
): readonly InboundEvent[] {
  const { chain } = payload
  if (chain.kind === 'unreadable')
    throw new UnparsableEventError('invalid_agent_caller_context', { remedy: chain.remedy, isFinal: true })
  const parsed = runRequestSchema.safeParse(value)
  if (!parsed.success) throw unreadableRequestError(parsed.error, invalidFieldReason(parsed.error.issues[0]?.path[0]))
  const runContext = { payload, request: parsed.data, raw: value, rawRequest, connection, chain }
  const decisions = resumeToDecisionCommands(parsed.data)
  return (decisions.length === 0 ? [readRunInput(parsed.data)] : decisions).map((said) =>
    runRequestToInboundEvent(runContext, said),
  )
}

type RunContext = {
  readonly payload: AguiPayload
  readonly request: RunRequest
  readonly raw: unknown
  readonly rawRequest: RawRequest
  readonly connection: Connection
  readonly chain: Extract<AguiPayload['chain'], { kind: 'read' }>
}

function runRequestToInboundEvent(
  { payload, request, raw, rawRequest, connection, chain }: RunContext,
  said: Said,
): InboundEvent {
  const { bearer } = payload
  const { threadId, runId } = request
  const { caller, agentChain } = chain
  const { id, parts } = said
  return {
    kind: 'message',
    message: {
      id,
      thread_id: threadId,
      ...(said.parent === undefined ? {} : { in_reply_to: said.parent }),
      sender: aguiSender(payload, rawRequest, connection),
      recipient: agentAddress(connection),
      parts: [...parts],
      recipient_capabilities: {
        mention_relay: { kind: 'none' },
        ...(agentChain === undefined ? {} : { agent_chain: agentChain }),
      },
      received_via: 'agui',
      received_at: rawRequest.receivedAt,
      raw,
      channel: {
        ...runChannelContext(connection, request, { ...said, sender: aguiSenderName(payload) }),
        ...(caller === undefined ? {} : { caller }),
      },
    },
    // A token for one agent addresses that agent.
    agent: bearer?.agent ?? connection.agent,
    // Structured, so that no pair of ids can imitate another one.
    semanticId: JSON.stringify([threadId, runId, ...(said.decides === undefined ? [] : [said.decides])]),
    version: '0',
    isSenderChosenId: true,
    deliveryId: runId,
    subject: aguiSubject(payload),
    // The caller picks the id of the thread: it leads back to the caller's own thread and to nothing else.
    thread: { candidates: [threadId], platformVerified: false, newThreadKey: threadId },
    replyTo: { threadId, runId },
    mustReplyIndividually: 'run',
    isExclusive: true,
    task: createTaskClaim(request, findContinuedTask(payload, said)),
  }
}

/** A command decides about one thing, and does not say its whole id. */
function findContinuedTask({ goesOnWith: tasks }: AguiPayload, { decides }: Said): string | undefined {
  return decides === undefined ? tasks?.values().next().value : tasks?.get(decides)
}

/** A run is a task of its own, or goes on with the one that waited for what it brings. */
function createTaskClaim(
  { threadId, protocolVersion }: RunRequest,
  known: string | undefined,
): NonNullable<InboundMessage['task']> {
  const claim = { contextId: threadId, payload: {}, dialect: protocolVersion ?? '0' }
  return known === undefined ? claim : { ...claim, known }
}

/** Headers are not kept: a request that named a chain cannot be read again without losing it. */
function unreadableRequestDetails(payload: AguiPayload, value: unknown): UnparsableEventError['facts'] {
  const { chain } = payload
  const runId = runIdSchema.safeParse(value).data?.runId
  const isChained = chain.kind === 'unreadable' || chain.caller !== undefined
  return {
    subject: aguiSubject(payload),
    ...(runId === undefined ? {} : { deliveryId: runId }),
    ...(isChained ? { isFinal: true } : {}),
  }
}

/** An id that cannot be one is told apart from what is missing. */
function unreadableRequestError({ issues: [issue] }: ZodError, reason: string): UnparsableEventError {
  if (issue?.message !== plainIdRemedy) return new UnparsableEventError(reason)
  return new UnparsableEventError('invalid_id', { remedy: `${issue.path.join('.')} is no id; ${plainIdRemedy}` })
}

function invalidFieldReason(field: PropertyKey | undefined): string {
  switch (field) {
    case 'threadId':
      return 'thread_id_missing_or_empty'
    case 'runId':
      return 'run_id_missing_or_empty'
    case 'messages':
      return 'messages_missing_or_empty'
    case 'tools':
      return 'invalid_tools'
    case 'context':
      return 'invalid_context'
    default:
      return 'invalid_run_request'
  }
}

type Said = {
  readonly id: string
  readonly parts: readonly Part[]
  readonly result: ToolMessage | undefined
  /** The interrupt it decides about. */
  readonly decides?: string
  /** The message of the agent that it was said after, as the client has it. */
  readonly parent?: string | undefined
}

/** What a person said last, or what a tool came to that the client ran for us. */
function readRunInput(request: RunRequest): Said {
  const last = request.messages.at(-1)
  if (last?.role === 'tool') {
    const parsed = toolMessageSchema.safeParse(last)
    if (!parsed.success) throw unreadableRequestError(parsed.error, 'invalid_tool_message')
    // Nothing was said: the result goes to the call that waits for it and not into the conversation.
    const parent = precedingAssistantMessageId(request, request.messages.length - 1)
    return { id: parsed.data.id, parts: [{ kind: 'agui:tool_result' }], result: parsed.data, parent }
  }
  const said = trailingUserMessages(request)
  const lead = said.at(-1)
  if (lead === undefined) throw new UnparsableEventError('last_message_is_not_from_a_user')
  const parts = dropDuplicateFiles(said.flatMap(userMessageParts))
  if (parts.length === 0) throw new UnparsableEventError('empty_message')
  if (parts.length > maxParts)
    throw new UnparsableEventError('too_many_parts', {
      remedy: `say it in at most ${maxParts} messages and blocks together`,
    })
  return {
    id: lead.id,
    parts,
    result: undefined,
    parent: precedingAssistantMessageId(request, request.messages.length - said.length),
  }
}

/** A list of messages is a thread: what comes before the new ones is what they answer. */
function precedingAssistantMessageId({ messages }: RunRequest, end: number): string | undefined {
  const before = messages.slice(0, end).findLast((message) => message.role === 'assistant')
  return messageIdSchema.safeParse(before).data?.id
}

/** What was decided about a question is told in the words of the command that decides it: it passes the same checks. */
function resumeToDecisionCommands({ resume, runId }: RunRequest): readonly Said[] {
  return (resume ?? []).map((each) => {
    // A command names what it decides by the end of its id.
    const text = `/${isApproved(each) ? 'approve' : 'reject'} ${each.interruptId.slice(-12)}`
    return {
      id: decisionMessageId({ runId }, each.interruptId),
      parts: [textPart(text)],
      result: undefined,
      decides: each.interruptId,
    }
  })
}

/** What the message is called that brings a decision. */
export function decisionMessageId({ runId }: Pick<RunRequest, 'runId'>, interruptId: string): string {
  return `${runId}:${interruptId}`
}

function isApproved({ status, payload }: Resume): boolean {
  if (status === 'cancelled') return false
  if (payload === true) return true
  return typeof payload === 'object' && payload !== null && 'approved' in payload && payload.approved === true
}

function trailingUserMessages({ messages }: RunRequest): readonly UserMessage[] {
  const start = messages.findLastIndex((message) => message.role !== 'user') + 1
  return messages.slice(start).map((message) => {
    const parsed = userMessageSchema.safeParse(message)
    if (!parsed.success) throw unreadableRequestError(parsed.error, 'invalid_user_message')
    return parsed.data
  })
}

function aguiSender(payload: AguiPayload, rawRequest: RawRequest, connection: Connection): Sender {
  const { bearer, guest } = payload
  const { domain } = connection
  const recipient = agentAddress(connection)
  const address = formatAddress({ local: aguiSenderName(payload), domain: `agui.${domain}` })
  if (bearer === undefined) {
    const bound = { issuer: domain, recipient, issuedAt: rawRequest.receivedAt, subject: aguiSubject(payload) }
    if (guest !== undefined) {
      // What is proven is no more than that the thread was known: the weakest class there is.
      const evidence = mintEvidence({ ...bound, method: 'urn:gw:auth:agui-guest:v0.1', assurance: 'delegated' })
      return verifiedSender([evidence], { address, auth_method: 'agui-guest' })
    }
    const evidence = mintEvidence({ ...bound, method: 'urn:gw:auth:agui-session:v0.1', assurance: 'platform' })
    return verifiedSender([evidence], { address, auth_method: 'agui-session' })
  }
  const auth_method = `bearer-${bearer.issuerClaims?.kind ?? 'token'}`
  const method = `urn:gw:auth:${auth_method}:v0.1`
  const facts = bearerEvidenceFacts(bearer, { domain, receivedAt: rawRequest.receivedAt })
  const evidence = mintEvidence({ ...facts, recipient, method })
  return verifiedSender([evidence], { address, auth_method, key_id: bearer.tokenId })
}

function aguiSenderName({ bearer, guest }: Pick<AguiPayload, 'bearer' | 'guest'>): string {
  if (bearer !== undefined) return bearer.name ?? `token-${bearer.tokenId}`
  return guest === undefined ? 'local' : 'guest'
}

function runChannelContext(
  connection: Connection,
  request: RunRequest,
  { id: messageId, parts, result, sender }: Said & { readonly sender: string },
): ChannelContext {
  const { threadId, runId, tools } = request
  const command = parseRunCommandText(textOf(parts))
  const data = collectClientData(request)
  const offered = (tools ?? []).map(normalizeClientTool)
  return {
    connector_id: connection.id,
    external_provider: 'agui',
    external_conversation_id: threadId,
    external_message_id: messageId,
    sender_id: sender,
    room_kind: 'dm',
    from_self: false,
    addressed: command === undefined ? 'dm' : 'command',
    visibility: 'private',
    mentions: [],
    event: 'new',
    run_id: runId,
    ...(command === undefined ? {} : { command }),
    ...(offered.length === 0 ? {} : { client_tools: offered }),
    ...(data === undefined ? {} : { client_data: data }),
    ...(result === undefined ? {} : { tool_result: readToolMessage(result) }),
  }
}

/** As it declares them; what they are called here is decided where they are offered. */
function normalizeClientTool({ name, description, parameters }: NonNullable<RunRequest['tools']>[number]) {
  return { name, ...(description ? { description } : {}), parameters: parameters ?? {} }
}

/** Everything the client wants known beside the message: data of its sender, with no more authority than their words. */
function collectClientData({ context, state, forwardedProps, messages }: RunRequest): ChannelContext['client_data'] {
  const system = messages.filter(({ role }) => role === 'system' || role === 'developer')
  const texts = system.flatMap((message) => (typeof message['content'] === 'string' ? [message['content']] : []))
  const hasProps = forwardedProps !== undefined && forwardedProps !== null && !isEmptyObject(forwardedProps)
  const entries = (context ?? []).map(({ description, value }) => ({ description: description ?? '', value }))
  // Whatever a body holds was read as JSON.
  const data: NonNullable<ChannelContext['client_data']> = {
    ...(entries.length === 0 ? {} : { context: entries }),
    ...(state === undefined || state === null ? {} : { state: state as Json }),
    ...(hasProps ? { forwarded_props: forwardedProps as Json } : {}),
    ...(texts.length === 0 ? {} : { system_messages: texts }),
  }
  if (isEmptyObject(data)) return undefined
  if (new TextEncoder().encode(JSON.stringify(data)).length > maxClientDataBytes)
    throw new UnparsableEventError('client_data_too_large', {
      remedy: `send at most ${maxClientDataBytes} bytes of context, state, forwardedProps and system messages together`,
    })
  return data
}

function isEmptyObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0
}

function readToolMessage({ toolCallId, content, error }: ToolMessage) {
  return { tool_call_id: toolCallId, content, ...(error ? { error } : {}) }
}

/** The command that a request says, if it says one. */
export function parseRunCommand(request: RunRequest): { name: string; args: string } | undefined {
  try {
    return parseRunCommandText(textOf(readRunInput(request).parts))
  } catch (error) {
    if (error instanceof UnparsableEventError) return undefined
    throw error
  }
}

/** This API marks no commands; a message that begins with a slash and a word is one. */
function parseRunCommandText(text: string): { name: string; args: string } | undefined {
  const [, name, args = ''] = /^\/([a-z][a-z0-9_]{0,31})(?:\s+([\s\S]*))?$/i.exec(text.trim()) ?? []
  return name === undefined ? undefined : { name: name.toLowerCase(), args }
}

function agentAddress(connection: Connection): string {
  return formatAddress({ local: connection.agent, domain: connection.domain })
}

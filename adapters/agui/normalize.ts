// Hop 3: a run request to one message. Only the trailing user messages count; our transcript is the history (msg 13.3).
import {
  type Arrived,
  bytesRefSchema,
  type Connection,
  formatAddress,
  mintEvidence,
  type NormalizedMessage,
  type Part,
  type RawArrival,
  textOf,
  textPart,
  UnreadableArrival,
  verifiedSender,
} from '../../src/contract/index.ts'
import { parseBoundedJson } from '../../src/verification/index.ts'
import {
  type BinaryBlock,
  type RunRequest,
  readBlock,
  runRequestSchema,
  type ToolMessage,
  toolMessageSchema,
  type UserMessage,
  userMessageSchema,
} from './wire.ts'

const subject = 'gw:user/local'

export function normalizeAgui(payload: Uint8Array, arrival: RawArrival, connection: Connection): readonly Arrived[] {
  const json = parseBoundedJson(payload)
  if (!json.ok) throw new UnreadableArrival(json.reason)
  const parsed = runRequestSchema.safeParse(json.value)
  if (!parsed.success) throw new UnreadableArrival(requestProblem(parsed.error.issues[0]?.path[0]))
  const { threadId, runId } = parsed.data
  const { id, parts, result } = saidIn(parsed.data)
  return [
    {
      kind: 'message',
      message: {
        id,
        thread_id: threadId,
        sender: localSender(arrival, connection),
        recipient: recipientOf(connection),
        parts: [...parts],
        recipient_capabilities: { mention_relay: { kind: 'none' } },
        received_via: 'agui',
        received_at: arrival.receivedAt,
        raw: json.value,
        channel: channelOf(connection, parsed.data, { id, parts, result }),
      },
      agent: connection.agent,
      // Structured, so that no pair of ids can imitate another one.
      semanticId: JSON.stringify([threadId, runId]),
      version: '0',
      isSenderChosenId: true,
      deliveryId: runId,
      subject,
      thread: { candidates: [threadId], vouched: true, fresh: threadId },
      replyTo: { threadId, runId },
      obligation: 'run',
      isExclusive: true,
    },
  ]
}

function requestProblem(field: PropertyKey | undefined): string {
  switch (field) {
    case 'threadId':
      return 'thread_id_missing_or_empty'
    case 'runId':
      return 'run_id_missing_or_empty'
    case 'messages':
      return 'messages_missing_or_empty'
    case 'tools':
      return 'invalid_tools'
    default:
      return 'invalid_run_request'
  }
}

type Said = { readonly id: string; readonly parts: readonly Part[]; readonly result: ToolMessage | undefined }

/** What a person said last, or what a tool came to that the client ran for us. */
function saidIn(request: RunRequest): Said {
  const last = request.messages.at(-1)
  if (last?.role === 'tool') {
    const parsed = toolMessageSchema.safeParse(last)
    if (!parsed.success) throw new UnreadableArrival('invalid_tool_message')
    // Nothing was said: the result goes to the call that waits for it and not into the conversation.
    return { id: parsed.data.id, parts: [{ kind: 'agui:tool_result' }], result: parsed.data }
  }
  const said = trailingUserMessages(request)
  const lead = said.at(-1)
  if (lead === undefined) throw new UnreadableArrival('last_message_is_not_from_a_user')
  const parts = said.flatMap(partsOf)
  if (parts.length === 0) throw new UnreadableArrival('empty_message')
  return { id: lead.id, parts, result: undefined }
}

function trailingUserMessages({ messages }: RunRequest): readonly UserMessage[] {
  const start = messages.findLastIndex((message) => message.role !== 'user') + 1
  return messages.slice(start).map((message) => {
    const parsed = userMessageSchema.safeParse(message)
    if (!parsed.success) throw new UnreadableArrival('invalid_user_message')
    return parsed.data
  })
}

function partsOf({ content }: UserMessage): readonly Part[] {
  if (typeof content === 'string') return content.trim() === '' ? [] : [textPart(content)]
  return content.map((given) => {
    const block = readBlock(given)
    if (block === undefined) throw new UnreadableArrival('invalid_content_block')
    if (block.type === 'text') return textPart(block.text)
    // Named under our prefix, so that a block can never pass for a tool call or a policy part.
    return block.type === 'binary' ? filePart(block) : { kind: `agui:${block.name.slice(0, 64)}` }
  })
}

function filePart({ mimeType, url, data, filename }: BinaryBlock): Part {
  const facts = { mime: mimeType, ...(filename ? { name: filename } : {}) }
  if (data) return inlinePart(data, facts)
  if (!url) throw new UnreadableArrival('attachment_without_url')
  const isHttps = URL.canParse(url) && new URL(url).protocol === 'https:'
  if (!isHttps) throw new UnreadableArrival('attachment_url_must_be_https')
  return { kind: 'file', bytes_ref: { kind: 'url', url }, ...facts }
}

function inlinePart(data: string, facts: { readonly mime: string; readonly name?: string }): Part {
  const parsed = bytesRefSchema.safeParse({ kind: 'inline', data_base64: data })
  if (!parsed.success) throw new UnreadableArrival('attachment_not_base64_or_too_large')
  return { kind: 'file', bytes_ref: parsed.data, ...facts }
}

function localSender(arrival: RawArrival, connection: Connection): NormalizedMessage['sender'] {
  const evidence = mintEvidence({
    subject,
    issuer: connection.domain,
    method: 'urn:gw:auth:agui-session:v0.1',
    assurance: 'platform',
    recipient: recipientOf(connection),
    issuedAt: arrival.receivedAt,
  })
  return verifiedSender([evidence], {
    address: formatAddress({ local: 'local', domain: `agui.${connection.domain}` }),
    auth_method: 'agui-session',
  })
}

function channelOf(
  connection: Connection,
  { threadId, runId, tools }: RunRequest,
  { id: messageId, parts, result }: Said,
): NormalizedMessage['channel'] {
  const command = commandIn(textOf(parts))
  const offered = (tools ?? []).map(clientTool)
  return {
    connector_id: connection.id,
    external_provider: 'agui',
    external_conversation_id: threadId,
    external_message_id: messageId,
    sender_id: 'local',
    room_kind: 'dm',
    from_self: false,
    addressed: command === undefined ? 'dm' : 'command',
    visibility: 'private',
    mentions: [],
    event: 'new',
    run_id: runId,
    ...(command === undefined ? {} : { command }),
    ...(offered.length === 0 ? {} : { client_tools: offered }),
    ...(result === undefined ? {} : { tool_result: toolResult(result) }),
  }
}

/** A client names its tools without a namespace; here they are `client/…`. */
function clientTool({ name, description, parameters }: NonNullable<RunRequest['tools']>[number]) {
  const canonical = name.startsWith('client/') ? name : `client/${name}`
  return { name: canonical, ...(description ? { description } : {}), parameters: parameters ?? {} }
}

function toolResult({ toolCallId, content, error }: ToolMessage) {
  return { tool_call_id: toolCallId, content, ...(error ? { error } : {}) }
}

/** This API marks no commands; a message that begins with a slash and a word is one. */
function commandIn(text: string): { name: string; args: string } | undefined {
  const [, name, args = ''] = /^\/([a-z][a-z0-9_]{0,31})(?:\s+([\s\S]*))?$/i.exec(text.trim()) ?? []
  return name === undefined ? undefined : { name: name.toLowerCase(), args }
}

function recipientOf(connection: Connection): string {
  return formatAddress({ local: connection.agent, domain: connection.domain })
}

// The run request: AG-UI's RunAgentInput in its 0.x form, as far as Parley reads it.
import * as z from 'zod'
import {
  type Adapter,
  bytesRefSchema,
  type CallerResult,
  callerChosenIdSchema,
  type Part,
  textPart,
  UnparsableEventError,
} from '../../src/contract/index.ts'
import type { JsonObject } from '../../src/lib/index.ts'

/** A caller on the socket of the data folder. */
const localSubject = 'gw:user/local'
/** Callers on a port of this machine, each named after the thread it chose. */
export const guestPrefix = 'gw:guest/'

const textBlockSchema = z.object({ type: z.literal('text'), text: z.string() })
const binaryBlockSchema = z.object({
  type: z.literal('binary'),
  mimeType: z.string().min(1),
  url: z.string().nullish(),
  data: z.string().nullish(),
  filename: z.string().nullish(),
})
/** AG-UI 1.0: one part per kind of medium. A `file` handle is its provider's and is never opened here. */
const mediaBlockSchema = z.object({
  type: z.enum(['image', 'audio', 'video', 'document']),
  source: z.discriminatedUnion('type', [
    z.object({ type: z.literal('data'), value: z.string(), mimeType: z.string().min(1) }),
    z.object({ type: z.literal('url'), value: z.string(), mimeType: z.string().nullish() }),
    z.object({ type: z.literal('file'), value: z.string(), mimeType: z.string().nullish() }),
  ]),
  metadata: z.looseObject({ filename: z.string().optional() }).nullish(),
})
const otherBlockSchema = z.looseObject({ type: z.string().min(1) })

export const userMessageSchema = z.object({
  id: callerChosenIdSchema(),
  role: z.literal('user'),
  content: z.union([z.string(), z.array(z.unknown()).min(1)]),
})

/** The result of a tool that the client ran. */
export const toolMessageSchema = z.object({
  id: callerChosenIdSchema(),
  role: z.literal('tool'),
  toolCallId: callerChosenIdSchema(),
  /** In 1.0 parts as well; their text counts. */
  content: z.union([z.string(), z.array(z.looseObject({ type: z.string() })).transform(joinBlockTexts)]),
  error: z.string().nullish(),
})

function joinBlockTexts(blocks: readonly { readonly [key: string]: unknown }[]): string {
  return blocks.map((block) => (typeof block['text'] === 'string' ? block['text'] : '')).join('\n')
}

/** What the program wants the agent to know. Values are texts in the protocol; what is none is told as JSON. */
const contextEntrySchema = z.object({
  description: z.string().nullish(),
  value: z
    .unknown()
    .optional()
    .transform((value) => (typeof value === 'string' ? value : (JSON.stringify(value) ?? ''))),
})

const clientToolSchema = z.looseObject({ name: z.string().min(1), description: z.string().nullish() })

const runId = callerChosenIdSchema(256)

/** As much of a request as is needed to name the thread of a guest. */
export const threadIdSchema = z.looseObject({ threadId: callerChosenIdSchema() })

/** As much of a message as is needed to refer to it. */
export const messageIdSchema = z.looseObject({ id: callerChosenIdSchema() })

/** As much of a request as is needed to name it. */
export const runIdSchema = z.looseObject({ runId })

/** What a person decided about an interrupt. `cancelled`: they gave it up. */
const resumeSchema = z.object({
  interruptId: callerChosenIdSchema(200),
  status: z.enum(['resolved', 'cancelled']),
  payload: z.unknown().optional(),
})

/** Everything in the body is the client's word: who it is comes from the connection, what was said before from us. */
export const runRequestSchema = z
  .looseObject({
    threadId: callerChosenIdSchema(),
    runId,
    messages: z
      .array(z.looseObject({ role: z.string() }))
      .default([])
      .meta({ description: 'May be left out with resume' }),
    tools: z.array(clientToolSchema).max(64).nullish(),
    context: z.array(contextEntrySchema).max(256).nullish(),
    state: z.unknown().optional(),
    forwardedProps: z.unknown().optional(),
    protocolVersion: z.string().nullish(),
    parentRunId: callerChosenIdSchema().nullish(),
    resume: z.array(resumeSchema).max(32).nullish().meta({
      description: 'A decision about every open interrupt of the thread; payload { approved: true } is a yes',
    }),
  })
  // A decision needs no words.
  .refine(({ messages, resume }) => messages.length > 0 || (resume?.length ?? 0) > 0, { path: ['messages'] })

export type RunRequest = z.infer<typeof runRequestSchema>
export type Resume = z.infer<typeof resumeSchema>
export type ToolMessage = z.infer<typeof toolMessageSchema>
export type UserMessage = z.infer<typeof userMessageSchema>
type BinaryBlock = z.infer<typeof binaryBlockSchema>
export type ContentBlock =
  | z.infer<typeof textBlockSchema>
  | BinaryBlock
  | { readonly type: 'other'; readonly name: string }

/** A block of a type we know must have that type's fields; other types are carried by name. */
function parseContentBlock(block: unknown): ContentBlock | undefined {
  const named = otherBlockSchema.safeParse(block)
  if (!named.success) return undefined
  if (named.data.type === 'text') return textBlockSchema.safeParse(block).data
  if (named.data.type === 'binary') return binaryBlockSchema.safeParse(block).data
  if (mediaTypes.has(named.data.type)) return mediaBlockToBinaryBlock(mediaBlockSchema.safeParse(block).data)
  return { type: 'other', name: named.data.type }
}

const mediaTypes: ReadonlySet<string> = new Set(['image', 'audio', 'video', 'document'])

/** Both spellings of an attachment become one, so that one sent in both is found twice. */
function mediaBlockToBinaryBlock(block: z.infer<typeof mediaBlockSchema> | undefined): ContentBlock | undefined {
  if (block === undefined) return undefined
  const { source, metadata, type } = block
  const mimeType = source.mimeType ?? (type === 'document' ? 'application/octet-stream' : `${type}/*`)
  const named = metadata?.filename === undefined ? {} : { filename: metadata.filename }
  if (source.type === 'file') return { type: 'other', name: type }
  return {
    type: 'binary',
    mimeType,
    ...(source.type === 'data' ? { data: source.value } : { url: source.value }),
    ...named,
  }
}

/** A request whose sender is settled: the holder of a token, a guest, or this machine's user. */
type IdentifiedCaller = Extract<CallerResult, { kind: 'identified' }>

export type AguiPayload = {
  readonly bytes: Uint8Array
  readonly bearer: IdentifiedCaller['bearer']
  /** The subject of a guest. */
  readonly guest?: string
  /** What its headers say about the agents that called before. */
  readonly chain:
    | ({ readonly kind: 'read' } & Pick<IdentifiedCaller, 'caller' | 'agentChain'>)
    | { readonly kind: 'unreadable'; readonly remedy: string }
  /** The paused tasks that the request goes on with, by the interrupts it decides about. */
  readonly goesOnWith?: ReadonlyMap<string, string>
}

export function aguiSubject({ bearer, guest }: Pick<AguiPayload, 'bearer' | 'guest'>): string {
  return bearer?.subject ?? guest ?? localSubject
}

/** The one thing this channel sends: the reply, as the last event of its run. */
export type AguiCall = { readonly event: { readonly type: 'done'; readonly response: JsonObject } }

/** What a run that paused waits for. */
export type Interrupt = {
  readonly id: string
  readonly reason: 'confirmation' | 'tool_call' | 'input_required'
  readonly message?: string
  readonly toolCallId?: string
  readonly expiresAt?: string
  readonly responseSchema?: JsonObject
}

const interruptSchema = z.looseObject({
  id: z.string(),
  reason: z.string(),
  message: z.string().optional(),
  toolCallId: z.string().optional(),
  expiresAt: z.string().optional(),
  responseSchema: z.looseObject({}).optional(),
})

const answerSchema = z.looseObject({
  threadId: z.string(),
  runId: z.string(),
  status: z.enum(['completed', 'input_required', 'refused', 'failed', 'cancelled']),
  messages: z
    .array(z.object({ role: z.literal('assistant'), content: z.string() }))
    .meta({ description: 'One; several where one resume set several runs going' }),
  interrupts: z
    .array(interruptSchema)
    .optional()
    .meta({ description: 'What the run waits for: decide with resume, or with /approve and /reject' }),
  response: z.looseObject({}).meta({ description: 'The whole reply, with its parts' }),
  state: z
    .unknown()
    .optional()
    .meta({ description: 'The state that agent and client share, where one of them has set it' }),
  clientTools: z
    .looseObject({ left_out: z.array(z.looseObject({ name: z.string(), reason: z.string(), remedy: z.string() })) })
    .optional()
    .meta({ description: 'Tools of the client that the agent was not shown, or was shown under another name' }),
})

/** The run request in the document of the API. */
export const describedRun: NonNullable<Adapter['endpoints'][number]['describe']>[number] = {
  method: 'post',
  id: 'runAgent',
  summary: 'Says something to an agent and waits for its answer',
  about:
    'The same runId in the same thread is the same run, however often it is sent. Only the messages behind the last answer count; what was said before is kept here.',
  headers: {
    accept: 'text/event-stream: the run as a stream of events',
    'last-event-id': 'Go on behind this event of a stream that broke off',
  },
  body: {
    schema: runRequestSchema,
    example: { threadId: 't1', runId: 'r1', messages: [{ id: 'm1', role: 'user', content: 'hello' }] },
  },
  answers: {
    200: {
      what: 'The answer, or the events that lead to it',
      schema: answerSchema,
      mediaType: 'text/event-stream',
      example: {
        threadId: 't1',
        runId: 'r1',
        status: 'completed',
        messages: [{ role: 'assistant', content: 'Hello.' }],
        response: {},
      },
    },
    202: {
      what: 'It is still at work, or waits for a person; the same request again waits for the answer',
      schema: z.looseObject({ status: z.string() }),
      example: { status: 'pending' },
    },
  },
  problems: [409, 413, 415, 500],
}

// Content blocks are text, and files in both spellings of the protocol. Pure.

/** A client of two versions sends an attachment in both spellings. */
export function dropDuplicateFiles(parts: readonly Part[]): readonly Part[] {
  const seen = new Set<string>()
  return parts.filter((part) => {
    if (part.kind !== 'file') return true
    const { bytes_ref } = part as Extract<Part, { bytes_ref: unknown }>
    const key = JSON.stringify(bytes_ref)
    return !seen.has(key) && seen.add(key)
  })
}

export function userMessageParts({ content }: UserMessage): readonly Part[] {
  if (typeof content === 'string') return content.trim() === '' ? [] : [textPart(content)]
  return content.map((given) => {
    const block = parseContentBlock(given)
    if (block === undefined) throw new UnparsableEventError('invalid_content_block')
    if (block.type === 'text') return textPart(block.text)
    // Named under our prefix, so that a block can never pass for a tool call or a policy part.
    return block.type === 'binary' ? binaryBlockToFilePart(block) : { kind: `agui:${block.name.slice(0, 64)}` }
  })
}

function binaryBlockToFilePart({ mimeType, url, data, filename }: BinaryBlock): Part {
  const facts = { mime: mimeType, ...(filename ? { name: filename } : {}) }
  if (data) return inlineDataFilePart(data, facts)
  if (!url) throw new UnparsableEventError('attachment_without_url')
  const parsed = bytesRefSchema.safeParse({ kind: 'url', url })
  if (!parsed.success) throw new UnparsableEventError('attachment_url_must_be_https')
  return { kind: 'file', bytes_ref: parsed.data, ...facts }
}

function inlineDataFilePart(data: string, facts: { readonly mime: string; readonly name?: string }): Part {
  const parsed = bytesRefSchema.safeParse({ kind: 'inline', data_base64: data })
  if (!parsed.success) throw new UnparsableEventError('attachment_not_base64_or_too_large')
  return { kind: 'file', bytes_ref: parsed.data, ...facts }
}

// GET /api/v1/agent/history: what was said in a thread of the caller's own, with fresh URLs.

import * as z from 'zod'
import { approvalCode } from '../agents/approvals/approval-messages.ts'
import type { Envelope } from '../contract/gateway-events.ts'
import { callerChosenIdSchema, isKnownPart, type KnownPart, type Part } from '../contract/index.ts'
import type { ThreadLine, ThreadWait } from '../db/threads.ts'
import { readThread } from '../db/threads.ts'
import type { AttachmentDescriptor } from '../files/attachment.ts'
import { GatewayError } from '../lib/errors.ts'
import { toHistoricalMessage } from '../sessions/transcript.ts'
import type { ApiCaller } from './api-callers.ts'
import { isServedToCaller } from './attachments.ts'
import type { AppDeps } from './deps.ts'
import { getApiCaller } from './identify-caller.ts'
import { type Answerable, defineOperation, defineResource, fieldsSchema, wholeNumberSchema } from './resource.ts'

const maxLines = 200
const callerNameSchema = callerChosenIdSchema()

const anyJson = z.json() as unknown as z.ZodType<unknown>

const policySchema = z
  .looseObject({
    kind: z.string(),
    state: z.enum(['pending', 'approved', 'rejected', 'expired', 'withdrawn', 'completed']).optional(),
    decided_by: z.string().optional(),
    decided_at: z.string().optional(),
  })
  .meta({ id: 'AskedPolicy', description: 'A question of the agent, and how it stands now' })

const linkSchema = z
  .object({
    url: z.string(),
    title: z.string().optional(),
    description: z.string().optional(),
    mime: z.string().optional(),
  })
  .meta({ description: 'What the text, an address, leads to' })

const toolCallSchema = z
  .object({
    id: z.string(),
    name: z.string(),
    args: anyJson.optional(),
    success: z.boolean().optional().meta({ description: 'Absent while there is no result' }),
    result: anyJson.optional(),
    error: z.string().optional(),
  })
  .meta({ id: 'HistoryToolCall', description: 'A call of the run, as its transcript keeps it' })

const contentPartSchema = z.union([
  z.object({
    type: z.literal('text'),
    text: z.string(),
    link: linkSchema.optional(),
    policy: policySchema.optional(),
  }),
  z.object({ type: z.literal('binary'), mimeType: z.string(), url: z.string() }),
  // One file that cannot be had fails nothing but itself.
  z.object({ type: z.literal('binary'), mimeType: z.string(), unavailable: z.literal(true), reason: z.string() }),
])

const historyMessageSchema = z
  .object({
    id: z.string(),
    role: z.string(),
    content: z.array(contentPartSchema),
    toolCalls: z.array(toolCallSchema).optional(),
  })
  .meta({ id: 'HistoryMessage' })

const historyLineSchema = z
  .object({
    id: z.string(),
    seq: z.number().int(),
    role: z.string(),
    content: z.string(),
    metadata: fieldsSchema,
    timestamp: z.string().nullable(),
    policies: z.array(policySchema).optional(),
    toolCalls: z.array(toolCallSchema).optional(),
  })
  .meta({ id: 'HistoryLine', description: 'With format=metadata' })

const historySchema = z.object({ messages: z.array(z.union([historyMessageSchema, historyLineSchema])) })
export type HistoryMessage = z.infer<typeof historyMessageSchema>
export type HistoryLine = z.infer<typeof historyLineSchema>

export const history = defineResource({
  name: 'history',
  tag: 'Talking to agents',
  audience: 'caller',
  operations: {
    get: defineOperation({
      method: 'get',
      path: '/api/v1/agent/history',
      id: 'getHistory',
      summary: 'What was said in a thread of your own',
      query: z.object({
        threadId: callerNameSchema.meta({ description: 'As it was given to the run route' }),
        before: callerNameSchema.optional().meta({ description: 'The id of a message: only what was said before it' }),
        limit: wholeNumberSchema(1, maxLines).default(50),
        format: z
          .enum(['parts', 'metadata'])
          .default('parts')
          .meta({ description: 'metadata: text and metadata, without URLs' }),
      }),
      returns:
        'The last lines, oldest first; every file under a URL made for this answer, every question with its state',
      output: historySchema,
      example: { messages: [{ id: 'm1', role: 'user', content: [{ type: 'text', text: 'hello' }] }] },
      problems: [403, 404],
      async handle({ deps, context, query: { threadId, before = null, limit, format } }) {
        const caller = getApiCaller(context)
        const lines = await readThread(deps.db, {
          connection: caller.at.key,
          agents: deps.agents.map(({ slug }) => slug),
          subject: caller.subject,
          threadId,
          before,
          limit,
        })
        if (lines === undefined)
          throw new GatewayError('not_found', 'no such thread of yours; give the threadId you talked to the agent with')
        const messages =
          format === 'metadata' ? toLinesWithMetadata(lines) : await messagesWithParts(deps.files, caller, lines)
        context.header('cache-control', 'private, no-store')
        return { messages }
      },
    }),
  },
})

// Every file of a line is under a URL made for this answer. What is more than the contract's two kinds of parts stands beside a
// text that says the same.

type Files = AppDeps['files']
type FilePart = Extract<KnownPart, { kind: 'file' | 'artifact' }>

type ContentPart = Answerable<z.infer<typeof contentPartSchema>>
/** As the agent wrote it, and beside it how the question stands. */
type Policy = Answerable<z.infer<typeof policySchema>>
type ToolCall = Answerable<z.infer<typeof toolCallSchema>>

async function messagesWithParts(
  files: Files,
  caller: ApiCaller,
  lines: readonly ThreadLine[],
): Promise<Answerable<readonly HistoryMessage[]>> {
  const turns = lines.flatMap((line) => {
    const turn = toHistoricalMessage(line.envelope)
    return turn === undefined ? [] : [{ ...turn, id: threadLineId(line), line }]
  })
  const wanted = turns.flatMap(({ parts }) => parts.filter(isFileOrArtifact))
  const found = await files.service.find(wanted.flatMap(({ attachment }) => attachment?.id ?? []))
  const known = new Map(found.map((each) => [each.id, each]))
  return Promise.all(
    turns.map(async ({ id, role, parts, line }) => {
      const fileContext = { files, caller, known, waits: line.waits ?? [] }
      const content = await Promise.all(parts.map((part) => toContentParts(fileContext, part)))
      return { id, role, content: content.flat(), ...toToolCalls(line, parts) }
    }),
  )
}

type FileContext = {
  readonly files: Files
  readonly caller: ApiCaller
  readonly known: ReadonlyMap<string, AttachmentDescriptor>
  readonly waits: readonly ThreadWait[]
}

async function toContentParts(fileContext: FileContext, part: Part): Promise<readonly ContentPart[]> {
  if (!isKnownPart(part)) return []
  switch (part.kind) {
    case 'text': {
      // A function asks in words of its own: the command that decides stands in them.
      const asked = fileContext.waits.find(({ id }) => part.content.includes(`/approve ${approvalCode(id)}`))
      const policy = asked && { kind: 'approval_required', message: part.content, action_id: asked.id }
      return [
        { type: 'text', text: part.content, ...(policy && { policy: policyWithWaitState(policy, fileContext.waits) }) },
      ]
    }
    case 'link': {
      const { kind: _kind, ...link } = part
      return [{ type: 'text', text: part.url, link }]
    }
    case 'file':
    case 'artifact':
      return [await fileContentPart(fileContext, part)]
    case 'policy':
      return [{ type: 'text', text: part.policy.message, policy: policyWithWaitState(part.policy, fileContext.waits) }]
    case 'tool_call':
      return []
    default:
      return part satisfies never
  }
}

function policyWithWaitState(
  policy: Extract<KnownPart, { kind: 'policy' }>['policy'],
  waits: readonly ThreadWait[],
): Policy {
  const wait = waits.find(({ id }) => id === policy['action_id'] || id === policy['request_id'])
  if (wait === undefined) return policy
  const { state, decidedBy, decidedAt } = wait
  return {
    ...policy,
    state,
    ...(decidedBy === null ? {} : { decided_by: decidedBy }),
    ...(decidedAt === null ? {} : { decided_at: decidedAt }),
  }
}

/** What a model called stands in lines of its own, what a function tells of in parts of its reply; one call is told once. */
function toToolCalls({ tools }: ThreadLine, parts: readonly Part[]): { readonly toolCalls?: readonly ToolCall[] } {
  const calls = new Map<string, ToolCall>()
  for (const part of parts) {
    if (!isKnownPart(part) || part.kind !== 'tool_call') continue
    const { id, name, args, result, error } = part
    const ended = error === undefined ? { success: true, result } : { success: false, error: error.message }
    calls.set(id, { id, name, args, ...(error === undefined && result === undefined ? {} : ended) })
  }
  for (const { type, payload, metadata } of tools ?? []) {
    const id = String(metadata['tool_call_id'] ?? '')
    const call = { ...calls.get(id), id, name: String(metadata['declared_name'] ?? payload['tool_name'] ?? '') }
    calls.set(
      id,
      type === 'tool_call' ? { ...call, args: payload['parameters'] } : { ...call, ...readToolCallResult(payload) },
    )
  }
  return calls.size === 0 ? {} : { toolCalls: [...calls.values()] }
}

function readToolCallResult({
  success,
  result,
  error,
}: Envelope['payload']): Pick<ToolCall, 'success' | 'result' | 'error'> {
  if (success === true) return { success, result: result ?? null }
  return { success: false, ...(typeof error === 'string' ? { error } : {}) }
}

async function fileContentPart({ files, caller, known }: FileContext, part: FilePart): Promise<ContentPart> {
  const descriptor = known.get(part.attachment?.id ?? '') ?? (await findLegacyAttachment(files, caller, part))
  const mimeType = descriptor?.mimeType ?? part.mime ?? 'application/octet-stream'
  const unavailableFile = (reason: string): ContentPart => ({ type: 'binary', mimeType, unavailable: true, reason })
  if (descriptor === undefined || descriptor.status === 'deleted') return unavailableFile('gone')
  if (!isServedToCaller(descriptor, caller)) return unavailableFile('not_available')
  try {
    // One byte: a URL to an object that is not there any more would be a promise that breaks later.
    const probe = await files.service.open(descriptor, { start: 0, end: 0 })
    if (probe === undefined) return unavailableFile('gone')
    await probe.cancel()
    const { url } = await files.service.handle(descriptor, { principal: descriptor.owner.principal, kind: 'person' })
    return { type: 'binary', mimeType, url }
  } catch {
    return unavailableFile('not_available')
  }
}

/** A line of the older format, which names one object and no ids: found by its place, if it is theirs. */
async function findLegacyAttachment(
  files: Files,
  caller: ApiCaller,
  { bytes_ref: ref }: FilePart,
): Promise<AttachmentDescriptor | undefined> {
  const { bucket, path } = ref.kind === 'channel' ? ref.ref : {}
  if (typeof bucket !== 'string' || typeof path !== 'string') return undefined
  return (await files.byAddress(bucket, path)).find((each) => isServedToCaller(each, caller))
}

/** The later revision: text and metadata; a caller that wants a file asks for its URL by bucket and path. */
function toLinesWithMetadata(lines: readonly ThreadLine[]): Answerable<readonly HistoryLine[]> {
  return lines.map((line) => {
    const { envelope, seq } = line
    // Who spoke and how that was proven stays in the store.
    const { sender: _sender, handle: _handle, ...metadata } = envelope.metadata
    const content = typeof envelope.content === 'string' ? envelope.content : JSON.stringify(envelope.content)
    const parts = toHistoricalMessage(envelope)?.parts ?? []
    const policies = parts.flatMap((part) =>
      isKnownPart(part) && part.kind === 'policy' ? [policyWithWaitState(part.policy, line.waits ?? [])] : [],
    )
    return {
      id: threadLineId(line),
      seq,
      role: envelope.role,
      content,
      metadata,
      timestamp: envelope.created_at ?? null,
      ...(policies.length === 0 ? {} : { policies }),
      ...toToolCalls(line, parts),
    }
  })
}

function threadLineId({ envelope, sessionId, seq }: ThreadLine): string {
  const id = envelope.metadata['message_id']
  return typeof id === 'string' ? id : `${sessionId}-${seq}`
}

function isFileOrArtifact(part: Part): part is FilePart {
  return isKnownPart(part) && (part.kind === 'file' || part.kind === 'artifact')
}

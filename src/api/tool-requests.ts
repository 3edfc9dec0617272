// Tool requests: what a client is asked to run, and its answer.

import * as z from 'zod'
import { toCancelledAnswer, toSubmittedAnswer } from '../agents/client-tools.ts'
import {
  answerToolRequest,
  getToolRequest,
  listToolRequests,
  type ToolAnswer,
  toolRequestStatuses,
} from '../db/tool-requests.ts'
import { GatewayError } from '../lib/errors.ts'
import { auditCallerAction, deciderFromCaller } from './admin-access.ts'
import { exampleId, formatFieldRows, type ResourceCommands } from './command.ts'
import {
  createNextPageMark,
  defineOperation,
  defineResource,
  idPageQuerySchema,
  instantSchema,
  jsonObjectSchema,
  nextId,
  type OperationRequest,
} from './resource.ts'

const requestSchema = z
  .object({
    id: z.uuid(),
    request_id: z.string(),
    status: z.enum(toolRequestStatuses),
    tool_name: z.string(),
    tool_call_id: z.string(),
    request: jsonObjectSchema,
    agent: z.string(),
    owner: z.string(),
    run_id: z.string(),
    session_id: z.string(),
    conversation_id: z.string(),
    created_at: instantSchema,
    timeout_at: instantSchema.nullable(),
    resolved_at: instantSchema.nullable(),
    resolver: z.string().nullable(),
    cancelled: z.boolean(),
    result: jsonObjectSchema.nullable(),
  })
  .meta({ id: 'ToolRequest', description: 'A tool that a client runs, and its result' })
export type ToolRequest = z.infer<typeof requestSchema>

const answeredSchema = z.object({
  request: requestSchema,
  duplicate: z.boolean().meta({ description: 'It was over before; what it came to then stays' }),
})

/** Its id, or the request id the client was told. */
const eitherId = {
  id: z
    .string()
    .regex(/^[0-9a-f-]{36}$|^runtime-tool-[0-9a-f]{64}$/, 'must be a UUID or a request id, as the lists show them')
    .meta({ description: 'Its id or its request_id' }),
}

const resultSchema = z.json()
const metadataSchema = z.record(z.string(), z.json()).optional()

type AnyRequest = Pick<OperationRequest<'/:id', typeof eitherId>, 'deps' | 'context' | 'base' | 'params'>

const getToolRequestDecider = ({ deps, context }: Pick<OperationRequest, 'deps' | 'context'>) =>
  deciderFromCaller(context, deps.gateway.db.tenant)

async function answerPendingToolRequest(request: AnyRequest, given: ToolAnswer) {
  const { deps, context, base, params } = request
  const { scope, name } = getToolRequestDecider(request)
  const answered = await answerToolRequest(deps.gateway.db, scope, params.id, given, name)
  if (answered.kind === 'refused') {
    const attempt = { action: 'tool_request.answer', outcome: 'refused', objectId: params.id }
    await auditCallerAction(deps, context, { ...attempt, code: answered.reason })
    if (answered.reason === 'not_found') throw toolRequestNotFoundError(base)
    throw new GatewayError('conflict', 'this request is not pending any more: its time is up, and the run went on')
  }
  deps.wake()
  return { request: answered.request, duplicate: answered.isDuplicate }
}

function toolRequestNotFoundError(base: string): GatewayError {
  return new GatewayError('not_found', `no such request; list them with GET ${base}/tool-requests`)
}

const cancelFacts = {
  summary: 'Says that the tool will not be run',
  scopes: ['admin', 'own'],
  params: eitherId,
  returns: 'The request as it is now',
  output: answeredSchema,
  problems: [404, 409],
  handle: (request: AnyRequest) => answerPendingToolRequest(request, toCancelledAnswer()),
} as const

export const toolRequests = defineResource({
  name: 'tool-requests',
  tag: 'What is yours',
  audience: 'owner',
  operations: {
    list: defineOperation({
      method: 'get',
      path: '/tool-requests',
      id: 'ListToolRequests',
      summary: 'Lists requests for tools that a client runs',
      scopes: ['admin', 'own'],
      query: idPageQuerySchema().extend({
        status: z.enum(toolRequestStatuses).optional().meta({ description: 'What became of them' }),
      }),
      returns: 'A page of requests',
      output: z.object({ requests: z.array(requestSchema), next: nextId }),
      async handle(request) {
        const { limit, before = null, status = null } = request.query
        const { db } = request.deps.gateway
        const found = await listToolRequests(db, getToolRequestDecider(request).scope, { limit, before, status })
        return { requests: found, next: createNextPageMark(found, limit, (each) => each.id) }
      },
    }),
    get: defineOperation({
      method: 'get',
      path: '/tool-requests/:id',
      id: 'GetToolRequest',
      summary: 'Shows a request with its parameters',
      scopes: ['admin', 'own'],
      params: eitherId,
      returns: 'The request',
      output: z.object({ request: requestSchema, parameters: jsonObjectSchema }),
      problems: [404],
      async handle(request) {
        const { deps, base, params } = request
        const found = await getToolRequest(deps.gateway.db, getToolRequestDecider(request).scope, params.id)
        if (found === undefined) throw toolRequestNotFoundError(base)
        return { request: found.request, parameters: found.parameters }
      },
    }),
    submit: defineOperation({
      method: 'post',
      path: '/tool-requests/:id/submit',
      id: 'SubmitToolResult',
      summary: 'Hands in what the tool came to',
      scopes: ['admin', 'own'],
      params: eitherId,
      body: {
        schema: z.union([
          z.strictObject({ result: resultSchema, metadata: metadataSchema }),
          z.strictObject({ error: z.string().trim().min(1).max(2000), metadata: metadataSchema }),
        ]),
        maxBytes: 256 * 1024,
        remedy: 'send {"result": …} or {"error": "…"} as JSON',
        example: { result: { temperature: 21 } },
      },
      returns: 'The request as it is now',
      output: answeredSchema,
      problems: [404, 409],
      handle: (request) => answerPendingToolRequest(request, toSubmittedAnswer(request.body)),
    }),
    abandon: defineOperation({
      ...cancelFacts,
      method: 'post',
      path: '/tool-requests/:id/cancel',
      id: 'CancelToolRequest',
    }),
    cancel: defineOperation({ ...cancelFacts, method: 'delete', path: '/tool-requests/:id', id: 'DeleteToolRequest' }),
  },
})

const requestWord = { id: 'Id or request id, as the list shows it' }

export const toolRequestsCommands = () =>
  ({
    description: 'Tools that a client outside the gateway runs.',
    examples: ['parley tool-requests list', `parley tool-requests submit ${exampleId} --result '{"ok":true}'`],
    commands: {
      list: {
        name: 'list',
        description: 'List calls of tools that run elsewhere, newest first.',
        examples: ['parley tool-requests list', 'parley tool-requests list --status completed --json'],
        flags: {
          status: {
            options: ['pending', 'completed', 'timeout', 'all'],
            default: 'pending',
            parse: (word) => (word === 'all' ? undefined : `runtime_tool_${word}`),
          },
        },
        rows: 'requests',
        columns: {
          ID: 'id',
          STATUS: ({ status }) => status.replace('runtime_tool_', ''),
          TOOL: 'tool_name',
          AGENT: 'agent',
          FOR: 'owner',
          TIMEOUT: 'timeout_at',
        },
        empty: 'Nothing there.',
      },
      get: {
        name: 'show',
        description: 'Show one call with its parameters, as the client that runs it needs them.',
        examples: [`parley tool-requests show ${exampleId}`],
        about: requestWord,
        text: ({ request, parameters }) => formatFieldRows({ ...request, parameters }),
      },
      submit: {
        name: 'submit',
        description: 'Answer a call with what the tool came to; the run goes on.',
        examples: [
          `parley tool-requests submit ${exampleId} --result '{"opened":true}'`,
          `parley tool-requests submit ${exampleId} --error "the window was closed"`,
        ],
        about: requestWord,
        flags: {
          result: { as: 'json', description: 'What it came to', valueHint: 'json' },
          error: { description: 'Why it failed, in words for the model', valueHint: 'text' },
          metadata: false,
        },
        text: ({ duplicate }) =>
          duplicate ? 'It was answered before; the first answer stays.' : 'Answered; the run goes on.',
      },
      cancel: {
        name: 'cancel',
        description: 'End the wait without an answer; the agent is told.',
        examples: [`parley tool-requests cancel ${exampleId}`],
        about: requestWord,
        text: ({ duplicate }) => (duplicate ? 'It was over before; nothing changed.' : 'Cancelled; the agent is told.'),
      },
    },
  }) as const satisfies ResourceCommands<typeof toolRequests>

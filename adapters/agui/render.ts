// Renders a reply into the last event of its run, and the request that watches it gets it as JSON. Pure.

import {
  type Adapter,
  isKnownPart,
  type NormalizedResponse,
  type Part,
  type TransportAnswer,
  textPart,
  type WatchResult,
} from '../../src/contract/index.ts'
import type { JsonObject } from '../../src/lib/index.ts'
import { plainText, safeMarkdown } from '../../src/markdown/index.ts'
import type { AguiCall, Interrupt } from './wire.ts'

type Problem = { readonly status: number; readonly message: string; readonly remedy: string }

/** Refusals by reason; what is not listed is forbidden. */
const refusals: Readonly<Record<string, Problem>> = {
  conversation_busy: {
    status: 409,
    message: 'another run is active on this thread',
    remedy: 'wait for its answer, or use another threadId',
  },
  id_taken: {
    status: 409,
    message: 'this runId was used for something else',
    remedy: 'send it with a new runId',
  },
  task_over: { status: 409, message: 'this was decided before', remedy: 'read the answer of the run that went on' },
  stale: { status: 409, message: 'this run is too old to be taken', remedy: 'send it again with a new runId' },
}
/** A token without the right is not told why; the operator can look it up. */
const forbidden: Problem = {
  status: 403,
  message: 'this run was refused',
  remedy: 'the operator of the gateway sees why with: parley explain, and the runId',
}
const ended: Readonly<Record<string, Problem>> = {
  refused: forbidden,
  dead: {
    status: 500,
    message: 'this run failed',
    remedy: 'see the log of the gateway, then send it with a new runId',
  },
}

export function renderAgui(
  reply: NormalizedResponse,
): readonly { readonly call: AguiCall; readonly primary: boolean }[] {
  return [{ call: { event: { type: 'done', response: responseToJson(reply) } }, primary: true }]
}

const pending = runJsonAnswer(202, { status: 'pending' })

/** What the open request is told: the answer, why there is none, or that it is still being worked on. */
export const renderRunAnswer: NonNullable<Adapter['acknowledge']> = (acceptances, result, others = []) => {
  const acceptance = acceptances[0]
  if (acceptance?.kind === 'refused')
    return runProblemAnswer(acceptance.reason, refusals[acceptance.reason] ?? forbidden)
  if (acceptance?.kind === 'stale') return runProblemAnswer('stale', refusals['stale'] ?? forbidden)
  if (result?.kind === 'answered') {
    if (others.some((each) => each.kind === 'pending')) return pending
    return runJsonAnswer(
      200,
      answerBody(
        result,
        others.filter((each) => each.kind === 'answered'),
      ),
    )
  }
  if (result?.kind === 'held') return heldRunAnswer(result)
  if (result?.kind !== 'ended') return pending
  if (result.reason === 'task_cancelled') return runJsonAnswer(200, { status: 'cancelled', code: result.reason })
  const end = ended[result.state]
  return end === undefined
    ? runJsonAnswer(200, { status: result.state, code: result.reason })
    : runProblemAnswer(result.reason, end)
}

/** Not refused: the run is kept. The same run asked for again waits for its answer once its sender is let in. */
function heldRunAnswer({ response, reason }: Extract<WatchResult, { kind: 'held' }>): TransportAnswer {
  if (response === null) return runJsonAnswer(202, { status: reason })
  const messages = [{ role: 'assistant', content: responseToText(response) }]
  return runJsonAnswer(202, { threadId: response.thread_id, status: reason, messages })
}

type Answered = Extract<WatchResult, { kind: 'answered' }>

/** Several runs that one resume set going: the words of each, and of their replies one that still waits, else the last. */
function answerBody({ response, runId }: Answered, others: readonly Answered[]): JsonObject {
  const replies = [response, ...others.map((each) => each.response)]
  const reply = replies.find(isAwaitingInput) ?? replies.at(-1) ?? response
  const interrupts = replies.filter(isAwaitingInput).flatMap(listInterrupts)
  return {
    threadId: reply.thread_id,
    runId,
    status: isAwaitingInput(reply) ? 'input_required' : reply.status,
    messages: replies.map((each) => ({ role: 'assistant', content: responseToText(each) })),
    ...(interrupts.length === 0 ? {} : { interrupts }),
    response: responseToJson(responseForClient(reply)),
    ...(reply.client?.state === undefined ? {} : { state: reply.client.state }),
    ...(reply.client?.tools === undefined ? {} : { clientTools: { ...reply.client.tools } }),
  }
}

function isAwaitingInput({ status, asks }: NormalizedResponse): boolean {
  return status === 'input_required' || asks !== undefined
}

/** The agent's own words, for programs that read them: Markdown stays as it was written unless it leads where no reader should be sent. */
export function responseToText(response: NormalizedResponse): string {
  const parts = response.parts.map((part) =>
    isKnownPart(part) && part.kind === 'text' && part.mime === 'text/markdown'
      ? textPart(safeMarkdown(part.content))
      : part,
  )
  return plainText({ ...response, parts })
}

function runProblemAnswer(code: string, { status, message, remedy }: Problem): TransportAnswer {
  return runJsonAnswer(status, { error: { code, message, remedy } })
}

function runJsonAnswer(status: number, body: JsonObject): TransportAnswer {
  return { status, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
}

/** A reply has passed its schema, so it is JSON; the round trip drops the fields that are merely undefined. */
function responseToJson(response: NormalizedResponse): JsonObject {
  return JSON.parse(JSON.stringify(response))
}

/** What it says to the client's program stands beside it. */
function responseForClient({ client: _told, ...response }: NormalizedResponse): NormalizedResponse {
  return { ...response, parts: response.parts.map(restoreCallersToolName) }
}

function restoreCallersToolName(part: Part): Part {
  if (!isKnownPart(part) || part.kind !== 'policy' || part.policy.kind !== 'runtime_tool_pending') return part
  const { declared_name: _own, ...policy } = part.policy
  return { kind: 'policy', policy: { ...policy, tool_name: callerToolName(part.policy) } }
}

/** A tool that the client runs is called what the client calls it; an agent that asks by itself may know it by our name alone. */
export function callerToolName({ declared_name, tool_name }: { readonly [key: string]: unknown }): string {
  if (typeof declared_name === 'string' && declared_name !== '') return declared_name
  return typeof tool_name === 'string' ? tool_name.replace(/^client\//, '') : ''
}

/** What stands in the way of a run, of what its reply asks. What a client itself has to run is no interrupt. */
export function listInterrupts({ parts, asks = [] }: Pick<NormalizedResponse, 'parts' | 'asks'>): readonly Interrupt[] {
  const inParts = parts.flatMap((part) => {
    if (!isKnownPart(part) || part.kind !== 'policy' || part.policy.kind === 'runtime_tool_pending') return []
    return [policyInterrupt(part.policy as JsonObject)]
  })
  const inWords = asks.map(({ action_id, message, expires_at }) =>
    confirmationInterrupt({ id: action_id, message, ...(expires_at === null ? {} : { expiresAt: expires_at }) }),
  )
  return [...inParts, ...inWords]
}

function policyInterrupt(policy: JsonObject): Interrupt {
  const id =
    stringFieldOrEmpty(policy, 'action_id') || stringFieldOrEmpty(policy, 'state') || stringFieldOrEmpty(policy, 'kind')
  const toolCallId = stringFieldOrEmpty(policy, 'tool_call_id')
  const expiresAt = stringFieldOrEmpty(policy, 'expires_at')
  const facts = {
    id,
    message: stringFieldOrEmpty(policy, 'message'),
    ...(toolCallId === '' ? {} : { toolCallId }),
    ...(expiresAt === '' ? {} : { expiresAt }),
  }
  return policy['kind'] === 'approval_required' ? confirmationInterrupt(facts) : { ...facts, reason: 'input_required' }
}

/** A yes or a no is asked for. */
export function confirmationInterrupt(facts: Omit<Interrupt, 'reason' | 'responseSchema'>): Interrupt {
  return { ...facts, reason: 'confirmation', responseSchema: decisionSchema }
}

const decisionSchema: JsonObject = {
  type: 'object',
  properties: { approved: { type: 'boolean' }, reason: { type: 'string' } },
  required: ['approved'],
}

export function stringFieldOrEmpty(fields: Readonly<Record<string, unknown>>, key: string): string {
  const value = fields[key]
  return typeof value === 'string' ? value : ''
}

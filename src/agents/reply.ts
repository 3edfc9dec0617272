// Replies of an agent: what it returned, as a NormalizedResponse (undefined: it chose to say nothing), and the texts for runs that
// ended otherwise.

import { type CommandForm, writeCommand } from '../contract/capabilities.ts'
import {
  type AgentReply,
  isKnownPart,
  maxTextLength,
  type NormalizedResponse,
  type Part,
  textPart,
} from '../contract/index.ts'
import { agentResponseSchema } from '../contract/response.ts'
import { GatewayError } from '../lib/errors.ts'
import { isPlainObject } from '../lib/index.ts'
import { joinSentences, type Sentence, say } from '../locales/say.ts'
import { questionPart } from './approvals/approval-messages.ts'
import type { PendingAction } from './approvals/pending-action.ts'
import type { ConversationResult, OutcomeStatus } from './loop/conversation-result.ts'
import type { StopCause } from './loop/interrupts.ts'
import { type EffectAccount, nothingDone } from './steps.ts'

export type ReplyFacts = { readonly threadId: string; readonly inReplyTo: string; readonly agent: string }

export function normalizeAgentReply(reply: AgentReply, facts: ReplyFacts): NormalizedResponse | undefined {
  if (reply === undefined) return undefined
  const about = { thread_id: facts.threadId, in_reply_to: facts.inReplyTo, agent: facts.agent }
  if (typeof reply === 'string') {
    // The reply is ours; of plain text nothing but its length can be wrong.
    refuseTooLongText(reply.length, facts.agent)
    return reply.trim() === '' ? undefined : { ...about, parts: [textPart(reply)], status: 'completed' }
  }
  requireValidReplyShape(reply, facts.agent)
  const parsed = agentResponseSchema.safeParse({ parts: [], ...about, status: 'completed', ...reply })
  if (!parsed.success) {
    const path = parsed.error.issues[0]?.path.join('.') ?? ''
    throw new GatewayError(
      'reply_invalid',
      `[agent] ${facts.agent} returned no valid reply (at ${path}); return text or { parts }`,
    )
  }
  return isBlankReply(parsed.data) ? undefined : { ...parsed.data, parts: mergeToolCallParts(parsed.data.parts) }
}

/** A tool call that is shown again, now with its result, is the same call: it stands once, where it was shown first. */
function mergeToolCallParts(parts: readonly Part[]): Part[] {
  const merged: Part[] = []
  const places = new Map<string, number>()
  for (const part of parts) {
    const id = isKnownPart(part) && part.kind === 'tool_call' ? part.id : undefined
    const place = id === undefined ? undefined : places.get(id)
    if (place !== undefined) merged[place] = { ...merged[place], ...part }
    else if (id !== undefined) places.set(id, merged.push(part) - 1)
    else merged.push(part)
  }
  return merged
}

/** A mistake of the agent's own that would be made again: said at once, and never taken for silence. */
function requireValidReplyShape(given: unknown, agent: string): void {
  const isReply = typeof given === 'object' && given !== null && ('parts' in given || 'status' in given)
  if (!isReply) {
    const what = given === null ? 'null' : typeof given
    const remedy = 'return text or { parts }, or undefined to say nothing'
    throw new GatewayError('reply_invalid', `[agent] ${agent} returned no reply but ${what}; ${remedy}`)
  }
  const parts: readonly unknown[] = 'parts' in given && Array.isArray(given.parts) ? given.parts : []
  let length = 0
  for (const part of parts) {
    const content = typeof part === 'object' && part !== null && 'content' in part ? part.content : undefined
    if (typeof content === 'string') length = Math.max(length, content.length)
  }
  refuseTooLongText(length, agent)
}

function refuseTooLongText(length: number, agent: string): void {
  if (length <= maxTextLength) return
  const limit = `a text of ${length} characters, and at most ${maxTextLength} can be sent; shorten it, or attach a file`
  throw new GatewayError('reply_too_long', `[agent] ${agent} returned ${limit}`, { details: { length } })
}

/** What a person is told when a turn died. It names no internals; `parley explain` shows the whole timeline by the reference. */
export function apologyReply(
  facts: ReplyFacts,
  reason: string,
  reference: string,
  account: EffectAccount = nothingDone,
): NormalizedResponse {
  const text = say('run.referred', { text: apologyText(reason, account), reference })
  return {
    thread_id: facts.threadId,
    in_reply_to: facts.inReplyTo,
    agent: facts.agent,
    parts: [textPart(text)],
    status: 'failed',
    error: { code: reason, message: text, retryable: false },
  }
}

function apologyText(reason: string, { done, unknown }: EffectAccount): Sentence {
  const effects = [
    ...(done.length === 0 ? [] : [say('run.effects_done', { list: done.join(', ') })]),
    ...(unknown.length === 0 ? [] : [say('run.effects_unknown', { list: unknown.join(', ') })]),
  ]
  if (reason === 'reply_too_long')
    return joinSentences([say('reply.too_long'), ...effects, say('reply.ask_for_part')], ' ')
  if (effects.length > 0)
    return say(unknown.length === 0 ? 'run.died_after_effects' : 'run.died_effects_unknown', {
      effects: effects.join(' '),
    })
  return say(reason === 'tool_outcome_unknown' ? 'run.died_while_acting' : 'run.died')
}

function isBlankReply(reply: NormalizedResponse): boolean {
  return (
    reply.status === 'completed' &&
    reply.parts.every((part) => part.kind === 'text' && String(part['content']).trim() === '')
  )
}

// For every way a run can end there is a safe text and a next step for the person in the chat. Details are the operator's.

type Told = Pick<NormalizedResponse, 'parts' | 'status'> & Partial<Pick<NormalizedResponse, 'error' | 'usage'>>

/** `cause`: why it was stopped, where a person stopped it. `form`: how commands are written where it is told. */
export function runResultToReply(
  result: ConversationResult,
  { cause, form }: { readonly cause?: StopCause | undefined; readonly form?: CommandForm | undefined } = {},
): Told | undefined {
  const { retryable } = result.run_outcome
  const status = toCancelledWhenStopped(result.run_outcome.status, cause)
  const said = result.final_content.trim()
  const usage = replyUsage(result)
  if (status === 'completed')
    return said === ''
      ? undefined
      : { parts: [textPart(result.final_content, 'text/markdown')], status: 'completed', usage }
  const question = status === 'approval_required' ? approvalQuestionPart(result, form) : clientToolPart(result)
  const note = question?.policy.message ?? notes[status](result, form)
  const last = question ?? textPart(note)
  const parts = said === '' ? [last] : [textPart(result.final_content, 'text/markdown'), last]
  return { parts, status: responseStatus[status], error: { code: status, message: note, retryable }, usage }
}

/** The reply of a run that an agent it asked has stopped for. */
export function approvalQuestionReply(action: PendingAction, form: CommandForm | undefined): Told {
  const question = questionPart(action, form)
  const error = { code: 'approval_required', message: String(question.policy.message), retryable: false }
  return { parts: [question], status: responseStatus.approval_required, error }
}

/** What a person stopped is cancelled; the loop itself knows interrupts only. */
function toCancelledWhenStopped(status: OutcomeStatus, cause: StopCause | undefined): OutcomeStatus {
  return status === 'interrupted' && cause === 'stop' ? 'cancelled' : status
}

/** The same for a run that was no loop's. */
export function stoppedReply(cause: StopCause): Told {
  const status = cause === 'stop' ? 'cancelled' : 'interrupted'
  const note = say(stoppedKeys[status])
  return { parts: [textPart(note)], status: 'cancelled', error: { code: status, message: note, retryable: false } }
}

const stoppedKeys = { cancelled: 'run.stopped', interrupted: 'run.stopped_by_message' } as const

const responseStatus: Readonly<Record<Exclude<OutcomeStatus, 'completed'>, NormalizedResponse['status']>> = {
  failed: 'failed',
  runtime_tool_pending: 'input_required',
  approval_required: 'input_required',
  budget_exceeded: 'failed',
  stalled: 'failed',
  cancelled: 'cancelled',
  interrupted: 'cancelled',
  contention: 'failed',
  incomplete: 'failed',
}

const notes: Readonly<
  Record<Exclude<OutcomeStatus, 'completed'>, (result: ConversationResult, form?: CommandForm) => Sentence>
> = {
  failed: (result, form) => describeModelFailure(String(result.failure?.['type'] ?? ''), form),
  runtime_tool_pending: (_result, form) => say('tool.waits_or_stop', { command: writeCommand(form, 'stop') }),
  approval_required: () => say('approval.needed'),
  budget_exceeded: () => say('run.steps_spent'),
  stalled: () => say('run.stalled'),
  cancelled: () => say(stoppedKeys.cancelled),
  interrupted: () => say(stoppedKeys.interrupted),
  contention: () => say('run.busy'),
  incomplete: () => say('run.incomplete'),
}

/** The action as the transcript shows it: what it would be executed with is not in there. */
function approvalQuestionPart(
  { approval_required: line }: ConversationResult,
  form: CommandForm | undefined,
): ReturnType<typeof questionPart> | undefined {
  const payload = line?.['payload']
  return isPlainObject(payload) ? questionPart(payload as unknown as PendingAction, form) : undefined
}

/** The client that runs the tool finds its request here; other readers are told that it waits. */
function clientToolPart({
  runtime_tool_pending: request,
}: ConversationResult): ReturnType<typeof questionPart> | undefined {
  if (request === undefined) return undefined
  const message = say('tool.waits')
  const { request_id, tool_name, declared_name, tool_call_id, parameters, timeout_at } = request
  const own = declared_name === undefined ? {} : { declared_name }
  const asked = { request_id, tool_name, ...own, tool_call_id, parameters, timeout_at }
  return { kind: 'policy', policy: { kind: 'runtime_tool_pending', message, ...asked } }
}

function describeModelFailure(type: string, form: CommandForm | undefined): Sentence {
  switch (type) {
    case 'context_length':
      return say('model.conversation_too_long', { command: writeCommand(form, 'new') })
    // Why is for operators: the run's events and its log say it.
    case 'authentication':
    case 'quota':
    case 'not_found':
      return say('model.unavailable')
    case 'content_filter':
      return say('model.declined')
    case 'invalid_request':
      return say('model.refused')
    case 'structured_output_invalid_json':
    case 'structured_output_schema_mismatch':
      return say('model.wrong_form')
    default:
      return say('run.failed')
  }
}

function replyUsage({ usage }: ConversationResult): NonNullable<NormalizedResponse['usage']> {
  return { input_tokens: Number(usage['prompt_tokens'] ?? 0), output_tokens: Number(usage['completion_tokens'] ?? 0) }
}

// Approval messages: what a person is asked (what would happen, with what, until when, what to reply), and what they are told
// after they decided.

import { type CommandForm, writeCommand } from '../../contract/capabilities.ts'
import { isKnownPart, type KnownPart, type NormalizedResponse, type Part } from '../../contract/index.ts'
import type { ControlFacts } from '../../contract/response.ts'
import type { ActionLine, RefusedResolution, Resolution } from '../../db/pending-actions.ts'
import { GatewayError } from '../../lib/errors.ts'
import { isPlainObject } from '../../lib/index.ts'
import type { Json } from '../../lib/json-value.ts'
import { joinSentences, type Sentence, say } from '../../locales/say.ts'
import type { PendingAction } from './pending-action.ts'
import { describeApprovers } from './terms.ts'

const codeLength = 6
const maxValueLength = 200
const maxValues = 12

/** The end of an id is random; its beginning is the time, and the same for all of one hour. */
export function approvalCode(actionId: string): string {
  return actionId.slice(-codeLength)
}

/** `form`: how commands are written where it is asked. The same action gives the same words, whenever it is asked. */
export function questionText(action: Asked, form?: CommandForm): Sentence {
  const code = approvalCode(action.action_id)
  const reply = say('approval.how_to_reply', {
    approve: writeCommand(form, 'approve', code),
    reject: writeCommand(form, 'reject', code),
  })
  return joinSentences([...questionLines(action), [reply, ...expiryLines(action)].join(' ')])
}

/** The same for buttons to stand below: it says nothing about what to reply. */
function approvalQuestionForButtons(action: Asked): Sentence {
  return joinSentences([...questionLines(action), ...expiryLines(action)])
}

function questionLines(action: Asked): readonly string[] {
  return [approvalOpening(action), ...previewValueLines(action.preview), ...approverLines(action)]
}

/** An agent that another one asked is a stranger to the person: it is named, with the tool it wants to use. */
function approvalOpening({ summary, metadata }: Asked): Sentence {
  const agent = metadata?.['asked_by']
  const tool = metadata?.['tool_name']
  if (typeof agent !== 'string') return say('approval.asked', { summary })
  if (typeof tool !== 'string') return say('approval.asked_by_agent', { agent, summary })
  // A tool without words of its own is named once.
  if (summary === `run ${tool}`) return say('approval.asked_for_tool', { agent, tool })
  return say('approval.asked_for_tool_call', { agent, tool, summary })
}

function expiryLines({ created_at, expires_at }: Asked): readonly string[] {
  if (expires_at === null) return []
  return [say('approval.expires', { time: durationWords(Date.parse(expires_at) - Date.parse(created_at)) })]
}

/** How long, in the largest unit that says it: `30 minutes`, `2 hours`. */
function durationWords(ms: number): Sentence {
  const minutes = Math.max(1, Math.round(ms / 60_000))
  if (minutes < 120) return say('time.minutes', { count: minutes })
  if (minutes < 48 * 60) return say('time.hours', { count: Math.round(minutes / 60) })
  return say('time.days', { count: Math.round(minutes / 1440) })
}

/** A channel with buttons finds the facts and `question`, any other one the words. */
export function questionPart(action: PendingAction, form?: CommandForm): Extract<KnownPart, { kind: 'policy' }> {
  const { action_id, summary, expires_at } = action
  const choices = ['approve', 'reject']
  const words = { message: questionText(action, form), question: approvalQuestionForButtons(action) }
  const policy = { kind: 'approval_required', ...words, action_id, code: approvalCode(action_id) }
  return { kind: 'policy', policy: { ...policy, summary, expires_at, choices } }
}

/** The reply of a run that waits, with what it waits for as data: a function says its question in words only. */
export function addApprovalAsksToReply(reply: NormalizedResponse, actions: readonly Asked[]): NormalizedResponse {
  const inParts = new Set(
    reply.parts.flatMap((part) => (isKnownPart(part) && part.kind === 'policy' ? [part.policy['action_id']] : [])),
  )
  const asks = actions.flatMap((action) =>
    inParts.has(action.action_id)
      ? []
      : [{ action_id: action.action_id, message: questionText(action), expires_at: action.expires_at }],
  )
  return asks.length === 0 ? reply : { ...reply, asks }
}

type Asked = Pick<PendingAction, 'action_id' | 'summary' | 'preview' | 'created_at' | 'expires_at'> &
  Partial<Pick<PendingAction, 'metadata'>>

/** Who may decide, where it is not simply the person it is for. */
function approverLines({ metadata }: Asked): readonly string[] {
  const words = metadata?.['approvers']
  return typeof words === 'string' ? [say('approval.approvers', { who: words })] : []
}

/**
 * The reply as it reads once everything it asks is decided. Undefined: it asks for none of these actions. A function agent says
 * the question in words of its own reply, so these are looked for too.
 */
export function removeQuestions(
  reply: NormalizedResponse,
  actions: readonly Asked[],
  form?: CommandForm,
): { readonly asks: readonly string[]; readonly reply: NormalizedResponse } | undefined {
  const asks = new Set<string>()
  const parts = reply.parts.flatMap((part): readonly Part[] => {
    if (!isKnownPart(part)) return [part]
    const inPolicy = actions.find(({ action_id }) => part.kind === 'policy' && part.policy['action_id'] === action_id)
    if (inPolicy !== undefined) {
      asks.add(inPolicy.action_id)
      return []
    }
    if (part.kind !== 'text') return [part]
    const inWords = actions.filter((action) => part.content.includes(questionText(action, form)))
    if (inWords.length === 0) return [part]
    for (const { action_id } of inWords) asks.add(action_id)
    const content = inWords.reduce((text, action) => text.replace(questionText(action, form), ''), part.content).trim()
    return content === '' ? [] : [{ ...part, content }]
  })
  if (asks.size === 0) return undefined
  const { error: _asked, asks: _asks, ...rest } = reply
  // Calls that ran are no words: alone they say nothing to a person.
  const isSilent = parts.every((part) => part.kind === 'tool_call')
  return { asks: [...asks], reply: { ...rest, parts: isSilent ? [] : parts, status: 'completed' } }
}

function previewValueLines(preview: Json): readonly string[] {
  if (preview === null) return []
  if (!isPlainObject(preview)) return [`- ${formatValueOnOneLine(preview)}`]
  const entries = Object.entries(preview)
  const lines = entries
    .slice(0, maxValues)
    .map(([key, value]) => `- ${shortenToOneLine(key)}: ${formatValueOnOneLine(value)}`)
  return entries.length > maxValues
    ? [...lines, say('approval.more_values', { count: entries.length - maxValues })]
    : lines
}

/** The values are a model's: they must not look like further lines of the question. */
function formatValueOnOneLine(value: unknown): string {
  return shortenToOneLine(typeof value === 'string' ? value : (JSON.stringify(value) ?? ''))
}

function shortenToOneLine(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim()
  return line.length > maxValueLength ? `${line.slice(0, maxValueLength).toWellFormed()}…` : line
}

// The person who decided is told in a chat by a sentence, over HTTP by a typed refusal. The remedy is the same.

/** The words with what they mean, for callers that show them. `by`: others read them too, and are told who decided. */
export function resolutionSentenceAndDecision(
  resolution: Resolution,
  by: string | null = null,
): {
  readonly says: Sentence
  readonly decision: NonNullable<ControlFacts['decision']>
  readonly actionId?: string
} {
  const says =
    resolution.kind === 'refused'
      ? refusals[resolution.reason](resolution.action)
      : resolvedQuestionText({ ...resolution.action, by })
  if (resolution.kind === 'refused') return { says, decision: resolution.reason }
  const { status, action_id } = resolution.action
  return { says, decision: status === 'accepted' ? 'accepted' : 'rejected', actionId: action_id }
}

type Outcome = {
  readonly status: string
  readonly summary: string
  /** Who decided; they themselves need not be told. */
  readonly by?: string | null
}

/** What a question says in the end. */
export function resolvedQuestionText({ status, summary, by = null }: Outcome): Sentence {
  switch (status) {
    case 'accepted':
      return by === null ? say('approval.approved', { summary }) : say('approval.approved_by', { by, summary })
    case 'rejected':
      return by === null ? say('approval.rejected', { summary }) : say('approval.rejected_by', { by, summary })
    case 'deleted':
      return say('approval.withdrawn', { summary })
    default:
      return say('approval.expired', { summary })
  }
}

const refusals: Readonly<Record<RefusedResolution, (action: ActionLine | null) => Sentence>> = {
  not_found: () => say('approval.unknown'),
  already_resolved: (action) => say('approval.decided_before', { status: action?.status ?? 'over' }),
  expired: () => say('approval.too_late'),
  changed: () => say('approval.changed'),
  not_allowed: (action) => say('approval.not_allowed', { who: describeApprovers(action?.resolvers ?? 'operator') }),
}

/** The action, or why nothing was decided. */
export function requireResolvedAction(resolution: Resolution): Extract<Resolution, { kind: 'resolved' }> {
  if (resolution.kind === 'resolved') return resolution
  const { reason, action } = resolution
  const remedy = refusals[reason](action)
  if (reason === 'not_found')
    throw new GatewayError('not_found', 'no such pending action; list them with GET /admin/approvals')
  throw new GatewayError(reason === 'not_allowed' ? 'forbidden' : 'conflict', `approval_${reason}: ${remedy}`, {
    details: { reason, status: action?.status ?? null },
  })
}

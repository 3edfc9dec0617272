// What an agent returned, as a whole NormalizedResponse; undefined when it chose to say nothing.
import {
  agentResponseSchema,
  GatewayError,
  isKnownPart,
  maxTextLength,
  type NormalizedResponse,
  type Part,
  textPart,
} from '../contract/index.ts'
import type { AgentReply } from './context.ts'
import { type EffectAccount, nothingDone } from './step-log.ts'

export type ReplyFacts = { readonly threadId: string; readonly inReplyTo: string; readonly agent: string }

export function completeReply(reply: AgentReply, facts: ReplyFacts): NormalizedResponse | undefined {
  if (reply === undefined || reply === '') return undefined
  const given = typeof reply === 'string' ? { parts: [textPart(reply)] } : reply
  refuseOther(given, facts.agent)
  const whole = {
    thread_id: facts.threadId,
    in_reply_to: facts.inReplyTo,
    agent: facts.agent,
    status: 'completed',
    ...given,
  }
  const parsed = agentResponseSchema.safeParse({ parts: [], ...whole })
  if (!parsed.success) {
    const path = parsed.error.issues[0]?.path.join('.') ?? ''
    throw new GatewayError(
      'reply_invalid',
      `[agent] ${facts.agent} returned no valid reply (at ${path}); return text or { parts }`,
    )
  }
  return isBlankReply(parsed.data) ? undefined : { ...parsed.data, parts: mergedCalls(parsed.data.parts) }
}

/** A tool call that is shown again, now with its result, is the same call: it stands once, where it was shown first. */
function mergedCalls(parts: readonly Part[]): Part[] {
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
function refuseOther(given: unknown, agent: string): void {
  const isReply = typeof given === 'object' && given !== null && ('parts' in given || 'status' in given)
  if (!isReply) {
    const what = given === null ? 'null' : typeof given
    const remedy = 'return text or { parts }, or undefined to say nothing'
    throw new GatewayError('reply_invalid', `[agent] ${agent} returned no reply but ${what}; ${remedy}`)
  }
  const length = longestText('parts' in given ? given.parts : [])
  if (length <= maxTextLength) return
  const limit = `a text of ${length} characters, and at most ${maxTextLength} can be sent; shorten it, or attach a file`
  throw new GatewayError('reply_too_long', `[agent] ${agent} returned ${limit}`, { details: { length } })
}

function longestText(parts: unknown): number {
  if (!Array.isArray(parts)) return 0
  return parts.reduce<number>((longest, part: unknown) => {
    const content = typeof part === 'object' && part !== null && 'content' in part ? part.content : undefined
    return typeof content === 'string' ? Math.max(longest, content.length) : longest
  }, 0)
}

/** What a person is told when a turn died. It names no internals; `parley explain` shows the whole timeline by the reference. */
export function apology(
  facts: ReplyFacts,
  reason: string,
  reference: string,
  account: EffectAccount = nothingDone,
): NormalizedResponse {
  const text = `${apologyWords(reason, account)} (ref ${reference})`
  return {
    thread_id: facts.threadId,
    in_reply_to: facts.inReplyTo,
    agent: facts.agent,
    parts: [textPart(text)],
    status: 'failed',
    error: { code: reason, message: text, retryable: false },
  }
}

function apologyWords(reason: string, { done, unknown }: EffectAccount): string {
  const effects = [
    ...(done.length === 0 ? [] : [`Done: ${done.join(', ')}.`]),
    ...(unknown.length === 0 ? [] : [`I cannot tell whether this took effect: ${unknown.join(', ')}.`]),
  ]
  if (reason === 'reply_too_long')
    return [
      'Sorry, my answer was too long to be sent.',
      ...effects,
      'Please ask for a part of it, or for a summary.',
    ].join(' ')
  if (effects.length > 0) {
    const advice = unknown.length === 0 ? '' : ' Please check before asking again.'
    return `Sorry, I was interrupted and could not finish. ${effects.join(' ')} The rest was not done.${advice}`
  }
  return reason === 'tool_outcome_unknown'
    ? 'I was interrupted while acting on your message and cannot tell whether it took effect. Please check before asking again.'
    : 'Sorry, I could not answer your message. It is kept, and my operator can see why.'
}

function isBlankReply(reply: NormalizedResponse): boolean {
  return (
    reply.status === 'completed' &&
    reply.parts.every((part) => part.kind === 'text' && String(part['content']).trim() === '')
  )
}

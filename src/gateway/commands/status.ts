// /status: what runs here, since when, what it is at, what waits. In words for a person; no ids, no names of tools.
import type { RunsAtAGlance } from '../../db/runs.ts'
import type { ChatCommandContext } from './command.ts'

export function answerStatus({ glance, write }: ChatCommandContext): string {
  if (glance === undefined)
    return 'Nothing is running here, and nothing waits. Write to me when you want something done.'
  const { running, paused, queued, sessionMs } = glance
  const lines = [
    running === null ? idleLine(paused.length) : runningLine(running, write('stop')),
    ...(queued === 0 ? [] : [`${pluralize(queued, 'message')} ${queued === 1 ? 'waits' : 'wait'} behind it.`]),
    ...pausedRunLines(paused),
    ...(sessionMs === null ? [] : [`This session began ${span(sessionMs)} ago; ${write('new')} starts a fresh one.`]),
  ]
  return lines.join('\n')
}

function idleLine(paused: number): string {
  return paused === 0 ? 'Nothing is running here.' : 'Nothing is running; I am waiting for an answer.'
}

function runningLine({ runningMs, isStopping, activity }: NonNullable<RunsAtAGlance['running']>, stop: string): string {
  const doing = isStopping ? 'I am stopping' : (activityWords[activity ?? ''] ?? 'I am working')
  return `${doing}; your message was taken up ${span(runningMs)} ago.${isStopping ? '' : ` ${stop} ends it.`}`
}

/** By the latest event of its log. */
const activityWords: Readonly<Record<string, string>> = {
  turn_started: 'I am thinking',
  text_delta: 'I am writing the answer',
  tool_call: 'I am using a tool',
  tool_result: 'I am thinking about what a tool found',
  provider_retry: 'My model is slow to answer, I am trying again',
}

function pausedRunLines(paused: RunsAtAGlance['paused']): readonly string[] {
  const approvals = paused.filter((run) => run.status === 'approval_required').length
  const tools = paused.length - approvals
  return [
    ...(approvals === 0
      ? []
      : [`${pluralize(approvals, 'approval')} ${approvals === 1 ? 'waits' : 'wait'} for a decision.`]),
    ...(tools === 0 ? [] : ['I am waiting for an answer from your side.']),
  ]
}

function pluralize(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`
}

function span(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000))
  if (seconds < 60) return `${seconds} s`
  if (seconds < 3600) return `${Math.round(seconds / 60)} min`
  return seconds < 86_400 ? `${Math.round(seconds / 3600)} h` : pluralize(Math.round(seconds / 86_400), 'day')
}

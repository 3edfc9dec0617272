// What a person is told for every way a run can end: what happened, what to do next, and nothing of our insides.
import { expect, test } from 'vitest'
import {
  normalizeResult,
  type OutcomeStatus,
  outcomeStatuses,
} from '../../../../src/agents/loop/conversation-result.ts'
import { runResultToReply, stoppedReply } from '../../../../src/agents/reply.ts'
import { partsText } from '../../../../src/markdown/index.ts'

const approval = {
  payload: {
    action_id: '0192f1c2-7d5e-7abc-8def-0123456789ab',
    summary: 'order a pizza',
    preview: null,
    expires_at: null,
  },
}

/** The loop's result for an outcome; what a provider wrote must not be told. */
function resultOf(status: Exclude<OutcomeStatus, 'completed'>, type = 'provider_error') {
  return normalizeResult({
    messages: [],
    run_outcome: { status },
    ...(status === 'failed' ? { failure: { type, message: 'ECONNREFUSED 10.0.0.1 sk-canary' } } : {}),
    ...(status === 'approval_required' ? { approval_required: approval } : {}),
  })
}

const nextSteps: Readonly<Record<Exclude<OutcomeStatus, 'completed'>, RegExp>> = {
  failed: /try again later/,
  runtime_tool_pending: /your side.*\/stop/,
  approval_required: /\/approve 6789ab or \/reject 6789ab/,
  budget_exceeded: /Ask me to go on/,
  stalled: /put it differently/,
  cancelled: /write again/,
  interrupted: /your new message comes next/,
  contention: /send it again/,
  incomplete: /ask again/,
}

const insides = /[0-9a-f]{8}-[0-9a-f]{4}|_|undefined|null|canary|ECONN|provider|tool_|budget|exception/i

for (const status of outcomeStatuses) {
  if (status === 'completed') continue
  test(`a run that ended as ${status} says what to do next, and nothing of our insides`, () => {
    const told = runResultToReply(resultOf(status))
    const text = partsText(told?.parts ?? [])
    expect(text).toMatch(nextSteps[status])
    expect(text).not.toMatch(insides)
    expect(told?.status).not.toBe('completed')
  })
}

test.for(['authentication', 'quota', 'not_found', 'context_length', 'content_filter', 'invalid_request'])(
  'a failure of the kind %s names who can do something about it',
  (type) => {
    const told = runResultToReply(resultOf('failed', type))
    expect(told?.error?.message).toMatch(/operator|\/new|put it differently/)
    expect(told?.error?.message).not.toMatch(insides)
  },
)

test('what was said before a run ended is told before how it ended', () => {
  const result = normalizeResult({
    messages: [],
    final_content: 'Half of it.',
    run_outcome: { status: 'budget_exceeded' },
  })
  expect(runResultToReply(result)?.parts.map((part) => part.kind)).toEqual(['text', 'text'])
  expect(runResultToReply(result)?.parts[0]).toMatchObject({ content: 'Half of it.' })
})

test('a run that completed says what it said, and nothing when it said nothing', () => {
  const completed = (final_content: string) =>
    runResultToReply(normalizeResult({ messages: [], final_content, completed: true }))
  expect(completed('Done.')).toMatchObject({ status: 'completed', parts: [{ content: 'Done.' }] })
  expect(completed('')).toBeUndefined()
})

test('a run that somebody stopped is told as cancelled, whether the loop ran it or not', () => {
  const stopped = runResultToReply(resultOf('interrupted'), { cause: 'stop' })
  expect(stopped).toMatchObject({ status: 'cancelled', error: { code: 'cancelled' } })
  expect(stoppedReply('stop').parts).toEqual(stopped?.parts)
  expect(stoppedReply('interrupt').parts).toEqual(
    runResultToReply(resultOf('interrupted'), { cause: 'interrupt' })?.parts,
  )
})

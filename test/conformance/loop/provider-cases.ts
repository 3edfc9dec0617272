// What a provider's turns add up to, and how patient we are with it.

import { addRetries } from '../../../src/agents/models/failover.ts'
import type { Model, ModelRequest, ModelTurn, StructuredOutputRequest } from '../../../src/agents/models/model.ts'
import { call, calling, deskOf, looped, saying, told } from '../../doubles/scripted-loop.ts'
import { type Case, refusal } from '../conform.ts'

const tools = () => deskOf({ 'host/act': () => 1 })
const act = call('host/act')
const structuredOutput: StructuredOutputRequest = { format: 'json_schema', schema: { type: 'object' }, strict: true }

const answered = (status: number, headers: Readonly<Record<string, string>> = {}) =>
  Object.assign(new Error(`status ${status}`), {
    name: 'AI_APICallError',
    statusCode: status,
    responseHeaders: headers,
  })

/** How often a provider that answers like this is asked, and the waits between, without jitter. */
async function patience(answers: readonly (Error | ModelTurn)[], delta?: string) {
  const waits: number[] = []
  let dispatches = 0
  const model: Model = async ({ onDelta }) => {
    const answer = answers[dispatches++]
    if (delta !== undefined) onDelta?.(delta)
    if (answer instanceof Error) throw answer
    return answer ?? {}
  }
  const sleep = async (ms: number) => void waits.push(ms / 1000)
  const patient = addRetries(model, { attempts: 5, baseMs: 2_000, maxMs: 60_000, jitter: () => 0, sleep })
  const request: ModelRequest = {
    messages: [],
    tools: [],
    model: {},
    context: {},
    budgets: {},
    turn: 1,
    runId: 'r',
    sessionId: 's',
    signal: new AbortController().signal,
    onDelta: () => {},
  }
  try {
    const { content, failure } = await patient(request)
    return { dispatches, waits, content, failure: failure?.type }
  } catch (error) {
    return { dispatches, waits, thrown: (error as { code?: string }).code }
  }
}

export const providerCases: readonly Case[] = [
  {
    id: 'L-46',
    claim: 'usage adds up over the turns, of the request metadata the last stays, every diagnosis is kept',
    run: async () => {
      const turn = (tokens: number, id: string): ModelTurn => ({
        usage: { prompt_tokens: tokens, total_tokens: tokens, cached: 1, tier: id },
        request_metadata: { provider_response_id: id },
        provider_diagnostics: { id },
      })
      const script = [
        { ...calling(act), ...turn(3, 'a') },
        { ...saying('done'), ...turn(4, 'b') },
      ]
      const { result } = await looped(script, { tools: tools(), maxTurns: 3 })
      const { usage, request_metadata, provider_diagnostics, run_outcome } = result
      return { usage, request_metadata, provider_diagnostics, outcome: [run_outcome.status, run_outcome.stop_reason] }
    },
    equals: {
      usage: { prompt_tokens: 7, completion_tokens: 0, total_tokens: 7, cached: 2, tier: 'b' },
      request_metadata: { provider_response_id: 'b' },
      provider_diagnostics: [{ id: 'a' }, { id: 'b' }],
      outcome: ['completed', 'natural'],
    },
  },
  {
    id: 'L-47',
    claim: 'a provider that has more to say is asked again with its own message',
    run: async () => {
      const more = { ...saying('first half'), continuation_messages: [{ role: 'user', content: 'go on' }] }
      const run = await looped([more, saying('second half')], { tools: tools(), maxTurns: 3 })
      return {
        turns: run.requests.length,
        seen: run.requests[1]?.messages.at(-1)?.content,
        told: told(run, 'continuation_message_added'),
        kept: run.result.events.map(({ type }) => type),
      }
    },
    equals: {
      turns: 2,
      seen: 'go on',
      told: [{ turn: 1, role: 'user' }],
      kept: ['continuation_message_added'],
    },
  },
  {
    id: 'L-48',
    claim: 'a structured answer of null is an answer',
    run: async () => {
      const { result } = await looped([{ structured_output: { parsed: null } }], { structuredOutput })
      return { has: 'structured_output' in result, is: result.structured_output, completed: result.completed }
    },
    equals: { has: true, is: null, completed: true },
  },
  {
    id: 'L-48',
    claim: 'a structured answer without a value fails the run instead of leaving it open',
    differs: 'in agents-api the error propagates and the run stays running',
    run: async () => {
      const { result } = await looped([() => ({ structured_output: { valid: true } })], { structuredOutput })
      return { status: result.status, has: 'structured_output' in result, message: result.failure?.['message'] }
    },
    equals: { status: 'failed', has: false, message: 'invalid_agent_structured_output: parsed is missing' },
  },
  ...(
    [
      ['tools', { tools: tools() }],
      ['streaming', { onDelta: () => {} }],
    ] as const
  ).map(([what, options]) => ({
    id: 'L-48',
    claim: `structured output with ${what} is refused before the run begins`,
    run: async () => refusal(() => looped([saying('x')], { structuredOutput, ...options })),
    equals: 'invalid_agent_structured_output_request: structured output goes with neither tools nor streaming',
  })),
  {
    id: 'L-49',
    claim: 'a provider that asks to slow down is asked again after 2 and 4 seconds',
    run: () => patience([answered(429), answered(429), { content: 'hello' }]),
    equals: { dispatches: 3, waits: [2, 4], content: 'hello', failure: undefined },
  },
  {
    id: 'L-49',
    claim: 'what the provider itself advises goes before our own steps',
    run: () => patience([answered(503, { 'retry-after': '7' }), { content: 'hello' }]),
    equals: { dispatches: 2, waits: [7], content: 'hello', failure: undefined },
  },
  {
    id: 'L-49',
    claim: 'a request that was wrong is not made again',
    run: () => patience([answered(400), { content: 'hello' }]),
    equals: { dispatches: 1, waits: [], content: undefined, failure: 'invalid_request' },
  },
  {
    id: 'L-49',
    claim: 'an answer that broke off after its first words is not repeated here: the turn waits and is run again',
    differs: 'outages of a provider are retried by time, not by count',
    run: () => patience([answered(500), { content: 'hello' }], 'hel'),
    equals: { dispatches: 1, waits: [], thrown: 'provider_unavailable' },
  },
  {
    id: 'L-49',
    claim: 'a provider that stays away does not fail the run: the turn waits for it by time',
    differs: 'outages of a provider are retried by time, not by count',
    run: () => patience(Array.from({ length: 9 }, () => answered(500))),
    equals: { dispatches: 5, waits: [2, 4, 8, 16], thrown: 'provider_unavailable' },
  },
]

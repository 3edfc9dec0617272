// How a run begins, is watched, kept, interrupted and ended.
import type { LoopOptions, TranscriptLock } from '../../../src/agents/loop/options.ts'
import { approvalRequiredEnvelope } from '../../../src/agents/messages.ts'
import { createRepeatedCallGuard } from '../../../src/agents/tools/call-guards.ts'
import { runtimeToolPending } from '../../../src/agents/tools/tool.ts'
import { call, calling, deskOf, looped, type Script, saying, told } from '../../doubles/scripted-loop.ts'
import type { Case } from '../conform.ts'

const throwing = () => {
  throw new Error('out of order')
}
const hello: Script = [{ content: 'hello' }]
const texts = (messages: readonly { readonly content: unknown }[]) => messages.map(({ content }) => content)

type RunControl = NonNullable<LoopOptions['runControl']>

/** Run control that lets everything happen and remembers how it ended. */
function control(fields: Partial<RunControl> = {}): RunControl & { readonly ends: string[] } {
  const ends: string[] = []
  const finish = async (status: string) => void ends.push(status)
  return { start: async () => undefined, isCancelled: async () => false, finish, ends, ...fields }
}

/** What happened around a run, in order. */
async function around(
  token: string | null,
  options: Partial<LoopOptions> = {},
): Promise<{ steps: string[]; status: unknown }> {
  const steps: string[] = []
  const lock: TranscriptLock = {
    acquire: async (session, ttl) => {
      steps.push(`acquire ${session} ${ttl}`)
      return token
    },
    release: async (_session, held) => void steps.push(`release ${held}`),
  }
  const persist = async () => void steps.push('persist')
  const script: Script = [
    () => {
      steps.push('model')
      return { content: 'hello' }
    },
  ]
  const run = await looped(script, { lock, persist, ...options })
  return { steps: [...steps, ...told(run, 'transcript_lock_contention').map(() => 'told')], status: run.result.status }
}

const act = call('host/act')
const tools = (execute: () => unknown = () => 'done') => deskOf({ 'host/act': execute })
/** One run for every way to stop short, as run control hears of it. */
const stops: readonly (readonly [string, Script, Partial<LoopOptions>])[] = [
  ['budget_exceeded', [calling(act)], { tools: tools(), budgets: [{ name: 'tool_calls', ceiling: 1 }] }],
  ['failed', [throwing], {}],
  [
    'stalled',
    [calling(act)],
    { tools: tools(), maxTurns: 5, spinGuard: createRepeatedCallGuard({ find: () => undefined }, { threshold: 2 }) },
  ],
  [
    'approval_required',
    [calling(act)],
    {
      tools: deskOf(
        { 'host/act': () => 'done' },
        {
          actionOf: () => 'preview',
          stageApproval: async () => ({ envelope: approvalRequiredEnvelope('May I?', {}), actionId: 'a1' }),
        },
      ),
    },
  ],
  [
    'runtime_tool_pending',
    [calling(act)],
    { tools: deskOf({ 'host/act': () => runtimeToolPending() }, { stagePending: async () => ({ request_id: 'q1' }) }) },
  ],
  [
    'interrupted',
    hello,
    { interruptSource: () => ({ role: 'user', content: 'stop', metadata: { action: 'cancel' } }) },
  ],
]

export const runCases: readonly Case[] = [
  {
    id: 'L-01',
    claim: 'a model that keeps the transcript itself is asked again as long as somebody says so',
    run: async () => {
      const keeping: Script = [
        ({ messages, turn }) => ({
          messages: [...messages, { role: 'assistant', content: `turn ${turn}` }],
          events: [{ type: 'own', metadata: { turn } }],
        }),
      ]
      const { result, requests } = await looped(keeping, {
        maxTurns: 5,
        shouldContinue: (_turn, context) => context['turn'] === 1,
      })
      return { turns: requests.map(({ turn }) => turn), texts: texts(result.messages), events: result.events }
    },
    equals: {
      turns: [1, 2],
      texts: ['hi', 'turn 1', 'turn 2'],
      events: [1, 2].map((turn) => ({ type: 'own', metadata: { turn } })),
    },
  },
  {
    id: 'L-11',
    claim: 'a model that throws ends in a failed result, told and kept',
    run: async () => {
      const kept: unknown[] = []
      const run = await looped([throwing], { persist: async ({ status }) => void kept.push(status) })
      const { status, completed, failure } = run.result
      return { status, completed, failure, told: told(run, 'failed'), isCompleted: told(run, 'completed'), kept }
    },
    equals: {
      status: 'failed',
      completed: false,
      failure: { type: 'Error', message: 'out of order', turn_count: 1 },
      told: [{ turn: 1, type: 'Error', error: 'out of order', status: 'failed', stop_reason: 'provider_error' }],
      isCompleted: [],
      kept: ['failed'],
    },
  },
  ...(
    [
      ['a list', [1]],
      ['a text', 'hello'],
      ['nothing', null],
    ] as const
  ).map(([what, answer]) => ({
    id: 'L-12',
    claim: `a model that answers with ${what} fails its run, and the run is over for run control too`,
    differs: 'in agents-api the error propagates and the run stays running',
    run: async () => {
      const runControl = control()
      const { result } = await looped([() => answer], { runControl })
      return { status: result.status, type: result.failure?.['type'], ends: runControl.ends }
    },
    equals: { status: 'failed', type: 'agent_failed', ends: ['failed'] },
  })),
  {
    id: 'L-13',
    claim: 'an observer that throws changes nothing and silences nobody',
    run: async () => {
      const plain = await looped(hello)
      const watched = await looped(hello, { observers: [throwing, throwing] })
      return [watched.events, watched.result].map(
        (each, at) => JSON.stringify(each) === JSON.stringify([plain.events, plain.result][at]),
      )
    },
    equals: [true, true],
  },
  ...(
    [
      ['throws', throwing],
      ['rejects', async () => throwing()],
    ] as const
  ).map(([how, persist]) => ({
    id: 'L-14',
    claim: `a persister that ${how} changes nothing`,
    run: async () => {
      const { result, events } = await looped(hello, { persist })
      return { said: result.final_content, completed: result.completed, last: events.at(-1)?.[0] }
    },
    equals: { said: 'hello', completed: true, last: 'completed' },
  })),
  {
    id: 'L-15',
    claim: 'the lock is held around model and persister and given back with its token',
    run: () => around('t1', { lockTtlSeconds: 45 }),
    equals: { steps: ['acquire session-1 45', 'model', 'persist', 'release t1'], status: undefined },
  },
  ...([null, ''] as const).map((token) => ({
    id: 'L-16',
    claim: `a lock that gives ${JSON.stringify(token)} is somebody else's: nothing runs, nothing is kept`,
    run: () => around(token),
    equals: { steps: ['acquire session-1 300', 'told'], status: 'transcript_lock_contention' },
  })),
  {
    id: 'L-16b',
    claim: 'a run that met another one there is not complete and may be tried again',
    differs: 'agents-api reports contention as completed',
    run: async () => {
      const { result } = await looped(hello, { lock: { acquire: async () => null, release: async () => {} } })
      return result.run_outcome
    },
    expected: { status: 'contention', completed: false, retryable: true },
  },
  {
    id: 'L-16c',
    claim: 'a lock that cannot be given back does not undo the run',
    run: async () =>
      (await looped(hello, { lock: { acquire: async () => 't', release: async () => throwing() } })).result.completed,
    equals: true,
  },
  {
    id: 'L-18',
    claim: 'a cancel from outside stops after the turn, with what it said about itself',
    run: async () => {
      const asked: unknown[] = []
      const run = await looped(hello, {
        maxTurns: 5,
        interruptSource: (messages, context) => {
          asked.push([messages.length, context['turn']])
          return { role: 'user', content: 'stop', metadata: { interrupt_action: ' Cancel ', source: 'button' } }
        },
      })
      const { status, completed, messages, interrupted, events } = run.result
      const kept = events.map(({ type }) => type)
      return {
        asked,
        status,
        completed,
        count: messages.length,
        interrupted,
        told: told(run, 'interrupt_received').length,
        kept,
      }
    },
    expected: {
      asked: [[2, 1]],
      status: 'interrupted',
      completed: false,
      count: 3,
      interrupted: { source: 'button', turn: 1, action: 'cancel', message: { content: 'stop' } },
      told: 1,
      kept: ['interrupt_received'],
    },
  },
  {
    id: 'L-19',
    claim: 'a word from outside is heard in the next turn, and answered',
    run: async () => {
      const words = [{ role: 'user', content: 'in German', metadata: { interrupt_action: 'redirect' } }]
      const { result, requests } = await looped([{ content: 'hello' }, { content: 'hallo' }], {
        maxTurns: 5,
        interruptSource: () => words.shift(),
      })
      return { seen: requests[1]?.messages.at(-1)?.content, completed: result.completed, texts: texts(result.messages) }
    },
    equals: { seen: 'in German', completed: true, texts: ['hi', 'hello', 'in German', 'hallo'] },
  },
  {
    id: 'L-19b',
    claim: 'a word from outside that is no message is told and left out',
    run: async () => {
      const run = await looped(hello, { interruptSource: () => ({ role: '' }) })
      return [run.result.messages.length, told(run, 'interrupt_ignored')]
    },
    equals: [2, [{ reason: 'invalid_message', turn: 1 }]],
  },
  {
    id: 'L-20',
    claim: 'a run cancelled while the model thinks stops after that one turn',
    run: async () => {
      let isCancelled = false
      const script: Script = [
        () => {
          isCancelled = true
          return { content: 'too late', tool_calls: [act], usage: { total_tokens: 7 } }
        },
      ]
      const runControl = control({ isCancelled: async () => isCancelled })
      const { result, requests } = await looped(script, { maxTurns: 5, tools: tools(throwing), runControl })
      const { status, tool_execution_results: executed, interrupted } = result
      const said = texts(result.messages).includes('too late')
      return { turns: requests.length, status, said, executed, ends: runControl.ends, by: interrupted?.['run_id'] }
    },
    equals: { turns: 1, status: 'interrupted', said: false, executed: [], ends: ['interrupted'], by: 'run-1' },
  },
  {
    id: 'L-20b',
    claim: 'what the turn cost is counted all the same',
    differs: 'agents-api drops what a cancelled turn cost and does not look between calls',
    run: async () => {
      let isCancelled = false
      const script: Script = [
        () => {
          isCancelled = true
          return { usage: { total_tokens: 7 } }
        },
      ]
      const { result } = await looped(script, { runControl: control({ isCancelled: async () => isCancelled }) })
      return [result.status, result.usage['total_tokens']]
    },
    equals: ['interrupted', 7],
  },
  {
    id: 'L-20c',
    claim: 'a cancel between two calls of one batch keeps the second from running',
    differs: 'agents-api drops what a cancelled turn cost and does not look between calls',
    run: async () => {
      let ran = 0
      const desk = tools(() => ++ran)
      const runControl = control({ isCancelled: async () => ran > 0 })
      const { result } = await looped([calling(act, act)], { tools: desk, runControl })
      return { status: result.status, ran, results: result.tool_execution_results.length }
    },
    equals: { status: 'interrupted', ran: 1, results: 1 },
  },
  {
    id: 'L-51',
    claim: 'a run that belongs to somebody else is not begun, not kept and not ended by us',
    run: async () => {
      const kept: unknown[] = []
      const refusal = { code: 'agents_chat_run_owner_forbidden', message: 'not yours' }
      const runControl = control({ start: async () => refusal })
      const run = await looped(hello, { runControl, persist: async () => void kept.push('kept') })
      const { status, turn_count, failure } = run.result
      return { status, turn_count, failure, asked: run.requests.length, kept, ends: runControl.ends }
    },
    expected: {
      status: 'failed',
      turn_count: 0,
      failure: { type: 'run_control', code: 'agents_chat_run_owner_forbidden' },
      asked: 0,
      kept: [],
      ends: [],
    },
  },
  ...stops.map(([status, script, options]) => ({
    id: 'R-10',
    claim: `run control hears of a run that ended with ${status}`,
    run: async () => {
      const runControl = control()
      const { result } = await looped(script, { ...options, runControl })
      return { ends: runControl.ends, completed: result.completed, status: result.run_outcome.status }
    },
    equals: { ends: [status], completed: false, status },
  })),
  {
    id: 'L-02b',
    claim: 'a run that ends by itself is complete for run control',
    run: async () => {
      const runControl = control()
      await looped([saying('done')], { tools: tools(), runControl })
      return runControl.ends
    },
    equals: ['completed'],
  },
]

// Completion inside a run: who besides the model decides that it is done, goes in circles or must go on.
import { type CompletionPolicy, complete, incomplete } from '../../../src/agents/loop/options.ts'
import { createCompletionGate, createGateMediator, readGateRules } from '../../../src/agents/tools/call-gate.ts'
import { createRepeatedCallGuard, createRepeatedFailureGuard } from '../../../src/agents/tools/call-guards.ts'
import { call, calling, deskOf, type Looped, looped, type Script, saying, told } from '../../doubles/scripted-loop.ts'
import type { Case } from '../conform.ts'

const done = saying('done')
const work = call('host/work')
const finish = call('host/finish')
const tools = () => deskOf({ 'host/work': () => 1, 'host/finish': () => 2 })
const unknownNames = { find: () => undefined }
const hidden = ({ result }: Looped, type: string) =>
  result.messages.filter((line) => line.metadata['type'] === type).map(({ role, content }) => ({ role, content }))

/** A policy, and how often it was asked. */
function counted(policy: CompletionPolicy): { readonly policy: CompletionPolicy; readonly asked: () => number } {
  let asked = 0
  return {
    policy: (...given) => {
      asked += 1
      return policy(...given)
    },
    asked: () => asked,
  }
}

const rules = readGateRules([
  { id: 'commit', after_tool: 'host/start', limited_tools: ['host/read'], max_calls: 2, require_one_of: 'host/write' },
])
const start = call('host/start')
const read = call('host/read')
const write = call('host/write')

/** A run under the rules: what really ran, how long it took, what it was told. */
async function ruled(script: Script, given = rules) {
  const ran: string[] = []
  const tool = (name: string) => [`host/${name}`, () => ran.push(name)] as const
  const run = await looped(script, {
    tools: deskOf(Object.fromEntries(['start', 'read', 'write'].map(tool)), { mediators: [createGateMediator(given)] }),
    completionGate: createCompletionGate(given),
    maxTurns: 10,
  })
  const notes = hidden(run, 'tool_call_gate_completion_blocked')
  return {
    ran,
    turns: run.requests.length,
    blocks: told(run, 'tool_call_gate_completion_blocked').length,
    notes: notes.filter(({ role, content }) => role === 'user' && String(content).startsWith('COMPLETION BLOCKED'))
      .length,
    said: run.result.final_content,
    completed: run.result.completed,
  }
}

export const completionCases: readonly Case[] = [
  {
    id: 'L-30',
    claim: 'a policy that is content with the third result ends the run, whoever would go on',
    run: async () => {
      let results = 0
      const { policy, asked } = counted(() => (++results === 3 ? complete('enough', { seen: 3 }) : incomplete()))
      const options = { tools: tools(), maxTurns: 9, completionPolicy: policy, shouldContinue: () => true }
      const { result, requests } = await looped([calling(work)], options)
      return { turns: requests.length, asked: asked(), completed: result.completed, events: result.events }
    },
    equals: {
      turns: 3,
      asked: 3,
      completed: true,
      events: [
        {
          type: 'completion_policy_stop',
          metadata: { tool_name: 'host/work', turn: 3, message: 'enough', context: { seen: 3 } },
        },
      ],
    },
  },
  {
    id: 'L-31',
    claim: 'a batch is worked off to its end, also when its first result completes the run',
    run: async () => {
      let continues = 0
      const { policy, asked } = counted((name) => (name === 'host/finish' ? complete() : incomplete('and now?')))
      const { result } = await looped([calling(finish, work)], {
        tools: tools(),
        maxTurns: 9,
        completionPolicy: policy,
        shouldContinue: () => ++continues > 0,
      })
      const executed = result.tool_execution_results.map((entry) => entry.tool_name)
      return { executed, asked: asked(), stops: result.events.map(({ type }) => type), continues }
    },
    equals: { executed: ['host/finish', 'host/work'], asked: 2, stops: ['completion_policy_stop'], continues: 0 },
  },
  {
    id: 'L-31b',
    claim: 'a policy that is content twice in one batch stops the run once',
    run: async () => {
      const options = { tools: tools(), maxTurns: 9, completionPolicy: () => complete() }
      const { result } = await looped([calling(finish, work)], options)
      return result.events.map(({ type }) => type)
    },
    equals: ['completion_policy_stop'],
  },
  {
    id: 'L-32',
    claim: 'a policy that wants more says so to the model, behind all results; a blank wish says nothing',
    run: async () => {
      const wishes = [incomplete('Check the other site.', { left: 1 }), incomplete('  ')]
      const run = await looped([calling(work, finish), done], {
        tools: tools(),
        maxTurns: 3,
        completionPolicy: () => wishes.shift() ?? incomplete(),
      })
      const { content, role } = run.requests[1]?.messages.at(-1) ?? {}
      return { role, content, told: told(run, 'completion_policy_continue') }
    },
    equals: {
      role: 'user',
      content: 'Check the other site.',
      told: [{ tool_name: 'host/work', turn: 1, message: 'Check the other site.', context: { left: 1 } }],
    },
  },
  {
    id: 'L-33',
    claim: 'the same call on two turns is a stall at threshold 2, told once',
    run: async () => {
      const spinGuard = createRepeatedCallGuard(unknownNames, { threshold: 2 })
      const run = await looped([calling(work)], { tools: tools(), maxTurns: 9, spinGuard })
      const { status, completed, stalled } = run.result
      const { turn, repeat_count, threshold } = stalled ?? {}
      return {
        turns: run.requests.length,
        status,
        completed,
        turn,
        repeat_count,
        threshold,
        told: told(run, 'loop_stalled').length,
      }
    },
    equals: { turns: 2, status: 'stalled', completed: false, turn: 2, repeat_count: 2, threshold: 2, told: 1 },
  },
  {
    id: 'L-34',
    claim: 'the note about a repeated failure speaks to the model, and no person takes it for an answer',
    differs: 'in agents-api the assistant says the note, and a success does not reset it',
    run: async () => {
      const failing = deskOf({ 'host/work': () => ({ success: false, error: 'busy' }) })
      const run = await looped([calling(work), calling(work)], {
        tools: failing,
        maxTurns: 2,
        failureGuard: createRepeatedFailureGuard(unknownNames),
      })
      const [note] = hidden(run, 'identical_failure_nudge')
      return {
        role: note?.role,
        counts: String(note?.content).includes('failed 2 times'),
        told: told(run, 'identical_failure_nudged').length,
        results: run.result.tool_execution_results.length,
        said: run.result.final_content,
      }
    },
    equals: { role: 'user', counts: true, told: 1, results: 2, said: '' },
  },
  {
    id: 'L-43',
    claim: 'inside a run the third read after the anchor does not run',
    run: () => ruled([calling(start, read, read, read, write), done]),
    equals: { ran: ['start', 'read', 'read', 'write'], turns: 2, blocks: 0, notes: 0, said: 'done', completed: true },
  },
  {
    id: 'L-44',
    claim: 'a model that stops twice before the commit is sent back twice',
    run: () => ruled([calling(start), saying('finished?'), saying('now?'), calling(write), done]),
    equals: { ran: ['start', 'write'], turns: 5, blocks: 2, notes: 2, said: 'done', completed: true },
  },
  {
    id: 'L-45',
    claim: 'a model that must use a tool is sent back when it only narrates',
    run: () =>
      ruled([saying('I would read.'), calling(read), done], readGateRules([{ id: 'use', require_tool_use: true }])),
    equals: { ran: ['read'], turns: 3, blocks: 1, notes: 1, said: 'done', completed: true },
  },
]

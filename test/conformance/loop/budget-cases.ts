// How many turns, calls and seconds a run may use. A run that used them up never looks finished.
import { conversationRequest } from '../../../src/agents/loop/request.ts'
import { call, calling, deskOf, type Looped, looped, saying, told } from '../../doubles/scripted-loop.ts'
import type { Case } from '../conform.ts'

const always = () => true
const tools = () => deskOf({ 'host/ping': () => 'pong', 'host/work': () => 'done' })
const ping = call('host/ping')
const work = call('host/work')

/** What a run with budgets came to: its end, and how much it did. */
function ended({ result, requests }: Looped) {
  const { status, budget, completed, run_outcome } = result
  const { stop_reason, retryable } = run_outcome
  const executed = result.tool_execution_results.length
  return { turns: requests.length, executed, status, budget, completed, stop_reason, retryable }
}

const outOf = (budget: string, counts: { turns: number; executed: number }, stop_reason = 'budget_exceeded') => ({
  ...counts,
  status: 'budget_exceeded',
  budget,
  completed: false,
  stop_reason,
  retryable: true,
})
const done = { status: undefined, budget: undefined, completed: true, stop_reason: 'natural', retryable: false }

export const budgetCases: readonly Case[] = [
  {
    id: 'L-02',
    claim: 'without options a run takes one turn and is complete',
    run: async () => ended(await looped([{ content: 'hello' }])),
    equals: { turns: 1, executed: 0, ...done },
  },
  {
    id: 'L-03',
    claim: 'a run that would always go on stops at its last turn and says so',
    differs: 'agents-api reports the turn limit as a success',
    run: async () => ended(await looped([{ content: 'more' }], { maxTurns: 3, shouldContinue: always })),
    equals: outOf('turns', { turns: 3, executed: 0 }, 'max_turns'),
  },
  {
    id: 'L-04',
    claim: 'a turns budget below the turn limit decides',
    run: async () =>
      ended(
        await looped([{ content: 'more' }], {
          maxTurns: 10,
          budgets: [{ name: 'turns', ceiling: 2 }],
          shouldContinue: always,
        }),
      ),
    equals: outOf('turns', { turns: 2, executed: 0 }, 'max_turns'),
  },
  {
    id: 'L-04b',
    claim: 'a turns budget above the turn limit decides as well',
    differs: 'in agents-api a turns budget only lowers, and beats a natural end',
    run: async () =>
      ended(
        await looped([{ content: 'more' }], {
          maxTurns: 2,
          budgets: [{ name: 'turns', ceiling: 3 }],
          shouldContinue: always,
        }),
      ),
    equals: outOf('turns', { turns: 3, executed: 0 }, 'max_turns'),
  },
  {
    id: 'L-04c',
    claim: 'a run that ends by itself on its last turn is complete',
    differs: 'in agents-api a turns budget only lowers, and beats a natural end',
    run: async () =>
      ended(
        await looped([calling(ping), saying('done')], { tools: tools(), budgets: [{ name: 'turns', ceiling: 2 }] }),
      ),
    equals: { turns: 2, executed: 1, ...done },
  },
  {
    id: 'L-05',
    claim: 'of three calls the second reaches the ceiling and the third is not made',
    run: async () => {
      const run = await looped([calling(work, work, work)], {
        tools: tools(),
        maxTurns: 5,
        budgets: [{ name: 'tool_calls', ceiling: 2 }],
      })
      return { ...ended(run), events: told(run, 'budget_exceeded') }
    },
    equals: {
      ...outOf('tool_calls', { turns: 1, executed: 2 }),
      events: [{ budget: 'tool_calls', dimension: 'tool_calls', current: 2, ceiling: 2 }],
    },
  },
  {
    id: 'L-06',
    claim: 'a budget of one tool counts its calls only',
    run: async () =>
      ended(
        await looped([calling(ping, work, ping, ping)], {
          tools: tools(),
          maxTurns: 5,
          budgets: [{ name: 'tool_calls_host/ping', ceiling: 2 }],
        }),
      ),
    equals: outOf('tool_calls_host/ping', { turns: 1, executed: 3 }),
  },
  {
    id: 'L-06b',
    claim: 'a tool is counted under its own name, however the provider spells it',
    differs: 'agents-api keeps the provider’s spelling',
    run: async () =>
      ended(
        await looped([calling(call('host__ping'), ping, ping)], {
          tools: tools(),
          maxTurns: 5,
          budgets: [{ name: 'tool_calls_host/ping', ceiling: 2 }],
        }),
      ),
    equals: outOf('tool_calls_host/ping', { turns: 1, executed: 2 }),
  },
  {
    id: 'L-07',
    claim: 'of two budgets the one that is reached first decides',
    run: async () =>
      ended(
        await looped([calling(work, work, work)], {
          tools: tools(),
          maxTurns: 5,
          budgets: [
            { name: 'tool_calls', ceiling: 10 },
            { name: 'tool_calls_host/work', ceiling: 2 },
          ],
        }),
      ),
    equals: outOf('tool_calls_host/work', { turns: 1, executed: 2 }),
  },
  {
    id: 'L-08',
    claim: 'a policy that is never content does not outlive the budget',
    run: async () =>
      ended(
        await looped([calling(work)], {
          tools: tools(),
          maxTurns: 5,
          budgets: [{ name: 'tool_calls', ceiling: 1 }],
          completionPolicy: () => ({ complete: false, message: 'go on', context: {} }),
        }),
      ),
    equals: outOf('tool_calls', { turns: 1, executed: 1 }),
  },
  {
    id: 'L-09',
    claim: "an agent's max_iterations lowers the turns, the stop says so, and the model sees what was overridden",
    differs: 'agents-api reports the turn limit as a success',
    run: async () => {
      const request = conversationRequest({
        messages: [{ role: 'user', content: 'hi' }],
        max_turns: 10,
        runtime_overrides: { max_iterations: 2, provider_id: 'acme' },
      })
      const run = await looped([{ content: 'more' }], {
        maxTurns: request.max_turns,
        context: request.runtime_context,
        shouldContinue: always,
      })
      return { ...ended(run), provider: run.requests[1]?.context['provider_id'] }
    },
    equals: { ...outOf('turns', { turns: 2, executed: 0 }, 'max_turns'), provider: 'acme' },
  },
  {
    id: 'L-10',
    claim: 'a run whose time is up before it begins asks nobody',
    run: async () => {
      const run = await looped([{ content: 'late' }], {
        budgets: [{ name: 'wall_clock_seconds', ceiling: 1, current: 1 }],
      })
      return { ...ended(run), turn_count: run.result.turn_count, events: told(run, 'budget_exceeded') }
    },
    equals: {
      ...outOf('wall_clock_seconds', { turns: 0, executed: 0 }),
      turn_count: 0,
      events: [{ budget: 'wall_clock_seconds', dimension: 'wall_clock', current: 1, ceiling: 1 }],
    },
  },
]

// The tools of one run: how long they may take, and by which names a model calls them.
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import * as z from 'zod'
import { createRunTools } from '../../../src/agents/run-tools.ts'
import { defineTool } from '../../../src/agents/tools/define-tool.ts'

const { signal } = new AbortController()

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

test('a tool acts as its policy says for the mode of the run', async () => {
  const pay = defineTool({
    name: 'demo/pay',
    description: 'Pays.',
    parameters: z.object({}),
    execute: () => 'paid',
    action_policy_pipeline: 'forbidden',
  })
  const outcomeIn = async (mode: string) => {
    const { call } = createCall(pay, { mode }, 'demo__pay')
    return JSON.stringify(await call())
  }
  expect(await outcomeIn('chat')).toContain('paid')
  expect(await outcomeIn('pipeline')).not.toContain('paid')
})

const createSlowCall = (timeoutMs: number | undefined, takesMs: number) => {
  const slow = defineTool({
    name: 'demo/search',
    description: 'Searches.',
    parameters: z.object({}),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    execute: () => new Promise((resolve) => setTimeout(resolve, takesMs, 'found')),
  })
  const { call } = createCall(slow, {}, 'demo__search')
  return async () => {
    const end = call()
    await vi.advanceTimersByTimeAsync(takesMs)
    return end
  }
}

function createCall(tool: ReturnType<typeof defineTool>, facts: Record<string, string>, name: string) {
  const step = async (_name: string, work: (context: never) => Promise<unknown>) => work({ key: 'k', signal } as never)
  const toolRunner = createRunTools(
    { model: async () => ({}), tools: [tool], rejected: [] },
    { facts, clientTools: [] },
    {
      step: step as never,
      isFinished: async () => false,
      emit() {},
      report() {},
      async toolCalled() {},
      signal,
      capabilities: { can: () => true },
    },
    {},
  )?.toolRunner
  if (toolRunner === undefined) throw new Error('the run has no tools')
  const call = async () => {
    const ready = await toolRunner.ready({ name, parameters: {} }, 'c1', {})
    return toolRunner.run(ready, { turn: 1, context: {}, messages: [], signal, results: [], batchResults: [] })
  }
  return { call }
}

test('a tool that asks for minutes has minutes', async () => {
  const call = createSlowCall(5 * 60_000, 4 * 60_000)
  expect(await call()).toMatchObject({ kind: 'result', result: { success: true, result: 'found' } })
})

test('a tool that asks for nothing has eight seconds', async () => {
  const call = createSlowCall(undefined, 8_001)
  expect(await call()).toMatchObject({ result: { metadata: { error_type: 'tool_outcome_unknown' } } })
})

// The tools of one run: how long they may take, and by which names a model calls them.
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import * as z from 'zod'
import { runDesk } from '../../../src/agent/run-desk.ts'
import { defineTool } from '../../../src/agent/tools/define-tool.ts'

const { signal } = new AbortController()

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const deskOf = (timeoutMs: number | undefined, takesMs: number) => {
  const slow = defineTool({
    name: 'demo/search',
    description: 'Searches.',
    parameters: z.object({}),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    execute: () => new Promise((resolve) => setTimeout(resolve, takesMs, 'found')),
  })
  const step = async (_name: string, work: (context: never) => Promise<unknown>) => work({ key: 'k', signal } as never)
  const desk = runDesk(
    { model: async () => ({}), tools: [slow], rejected: [] },
    { facts: {}, clientTools: [] },
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
  )?.desk
  if (desk === undefined) throw new Error('no desk')
  return async () => {
    const ready = await desk.ready({ name: 'demo__search', parameters: {} }, 'c1', {})
    const end = desk.run(ready, { turn: 1, context: {}, messages: [], signal, results: [], batchResults: [] })
    await vi.advanceTimersByTimeAsync(takesMs)
    return end
  }
}

test('a tool that asks for minutes has minutes', async () => {
  const call = deskOf(5 * 60_000, 4 * 60_000)
  expect(await call()).toMatchObject({ kind: 'result', result: { success: true, result: 'found' } })
})

test('a tool that asks for nothing has eight seconds', async () => {
  const call = deskOf(undefined, 8_001)
  expect(await call()).toMatchObject({ result: { metadata: { error_type: 'tool_outcome_unknown' } } })
})

// Words on the way of a task, as the channels that have a log show them: beside the answer, never as a part of it.
import { expect, test } from 'vitest'
import { createFrameRenderer } from '../../../adapters/a2a/render.ts'
import { createRunEventTranslator } from '../../../adapters/agui/live/run-events.ts'
import type { TaskEvent } from '../../../src/contract/index.ts'

const metadata = { notice: 'still_trying', text: 'I am still trying.' }
const at = '2026-11-18T13:00:00.000Z'
const event: TaskEvent = { cursor: '0.3', at, runId: 'r1', kind: 'activity', type: 'notice', metadata }

test('a2a says them in the status that the task has', () => {
  const frame = createFrameRenderer(
    { taskId: 't1', contextId: 'c1', accepted: undefined as never },
    { outputs: [] },
  )(event)
  expect(frame).toMatchObject({
    statusUpdate: {
      taskId: 't1',
      status: {
        state: 'TASK_STATE_WORKING',
        timestamp: at,
        message: { role: 'ROLE_AGENT', parts: [{ text: 'I am still trying.' }] },
      },
    },
  })
})

test('ag-ui says them in an event of their own, and the answer begins as if they had not been said', () => {
  const teller = createRunEventTranslator({ threadId: 'th', runId: 'r1', messages: [] })
  expect(teller.tell(event)).toEqual([{ type: 'CUSTOM', name: 'gw.notice', value: metadata }])
  expect(
    teller.tell({ cursor: '0.4', at, runId: 'r1', kind: 'words', delta: 'Hello' }).map(({ type }) => type),
  ).toEqual(['TEXT_MESSAGE_START', 'TEXT_MESSAGE_CONTENT'])
})

// An agent of elsewhere asks ours, over both bindings, and comes back to what it asked for.
import { afterEach, expect, test } from 'vitest'
import { type A2aPeer, aMessage, bindings, startA2a } from '../doubles/a2a-peer.ts'
import { describeOnEachDatabase } from '../setup/each-database.ts'

describeOnEachDatabase('A2A', (database) => {
  let peer: A2aPeer | undefined
  afterEach(async () => {
    await peer?.stop()
    peer = undefined
  })

  test.each(bindings)('a message over %s becomes a task with its answer', async (binding) => {
    peer = startA2a(database())
    const message = aMessage('hello')
    const sent = await peer.call(binding, 'SendMessage', { message })
    expect(sent.result).toEqual({
      task: {
        id: expect.any(String),
        contextId: expect.any(String),
        status: { state: 'TASK_STATE_COMPLETED', timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]{12}Z$/) },
        artifacts: [{ artifactId: expect.any(String), parts: [{ text: 'demo heard: hello (0 before)' }] }],
        history: [{ ...message, contextId: sent.result.task.contextId, taskId: sent.result.task.id }],
      },
    })
    const got = await peer.call(binding, 'GetTask', { id: sent.result.task.id })
    expect(got.result).toEqual(sent.result.task)
  })
})

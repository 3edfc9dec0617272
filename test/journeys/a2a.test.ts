// An agent of elsewhere asks ours, over both bindings, and comes back to what it asked for.
import { afterEach, expect, test } from 'vitest'
import { a2aChannel } from '../../adapters/a2a/index.ts'
import { type A2aPeer, aMessage, bindings, startA2a } from '../doubles/a2a-peer.ts'
import { until } from '../doubles/background-gateway.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'

describeOnDatabase('A2A', (database) => {
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

  test('ST-17 who subscribes at another instance sees what happens at the first', async () => {
    peer = startA2a(database())
    const other = startA2a(database())
    try {
      const configuration = { returnImmediately: true }
      const { result } = await peer.call('JSONRPC', 'SendMessage', { message: aMessage('wait'), configuration })
      await until(() => (peer?.obedient.running() ?? 0) + other.obedient.running() === 1)
      const stream = await other.open('JSONRPC', 'SubscribeToTask', { id: result.task.id })
      await until(() => stream.frames.length > 0)
      peer.obedient.release()
      other.obedient.release()
      await stream.ended
      expect(stream.frames.at(-1)?.body.statusUpdate.status.state).toBe('TASK_STATE_COMPLETED')
    } finally {
      await other.stop()
    }
  })

  test.each(bindings)('files, addresses and JSON of an answer come as the parts they are over %s', async (binding) => {
    peer = startA2a(database())
    const parts = async (text: string) =>
      (await peer?.call(binding, 'SendMessage', { message: aMessage(text) }))?.result.task.artifacts[0].parts
    expect(await parts('file')).toEqual([{ raw: btoa('hello'), filename: 'o.txt', mediaType: 'text/plain' }])
    expect(await parts('link')).toEqual([
      { url: 'https://example.com/output.txt', filename: 'output.txt', mediaType: 'text/plain' },
    ])
    expect(await parts('data')).toEqual([{ data: { key: 'value', count: 42 } }])
  })

  test('cards are for callers alone where the operator said nothing', async () => {
    const settings = a2aChannel.fromEnvironment({})
    if (settings === undefined || 'missing' in settings) throw new Error('the channel is off')
    const connections = [{ channel: 'a2a', id: 'default', settings: settings.settings }]
    peer = startA2a(database(), { connections })
    const path = '/.well-known/agent-card.json'
    expect((await peer.request(path)).status).toBe(200)
    const stranger = await peer.request(path, {}, { isElsewhere: true })
    expect([stranger.status, stranger.headers.get('www-authenticate')]).toEqual([401, expect.stringMatching(/^Bearer/)])
    expect((await peer.request(path, {}, { isElsewhere: true, token: await peer.token() })).status).toBe(200)
  })
})

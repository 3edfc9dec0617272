// What a blocking send asks of the database about its own task: nothing. The commit that ends its turn tells how it stands.
import { expect, test } from 'vitest'
import type { Database, Param, Statement } from '../../src/db/client.ts'
import { aMessage, startA2a } from '../doubles/a2a-peer.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'

function listening(database: Database, heard: string[]): Database {
  return {
    ...database,
    async query<Row>(statement: Statement, params: readonly Param[]) {
      heard.push(statement.name)
      const rows = await database.query<Row>(statement, params)
      heard.push(`${statement.name} done`)
      return rows
    },
  }
}

describeOnDatabase('a blocking send', (database) => {
  test('is answered from the commit that ended its turn, and reads neither its task nor an empty transcript', async () => {
    const heard: string[] = []
    const peer = startA2a(listening(database(), heard))
    const { result } = await peer.call('JSONRPC', 'SendMessage', { message: aMessage('hello') })
    await peer.stop()
    expect(result.task.status.state).toBe('TASK_STATE_COMPLETED')
    expect(heard).not.toContain('transcript_window')
    // On a slow machine it looks before that too, since another process might have ended the turn.
    const ended = heard.indexOf('complete_task_turn done')
    expect(ended).toBeGreaterThan(0)
    const reads = ['read_task', 'read_task_updates', 'task_of_message']
    expect(heard.slice(ended).filter((name) => reads.includes(name))).toEqual([])
  })

  test.each(['hello', 'ask', 'refuse', 'say one two', 'file'])(
    'answers "%s" with what is read of its task afterwards',
    async (word) => {
      const peer = startA2a(database())
      const first = await peer.call('JSONRPC', 'SendMessage', { message: aMessage(word) })
      const read = await peer.call('JSONRPC', 'GetTask', { id: first.result.task.id })
      await peer.stop()
      expect(first.result.task).toEqual(read.result)
    },
  )

  test('goes on with a task, and is answered with all of it', async () => {
    const peer = startA2a(database())
    const { result } = await peer.call('JSONRPC', 'SendMessage', { message: aMessage('ask') })
    const { id: taskId } = result.task
    const next = await peer.call('JSONRPC', 'SendMessage', { message: aMessage('hello', { taskId }) })
    const read = await peer.call('JSONRPC', 'GetTask', { id: taskId })
    await peer.stop()
    expect(next.result.task.status.state).toBe('TASK_STATE_COMPLETED')
    expect(next.result.task.history).toHaveLength(3)
    expect(next.result.task).toEqual(read.result)
  })

  test('as a stream begins with what was committed, and shows its task at work before its end', async () => {
    const heard: string[] = []
    const peer = startA2a(listening(database(), heard))
    const stream = await peer.open('JSONRPC', 'SendStreamingMessage', { message: aMessage('wait') })
    await expect.poll(() => stream.frames.length).toBe(2)
    peer.obedient.release()
    await stream.ended
    const first = stream.frames[0]?.body.task
    const read = await peer.call('JSONRPC', 'GetTask', { id: first.id })
    await peer.stop()
    expect(heard.slice(0, heard.indexOf('complete_turn done'))).not.toContain('read_task')
    expect(first.history).toEqual(read.result.history)
    expect(first.status.state).toBe('TASK_STATE_SUBMITTED')
    expect(stream.frames[1]?.body.statusUpdate.status.state).toBe('TASK_STATE_WORKING')
  })
})

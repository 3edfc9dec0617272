// What a blocking send asks of the database about its own task: how it stands when it rests, and nothing before that.
import { expect, test } from 'vitest'
import type { Database } from '../../src/storage/database.ts'
import { aMessage, startA2a } from '../doubles/a2a-peer.ts'
import { describeOnEachDatabase } from '../setup/each-database.ts'

function listening(database: Database, heard: string[]): Database {
  return {
    ...database,
    query: (statement, params) => {
      heard.push(statement.name)
      return database.query(statement, params)
    },
  }
}

describeOnEachDatabase('a blocking send', (database) => {
  test('reads its task once, when it rests', async () => {
    const heard: string[] = []
    const peer = startA2a(listening(database(), heard))
    const { result } = await peer.call('JSONRPC', 'SendMessage', { message: aMessage('hello') })
    await peer.stop()
    expect(result.task.status.state).toBe('TASK_STATE_COMPLETED')
    expect(heard.filter((name) => name === 'read_task' || name === 'task_of_message')).toEqual(['read_task'])
  })
})

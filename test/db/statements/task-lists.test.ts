// Long lists of tasks: read from an index, whatever the table holds.
import { expect, test } from 'vitest'
import type { TaskPage } from '../../../src/contract/tasks.ts'
import { nameStatement } from '../../../src/db/client.ts'
import { createTaskStore, listContextTasks, listTasks } from '../../../src/db/tasks.ts'
import { createSeal } from '../../../src/gateway/seal.ts'
import { describeOnDatabase } from '../../setup/describe-on-database.ts'

const fill = nameStatement(
  'test_fill',
  `insert into tasks (id, tenant, connection, agent, owner, context_id, conversation_id, state, state_at, dialect, status_message)
   select gen_random_uuid(), 'default', 'peer/main', 'demo', 'test:' || (n % 2), 'c' || n, gen_random_uuid(), 'completed',
     now() - n * interval '1 second', '1.0', case when n % 10 = 1 then '{"direct":true}' else '{"parts":[]}' end::jsonb
   from generate_series(1, 20000) n`,
)
function lastOf({ tasks }: TaskPage): { readonly stateAt: string; readonly id: string } {
  const { stateAt = '', id = '' } = tasks.at(-1) ?? {}
  return { stateAt, id }
}

const analyze = nameStatement('test_analyze', 'analyze tasks')

describeOnDatabase('a list of ten thousand tasks', (database) => {
  test('TA-19 is read from its index without sorting, and counted up to its limit', async () => {
    await database().query(fill, [])
    await database().query(analyze, [])
    const store = createTaskStore(database(), {
      tenant: 'default',
      connection: 'peer/main',
      seal: createSeal(async () => []),
    })
    const page = await store.list({ limit: 50 }, 'test:1')
    expect([page.tasks.length, page.total, page.hasMore]).toEqual([50, 2_000, true])
    expect(await store.list({ limit: 50, contextId: 'c3' }, 'test:1')).toMatchObject({ total: 1 })
    const params = "'default', 'peer/main', 'test:1', null"
    for (const [{ text }, more, index] of [
      [listTasks, 'null', 'tasks_listed'],
      [listContextTasks, "'c3'", 'tasks_context'],
    ] as const) {
      const given = [...`${params}, ${more}, null, null, null, null, 50`.split(', ')]
      const filled = text.replace(/\$(\d+)/g, (_, number: string) => given[Number(number) - 1] ?? 'null')
      const shown = JSON.stringify(await database().query(nameStatement('test_plan', `explain ${filled}`), []))
      expect(shown).toContain(index)
      if (index === 'tasks_listed') expect(shown).not.toContain('Sort')
    }
  })

  test('is entered where a page begins: nothing before it is read again', async () => {
    await database().query(fill, [])
    await database().query(analyze, [])
    const params = [
      "'default'",
      "'peer/main'",
      "'test:1'",
      'null',
      'null',
      'null',
      'null',
      'now()',
      "'00000000-0000-4000-8000-000000000000'",
      '50',
    ]
    const filled = listTasks.text.replace(/\$(\d+)/g, (_, number: string) => params[Number(number) - 1] ?? 'null')
    const plan = await database().query<{ readonly 'QUERY PLAN': string }>(
      nameStatement('test_plan', `explain ${filled}`),
      [],
    )
    const lines = plan.map((row) => row['QUERY PLAN'])
    expect(lines.filter((line) => line.includes('ROW(state_at, id) <'))).toEqual([
      expect.stringContaining('Index Cond: '),
    ])
  })

  test('has every task that was not merely said on one of its pages', async () => {
    await database().query(fill, [])
    const store = createTaskStore(database(), {
      tenant: 'default',
      connection: 'peer/main',
      seal: createSeal(async () => []),
    })
    const seen = new Set<string>()
    let page = await store.list({ limit: 1_000 }, 'test:1')
    for (; page.tasks.length > 0; page = await store.list({ limit: 1_000, after: lastOf(page) }, 'test:1'))
      for (const { id } of page.tasks) seen.add(id)
    // Of ten thousand every fifth was merely said.
    expect(seen.size).toBe(8_000)
  })
})

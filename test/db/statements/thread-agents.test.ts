// Which of several agents takes a message, decided inside the accept statement: by what it amends, by its thread, by itself.

import { expect, test } from 'vitest'
import { nameStatement } from '../../../src/db/client.ts'
import { storeInboxDrafts } from '../../../src/db/inbox.ts'
import type { DraftRouting, InboxDraft } from '../../../src/db/inbox-row.ts'
import { aDraft } from '../../doubles/inbox-drafts.ts'
import { describeOnDatabase } from '../../setup/describe-on-database.ts'
import { openTenantDb } from '../../setup/tenant-db.ts'

const takers = nameStatement('test_takers', 'select message_id as id, agent from inbox order by seq')
const threads = nameStatement(
  'test_threads',
  'select tenant, connection, external_id as thread, agent from thread_agents order by 1, 2, 3',
)

const agents = ['demo', 'billing', 'travel']
const sticky: DraftRouting = { own: '~10~test:alice~c1', thread: 'c1', isSticky: true, isAddressed: false, agents }

describeOnDatabase('the agent of a thread', (database) => {
  const accept = (...drafts: InboxDraft[]) => storeInboxDrafts(openTenantDb(database()), drafts)
  const said = (messageId: string, routing: Partial<DraftRouting> = {}, changes: Partial<InboxDraft> = {}) =>
    aDraft({ messageId, routing: { ...sticky, ...routing }, ...changes })
  const addressed = (messageId: string, agent: string, routing: Partial<DraftRouting> = {}) =>
    said(messageId, { isSticky: false, isAddressed: true, ...routing }, { agent })
  const taken = async () =>
    (await database().query<{ id: string; agent: string }>(takers, [])).map(({ id, agent }) => `${id} ${agent}`)

  test('is the one addressed last, also within one batch, where order counts', async () => {
    await accept(
      said('m1'),
      addressed('m2', 'billing'),
      said('m3'),
      addressed('m4', 'travel'),
      said('m5'),
      said('m6', { own: '~10~test:alice~c2', thread: 'c2' }, { candidates: ['c2'] }),
    )
    await accept(said('m7'))
    expect(await taken()).toEqual([
      'm1 demo',
      'm2 billing',
      'm3 billing',
      'm4 travel',
      'm5 travel',
      'm6 demo',
      'm7 travel',
    ])
    expect(await database().query(threads, [])).toEqual([
      { tenant: 'default', connection: 'test', thread: '~10~test:alice~c1', agent: 'travel' },
    ])
  })

  test('is none where one agent alone answers', async () => {
    await accept(addressed('m1', 'billing'))
    await accept(aDraft({ messageId: 'm2' }))
    expect(await taken()).toEqual(['m1 billing', 'm2 demo'])
  })

  test('is not changed by what is known already, too old, or a name that is nobody’s', async () => {
    await accept(addressed('m1', 'billing'), addressed('m2', 'travel'))
    const late = { platformAt: '2020-01-01T00:00:00Z' }
    await accept(
      addressed('m1', 'billing'),
      { ...addressed('m3', 'billing'), ...late },
      addressed('m4', 'billing', { own: null }),
      said('m5'),
    )
    expect((await taken()).slice(-1)).toEqual(['m5 travel'])
  })

  test('belongs to one tenant and one connection', async () => {
    await accept(addressed('m1', 'billing'))
    await accept(said('m2', {}, { connection: 'other' }), said('m3', {}, { tenant: 'other' }))
    expect(await taken()).toEqual(['m1 billing', 'm2 demo', 'm3 demo'])
  })

  test('that is gone is none', async () => {
    await accept(addressed('m1', 'billing'))
    await accept(said('m2', { agents: ['demo', 'travel'] }))
    expect(await taken()).toEqual(['m1 billing', 'm2 demo'])
  })

  test('does not take an amendment of what another has, unless somebody else wrote that', async () => {
    await accept(addressed('m1', 'billing'))
    await accept(addressed('m2', 'travel'))
    const edit = { event: 'edit', editOf: 'm1' } as const
    await accept(said('e1', {}, edit), said('e2', {}, { ...edit, subject: 'test:eve' }))
    expect((await taken()).slice(2)).toEqual(['e1 billing', 'e2 travel'])
  })

  test('is kept by many replicas at once without a deadlock', async () => {
    const batch = (turn: number) => {
      const pair = ['a', 'b'].map((thread) =>
        addressed(`${thread}${turn}`, agents[turn % 3] ?? 'demo', { own: thread }),
      )
      return turn % 2 === 0 ? pair : pair.toReversed()
    }
    await Promise.all(Array.from({ length: 24 }, (_, turn) => accept(...batch(turn))))
    expect(await taken()).toHaveLength(48)
    expect(await database().query(threads, [])).toHaveLength(2)
  })
})

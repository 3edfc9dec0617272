// Whether a chain of callers may go on: once here, and no further than we allow.

import { expect, test } from 'vitest'
import type { CallerContext } from '../../../src/contract/caller.ts'
import { nameStatement } from '../../../src/db/client.ts'
import { createSweepStore } from '../../../src/db/retention.ts'
import { recordChainVisitOrRefuse } from '../../../src/turns/admit.ts'
import { aMessage } from '../../doubles/inbox-drafts.ts'
import { describeOnDatabase } from '../../setup/describe-on-database.ts'
import { openTenantDb } from '../../setup/tenant-db.ts'

const host = 'https://gateway.example'
const age = nameStatement('test_age', `update call_chains set created_at = now() - interval '3 days'`)
const all = nameStatement('test_chains', 'select root, agent, depth from call_chains')

describeOnDatabase('a chain of callers', (database) => {
  const admit = (caller: Partial<CallerContext> | undefined, agent = 'demo', tenant = 'default') => {
    const told = { caller_agent: 'helper', caller_user: 0, caller_host: 'https://other.example' }
    const chained = { ...told, chain_depth: 1, chain_root: 'r', ...caller }
    const message = aMessage()
    const channel = { ...message.channel, ...(caller === undefined ? {} : { caller: chained }) }
    const db = openTenantDb(database(), tenant)
    return recordChainVisitOrRefuse({ db, host: async () => host }, { ...message, channel } as typeof message, {
      agent,
      inboxId: '01890000-0000-7000-8000-000000000000',
    })
  }

  test('passes where there is none, or where it begins, and leaves no trace', async () => {
    expect(await admit(undefined)).toBeUndefined()
    expect(await admit({ chain_depth: 0, caller_agent: null, caller_host: 'self' })).toBeUndefined()
    expect(await database().query(all, [])).toEqual([])
  })

  test('is a loop when it comes back from further away, and for that agent and tenant only', async () => {
    expect(await admit({ chain_depth: 1 })).toBeUndefined()
    expect(await admit({ chain_depth: 3 })).toBe('gw:agent_loop')
    expect(await admit({ chain_depth: 3 }, 'second')).toBeUndefined()
    expect(await admit({ chain_depth: 3 }, 'demo', 'other')).toBeUndefined()
    expect(await admit({ chain_depth: 3, chain_root: 'another' })).toBeUndefined()
  })

  test('may be tried again, as often as its message is', async () => {
    for (let tries = 0; tries < 3; tries += 1) expect(await admit({ chain_depth: 2 })).toBeUndefined()
  })

  test('is no loop when one caller asks twice, or somebody nearer to the root asks later', async () => {
    expect(await admit({ chain_depth: 2 })).toBeUndefined()
    expect(await admit({ chain_depth: 2 })).toBeUndefined()
    expect(await admit({ chain_depth: 1 })).toBeUndefined()
    expect(await database().query(all, [])).toEqual([{ root: 'r', agent: 'demo', depth: 1 }])
    expect(await admit({ chain_depth: 2 })).toBe('gw:agent_loop')
  })

  test('of two that meet one is told', async () => {
    const both = await Promise.all([admit({ chain_depth: 1 }), admit({ chain_depth: 2 })])
    // Whichever comes first: the further one never passes after the nearer one.
    expect(both[0]).toBeUndefined()
    expect(await admit({ chain_depth: 2 })).toBe('gw:agent_loop')
  })

  test('ends at the fourth hop, and where an agent calls itself', async () => {
    expect(await admit({ chain_depth: 4 })).toBeUndefined()
    expect(await admit({ chain_depth: 5, chain_root: 's' })).toBe('gw:hop_limit')
    expect(await admit({ caller_agent: 'demo', caller_host: `${host}/`, chain_root: 's' })).toBe('gw:agent_loop')
  })

  test('is forgotten after some days', async () => {
    await admit({ chain_depth: 1 })
    const policy = { contentDays: 90, refusedHours: 24, receiptDays: 120, auditDays: 400, batch: 100 }
    await createSweepStore(database(), 'default').sweep(policy)
    expect(await database().query(all, [])).toHaveLength(1)
    await database().query(age, [])
    await createSweepStore(database(), 'default').sweep(policy)
    expect(await database().query(all, [])).toEqual([])
  })
})

// Farewells of people who took part in no conversation: found by an index, and nobody's receipts are walked for them.

import { expect, test } from 'vitest'
import { type Database, nameStatement } from '../../../src/db/client.ts'
import { storeInboxDrafts } from '../../../src/db/inbox.ts'
import type { InboxDraft } from '../../../src/db/inbox-row.ts'
import { processAccountDeletions } from '../../../src/identity/erase.ts'
import { rowsWith, tablesWith } from '../../doubles/find-text-in-database.ts'
import { aDraft } from '../../doubles/inbox-drafts.ts'
import { talk } from '../../doubles/stored-sessions.ts'
import { watchedDatabase } from '../../doubles/watched-database.ts'
import { describeOnDatabase } from '../../setup/describe-on-database.ts'
import { openTenantDb } from '../../setup/tenant-db.ts'

const ada = 'https://peer.test/ada-canary'
const bob = 'https://peer.test/bob-canary'
const due = nameStatement('test_due', 'update account_deletions set due_at = now()')
const waiting = nameStatement('test_waiting', 'select phase, after from account_deletions')
const earlier = nameStatement('test_earlier', `update inbox set received_at = received_at - interval '1 hour'`)
const counted = nameStatement(
  'test_counted',
  `select detail from audit_log where action = 'forget' and outcome = 'done'`,
)

const nothing = {
  kind: 'rejected_event',
  state: 'ignored',
  message: undefined,
  content: '',
  messageId: undefined,
  candidates: [],
} as const
const left = (name: string, more: Partial<InboxDraft> = {}): InboxDraft =>
  aDraft({ ...nothing, reason: name, dedupe: `${ada}#${name}`, subject: ada, raw: { actor: ada }, ...more })
const farewell = left('delete', { isAccountDeleted: true })

describeOnDatabase('a farewell of somebody in no conversation', (database) => {
  const accept = (...drafts: InboxDraft[]) => storeInboxDrafts(openTenantDb(database()), drafts)
  const carryOut = async (on: Database = database()) => {
    await database().query(due, [])
    return processAccountDeletions({ database: on, tenant: 'default', monotonicMs: () => performance.now() }, 60_000)
  }
  const dyingAfter = (name: string) =>
    watchedDatabase(database(), (at) => {
      if (at === `after:${name}`) throw new Error('as after kill -9')
    })
  const asked = async (): Promise<readonly string[]> => {
    const names: string[] = []
    await carryOut(watchedDatabase(database(), (at) => void names.push(at)))
    return names.filter((at) => at.startsWith('after:erase_receipt_page')).map((at) => at.slice('after:'.length))
  }

  test('walks nobody’s receipts, and leaves nothing', async () => {
    await talk(database(), { subject: bob, conversation: 'room', text: 'bob-canary says' })
    await accept(left('follow'), left('follow', { connection: 'other' }), left('undo'))
    const before = await rowsWith(database(), 'bob-canary')
    await accept(farewell)
    expect(await asked()).toEqual(['erase_receipt_page_of_stray'])
    expect(await rowsWith(database(), 'ada-canary')).toEqual({ inbox: 1 })
    expect(await rowsWith(database(), 'bob-canary')).toEqual(before)
    expect(await database().query(waiting, [])).toEqual([])
    expect(await database().query(counted, [])).toMatchObject([{ detail: { receipts: 3 } }])
  })

  test.each([
    'claim_account_deletion',
    'erase_receipt_page_of_stray',
    'delete_account_pairings',
    'delete_account_written',
    'end_account_deletion',
  ])('of a process that dies after %s is finished by the next, in the same way', async (name) => {
    await accept(left('follow'), farewell)
    await expect(carryOut(dyingAfter(name))).rejects.toThrow()
    expect(await asked()).not.toContain('erase_receipt_page_of_address')
    expect(await tablesWith(database(), 'ada-canary')).toEqual([])
    expect(await database().query(waiting, [])).toEqual([])
  })

  test('is none where they were taken out of their only conversation by a process that died then', async () => {
    await talk(database(), { subject: ada, conversation: 'c1', text: 'hello' })
    await accept(farewell)
    await expect(carryOut(dyingAfter('erase_conversation_of_address'))).rejects.toThrow()
    expect(await asked()).toEqual(['erase_receipt_page_of_address'])
    expect(await tablesWith(database(), 'ada-canary')).toEqual([])
  })

  test('is none either where they say it once more in between', async () => {
    await talk(database(), { subject: ada, conversation: 'c1', text: 'hello' })
    await accept(farewell)
    await expect(carryOut(dyingAfter('erase_conversation_of_address'))).rejects.toThrow()
    await accept(left('delete again', { isAccountDeleted: true }))
    expect(await asked()).toEqual(['erase_receipt_page_of_address'])
    expect(await tablesWith(database(), 'ada-canary')).toEqual([])
  })

  test('goes on where something they had said before was stored only meanwhile', async () => {
    await accept(left('follow'), farewell)
    const late = watchedDatabase(database(), async (at) => {
      if (at !== 'after:delete_account_written') return
      await talk(database(), { subject: ada, conversation: 'c1', text: 'hello' })
      await database().query(earlier, [])
    })
    await carryOut(late)
    expect(await database().query(waiting, [])).toEqual([{ phase: 'new', after: null }])
    await carryOut()
    expect(await database().query(waiting, [])).toEqual([])
    expect(await tablesWith(database(), 'ada-canary')).toEqual([])
  })
})

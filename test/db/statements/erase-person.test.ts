// Forgetting at the store: only this tenant, only this person, in batches, and nothing that a holder can still write.

import { expect, test } from 'vitest'
import { type Database, nameStatement } from '../../../src/db/client.ts'
import { createEraseStore, type EraseStore } from '../../../src/db/erase-person.ts'
import { storeInboxDrafts } from '../../../src/db/inbox.ts'
import { createSweepStore } from '../../../src/db/retention.ts'
import { createRunLog } from '../../../src/db/transcripts.ts'
import { completeTurn, openTurn, releaseLane, renewLanes } from '../../../src/db/turns.ts'
import { countPersonData, erasePerson, noneErased } from '../../../src/identity/erase.ts'
import { tablesWith } from '../../doubles/find-text-in-database.ts'
import { aDraft } from '../../doubles/inbox-drafts.ts'
import { hold, newTurn, talk } from '../../doubles/stored-sessions.ts'
import { silentEnd } from '../../doubles/turn-result.ts'
import { watchedDatabase } from '../../doubles/watched-database.ts'
import { describeOnDatabase } from '../../setup/describe-on-database.ts'
import { openTenantDb } from '../../setup/tenant-db.ts'

const ada = 'loopback:ada-canary'
const bob = 'loopback:bob-canary'
const conversations = nameStatement('test_conversations', 'select count(*)::int as n from conversations')
const anHourLater = nameStatement(
  'test_later',
  `update conversations set last_activity_at = now() - interval '2 hours'`,
)
const link = nameStatement(
  'test_link',
  `insert into identity_links (tenant, subject, principal, created_by)
   values ($1, $2, $3, 'test') on conflict do nothing`,
)

describeOnDatabase('forgetting', (database) => {
  const store = () => createEraseStore(database(), 'default')
  const forget = (principal: string, budgetMs = 60_000, from: Parameters<typeof erasePerson>[1]['from'] = null) =>
    erasePerson({ store: store(), monotonicMs: () => performance.now() }, { principal, actor: 'test', budgetMs, from })
  const turns = () => openTenantDb(database(), { tenant: 'default', holder: 'test', leaseMs: 60_000 })
  const count = async (asked = conversations) =>
    (await (database() as Database).query<{ n: number }>(asked, []))[0]?.n ?? -1

  test('finds a person by every name an operator linked, in both directions, and by their id in the audit log', async () => {
    await database().query(link, ['default', 'mail:ada', ada])
    await database().query(link, ['default', 'phone:ada', 'mail:ada'])
    await database().query(link, ['another', 'phone:ada', 'mail:somebody-else'])
    const all = [ada, 'mail:ada', 'phone:ada'].toSorted()
    for (const name of all) expect(await store().namesOf(name)).toEqual(all)
    const known = nameStatement(
      'test_principal',
      `insert into principals (tenant, id, subject) values ('default', gen_random_uuid(), $1) returning id`,
    )
    const [row] = await database().query<{ id: string }>(known, [ada])
    expect(await store().namesOf(row?.id ?? '')).toEqual(expect.arrayContaining(all))
  })

  test('stays within its tenant, where somebody else goes by the same name', async () => {
    const foreign = nameStatement(
      'test_foreign',
      `with g as (insert into grants (tenant, id, subject, effect, source, created_by)
         values ('another', gen_random_uuid(), $1, 'allow', 'test', 'test'))
       insert into principals (tenant, id, subject) values ('another', gen_random_uuid(), $1)`,
    )
    await database().query(foreign, [ada])
    await storeInboxDrafts(openTenantDb(database()), [aDraft({ tenant: 'another', messageId: 'm1', subject: ada })])
    const before = await tablesWith(database(), ada)
    expect((await forget(ada)).removed).toEqual(noneErased)
    expect(await tablesWith(database(), ada)).toEqual(before)
    expect(before).toEqual(expect.arrayContaining(['inbox', 'participants', 'grants', 'principals']))
  })

  test('ends a turn under its holder: nothing the holder writes afterwards is kept', async () => {
    const held = await hold(database(), { subject: ada, conversation: 'c1', text: 'hello' })
    const turn = newTurn(held, ada)
    await openTurn(turns(), held, turn, [])
    const { removed, isDone } = await forget(ada)
    expect(isDone).toBe(true)
    expect(removed).toMatchObject({ inFlight: 1, turns: 1, conversations: 1, sessions: 1 })
    expect(await completeTurn(turns(), held, silentEnd(turn))).toBeUndefined()
    expect(await releaseLane(turns(), held, 0, 'failed', 'x')).toBe(false)
    expect(await renewLanes(turns(), [held])).toEqual(new Set())
    // What a channel appends to the log of a run that is gone goes nowhere.
    await createRunLog(database()).append(turn.id, 'late', { text: ada })
    expect(await tablesWith(database(), 'ada-canary')).toEqual([])
  })

  test('takes a lane from a holder that has read their message and not yet begun', async () => {
    const held = await hold(database(), { subject: ada, conversation: 'c1', text: 'hello' })
    await forget(ada)
    expect(await openTurn(turns(), held, newTurn(held, ada), [])).toBe(false)
    expect(await tablesWith(database(), 'ada-canary')).toEqual([])
  })

  test('leaves the turn of somebody else in the same room alone', async () => {
    await talk(database(), { subject: ada, conversation: 'room', text: 'hello' })
    const held = await hold(database(), { subject: bob, conversation: 'room', text: 'hi' })
    const turn = newTurn(held, bob)
    await openTurn(turns(), held, turn, [])
    expect((await forget(ada)).removed).toMatchObject({
      sharedConversations: 1,
      conversations: 0,
      lines: 2,
      inFlight: 0,
    })
    expect(await completeTurn(turns(), held, silentEnd(turn))).toBeDefined()
    expect(await tablesWith(database(), 'ada-canary')).toEqual([])
  })

  test('goes on where it stopped, when one request may take no longer', async () => {
    for (const conversation of ['c1', 'c2', 'c3']) await talk(database(), { subject: ada, conversation, text: 'hello' })
    await database().query(link, ['default', 'mail:ada-canary', ada])
    let piece = await forget('mail:ada-canary', 0)
    let pieces = 1
    while (piece.next !== null) {
      piece = await forget('mail:ada-canary', 0, piece.next)
      pieces += 1
    }
    expect(pieces).toBeGreaterThan(3)
    expect(await tablesWith(database(), 'ada-canary')).toEqual([])
    const outcomes = nameStatement(
      'test_outcomes',
      `select outcome from audit_log where action = 'forget' order by seq`,
    )
    const told = (await database().query<{ outcome: string }>(outcomes, [])).map(({ outcome }) => outcome)
    expect(told.at(-1)).toBe('done')
    expect(new Set(told)).toEqual(new Set(['begun', 'done']))
  })

  test('finds what is left after dying at any step', async () => {
    const steps = ['stop', 'eraseLines', 'eraseRuns', 'eraseTurns', 'leave', 'erasePairings', 'eraseReceipts'] as const
    for (const step of [...steps, 'eraseWritten', 'close'] as const) {
      await talk(database(), { subject: ada, conversation: `c-${step}`, text: 'hello' })
      const dying: EraseStore = { ...store(), [step]: () => Promise.reject(new Error('died')) }
      const wish = { principal: ada, actor: 'test', budgetMs: 60_000, from: null }
      await expect(erasePerson({ store: dying, monotonicMs: () => 0 }, wish)).rejects.toThrow('died')
      expect((await forget(ada)).isDone).toBe(true)
      expect(await tablesWith(database(), 'ada-canary'), step).toEqual([])
    }
  })

  const commits = [
    'stop_erased',
    'erase_lines',
    'erase_runs',
    'erase_turns',
    'erase_conversation',
    'erase_pairings',
    'erase_receipt_page',
    'erase_written',
  ]
  test.each(commits)('that dies after %s is finished by doing it again', async (name) => {
    await database().query(link, ['default', 'mail:ada-canary', ada])
    await talk(database(), { subject: ada, conversation: 'c1', text: 'hello' })
    await talk(database(), { subject: 'mail:ada-canary', conversation: 'c2', text: 'hello' })
    await talk(database(), { subject: bob, conversation: 'c3', text: 'hello' })
    const dying = watchedDatabase(database(), (at) => {
      if (at === `after:${name}`) throw new Error('as after kill -9')
    })
    const again = { principal: ada, actor: 'test', budgetMs: 60_000, from: null }
    const run = (on: Database) =>
      erasePerson({ store: createEraseStore(on, 'default'), monotonicMs: () => performance.now() }, again)
    // Inside a transaction the database says so in its own words.
    await expect(run(dying)).rejects.toThrow()
    expect(await run(database())).toMatchObject({ isDone: true })
    expect(await tablesWith(database(), 'ada-canary')).toEqual([])
    expect(await tablesWith(database(), bob)).toContain('inbox')
  })

  test('with whom they talked in threads of their own is forgotten, and nobody else’s is', async () => {
    const keep = nameStatement(
      'test_threads',
      `insert into thread_agents (tenant, connection, external_id, agent)
       select 'default', 'test', '~' || length(who) || '~' || who || '~t1', 'demo' from unnest(array['${ada}', '${bob}', '${ada}2']) who`,
    )
    await database().query(keep, [])
    await forget(ada)
    const left = nameStatement('test_left', 'select external_id as name from thread_agents order by 1')
    const names = (await database().query<{ name: string }>(left, [])).map(({ name }) => name)
    expect(names.toSorted()).toEqual([`~${bob.length}~${bob}~t1`, `~${ada.length + 1}~${ada}2~t1`].toSorted())
  })

  test('is counted beforehand as it is removed afterwards', async () => {
    await talk(database(), { subject: ada, conversation: 'c1', text: 'hello' })
    await talk(database(), { subject: bob, conversation: 'c2', text: 'hello' })
    const written = nameStatement(
      'test_written',
      `with decided as (insert into consents (tenant, id, operation, is_allowed, reason, session_id, audit)
         select s.tenant, gen_random_uuid(), 'store_transcript', false, 'test', s.id, '{}' from sessions s),
       said as (insert into consents (tenant, id, operation, is_allowed, reason, subject, audit)
         values ('default', gen_random_uuid(), 'share_transcript', true, 'test', $1, '{}')),
       called as (insert into call_chains (tenant, root, agent, host, depth) values ('default', $1, 'demo', 'h', 1))
       insert into tombstones (tenant, connection, message_id, subject, event, inbox_id)
       values ('default', 'loopback/default', 'm1', $1, 'delete', gen_random_uuid())`,
    )
    await database().query(written, [ada])
    const counted = await countPersonData({ store: store() }, ada)
    expect(counted).toMatchObject({ consents: 2, tombstones: 1, chains: 1, sessions: 1, lines: 2 })
    expect((await forget(ada)).removed).toEqual(counted)
  })

  test('what is left of a conversation says nothing, and is swept when nobody can mean it any more', async () => {
    await talk(database(), { subject: ada, conversation: 'c1', text: 'hello' })
    await talk(database(), { subject: bob, conversation: 'c2', text: 'hello' })
    await forget(ada)
    const policy = { contentDays: 90, refusedHours: 24, receiptDays: 120, auditDays: 400, batch: 10 }
    await createSweepStore(database(), 'default').sweep(policy)
    expect(await count()).toBe(2)
    await database().query(anHourLater, [])
    await createSweepStore(database(), 'default').sweep(policy)
    expect(await count()).toBe(1)
    expect(await tablesWith(database(), bob)).toContain('conversations')
  })
})

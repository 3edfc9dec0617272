// Farewells at the store: taken with their arrival, carried out in pieces, by one process at a time, and no further than they reach.

import { expect, test } from 'vitest'
import { claimAccountDeletion, createAccountDeletionErasure } from '../../../src/db/account-deletions.ts'
import { type Database, nameStatement } from '../../../src/db/client.ts'
import { storeInboxDrafts } from '../../../src/db/inbox.ts'
import type { InboxDraft } from '../../../src/db/inbox-row.ts'
import { claimTurns, completeTurn, openTurn } from '../../../src/db/turns.ts'
import { processAccountDeletions } from '../../../src/identity/erase.ts'
import { rowsWith, tablesWith } from '../../doubles/find-text-in-database.ts'
import { aDraft } from '../../doubles/inbox-drafts.ts'
import { hold, newTurn, talk } from '../../doubles/stored-sessions.ts'
import { silentEnd } from '../../doubles/turn-result.ts'
import { watchedDatabase } from '../../doubles/watched-database.ts'
import { describeOnDatabase } from '../../setup/describe-on-database.ts'
import { openTenantDb } from '../../setup/tenant-db.ts'

const ada = 'https://peer.test/ada-canary'
const bob = 'https://peer.test/bob-canary'
const farewells = nameStatement('test_farewells', 'select subject, phase, after, epoch::int from account_deletions')
const due = nameStatement('test_due', 'update account_deletions set due_at = now()')
const audited = nameStatement(
  'test_audited',
  `select outcome, connection, principal_id as "principalId", inbox_id as "inboxId", detail from audit_log
   where action = 'forget' order by seq`,
)
const link = nameStatement(
  'test_link',
  `with met as (insert into principals (tenant, id, subject) values ('default', gen_random_uuid(), $1))
   insert into identity_links (tenant, subject, principal, created_by) values ('default', $1, $2, 'test')`,
)

/** What she says in a conversation with somebody else, and alone, and what is written down about both. */
const written = nameStatement(
  'test_written',
  `
with who as (select unnest(array['${ada}', '${bob}']) as name),
b as (insert into blobs (id, tenant, store, bucket, path, status, sha256, bytes)
  select gen_random_uuid(), 'default', 'disk', 'files', name, 'ready', md5(name), 1 from who returning id, path),
a as (insert into attachments (tenant, id, blob_id, mime_type, size, owner, received_via, status, inbox_id, session_id)
  select 'default', gen_random_uuid(), b.id, 'text/plain', 1, 'mail:somebody', 'test', 'ready', x.id, gen_random_uuid()
  from b join inbox x on x.subject = b.path),
r as (insert into channel_records (tenant, connection, family, key, value, subject)
  select 'default', 'test', 'follower', name, '{}', name from who),
n as (insert into ttl_entries (tenant, connection, family, key, value, subject, expires_at)
  select 'default', 'test', 'actor', name, '{}', name, now() + interval '1 hour' from who),
c as (insert into room_status (tenant, connection, room, reason, subject, changed_at)
  select 'default', 'test', name, 'gone', name, now() from who),
s as (insert into tombstones (tenant, connection, message_id, subject, event, inbox_id)
  select 'default', 'test', 'm', name, 'delete', gen_random_uuid() from who)
insert into consents (tenant, id, operation, is_allowed, reason, subject, connection, audit)
select 'default', gen_random_uuid(), 'store_memory', true, 'test', name, 'test', '{}' from who`,
)

function farewell(changes: Partial<InboxDraft> = {}): InboxDraft {
  const nothing = {
    kind: 'rejected_event',
    state: 'ignored',
    reason: 'gone',
    message: undefined,
    candidates: [],
  } as const
  const named = `${changes.subject ?? ada}#delete`
  const own = { dedupe: named, deliveryId: named, messageId: undefined, content: '', raw: { actor: ada } }
  return aDraft({ ...nothing, ...own, subject: ada, isAccountDeleted: true, ...changes })
}

describeOnDatabase('a farewell', (database) => {
  const accept = (...drafts: InboxDraft[]) => storeInboxDrafts(openTenantDb(database()), drafts)
  const carryOut = async (on: Database = database(), budgetMs = 60_000) => {
    await database().query(due, [])
    return processAccountDeletions({ database: on, tenant: 'default', monotonicMs: () => performance.now() }, budgetMs)
  }
  const turns = () => openTenantDb(database(), { tenant: 'default', holder: 'test', leaseMs: 60_000 })
  const told = () => database().query<{ outcome: string; detail: unknown }>(audited, [])

  test('leaves nothing of whoever said it, and everything of whoever they talked with', async () => {
    await talk(database(), { subject: ada, conversation: 'alone', text: 'ada-canary says' })
    await talk(database(), { subject: ada, conversation: 'room', text: 'ada-canary says' })
    await talk(database(), { subject: bob, conversation: 'room', text: 'bob-canary says' })
    await database().query(written, [])
    const before = await rowsWith(database(), 'bob-canary')
    await accept(farewell())
    expect(await carryOut()).toBe(1)
    expect(await tablesWith(database(), 'ada-canary')).toEqual(['blobs'])
    expect(await rowsWith(database(), 'bob-canary')).toEqual(before)
    expect(await database().query(farewells, [])).toEqual([])
    const shared = { conversations: 1, sharedConversations: 1, lines: 4, turns: 2, receipts: 3, attachments: 2 }
    expect(await told()).toMatchObject([
      { outcome: 'asked', connection: 'test', detail: null },
      { outcome: 'done', detail: { ...shared, records: 1, consents: 1, tombstones: 1 } },
    ])
  })

  test('ends what waits and what is at work for them; nothing its holder writes afterwards is kept', async () => {
    const held = await hold(database(), { subject: ada, conversation: 'c1', text: 'hello' })
    const turn = newTurn(held, ada)
    await openTurn(turns(), held, turn, [])
    await accept(aDraft({ messageId: 'm2', subject: ada, candidates: ['c1'] }), farewell())
    await carryOut()
    expect(await completeTurn(turns(), held, silentEnd(turn))).toBeUndefined()
    expect(await tablesWith(database(), 'ada-canary')).toEqual([])
    expect((await told()).at(-1)).toMatchObject({ detail: { inFlight: 2 } })
  })

  test('reaches neither another connection nor another tenant nor whoever an operator linked with them', async () => {
    await database().query(link, [ada, 'mail:ada-canary'])
    await talk(database(), { subject: 'mail:ada-canary', conversation: 'mail', text: 'hello' })
    await talk(database(), { subject: bob, conversation: 'room', text: 'hello' })
    const before = await rowsWith(database(), 'ada-canary')
    // What they wrote here ran for whoever they are linked with.
    const held = await hold(database(), { subject: ada, conversation: 'room', text: 'hello' })
    const turn = newTurn(held, 'mail:ada-canary')
    await openTurn(turns(), held, turn, [])
    await completeTurn(turns(), held, silentEnd(turn))
    const elsewhere = [{ connection: 'other' }, { tenant: 'another' }]
    for (const where of elsewhere) {
      await accept(aDraft({ ...where, messageId: 'm1', subject: ada }))
      await accept(farewell({ ...where, isAccountDeleted: false }))
    }
    await accept(farewell())
    await carryOut()
    const more = (table: string) => (before[table] ?? 0) + elsewhere.length
    const left = {
      inbox: more('inbox') + elsewhere.length,
      conversations: more('conversations'),
      participants: more('participants'),
    }
    expect(await rowsWith(database(), 'ada-canary')).toEqual({ ...before, ...left })
    expect((await told()).at(-1)).toMatchObject({ detail: { turns: 1, sharedConversations: 1, receipts: 2 } })
  })

  test('leaves what came later under the same address, also in the same conversation', async () => {
    await talk(database(), { subject: ada, conversation: 'c1', text: 'old words' })
    await accept(farewell())
    await talk(database(), { subject: ada, conversation: 'c1', text: 'new words' })
    await accept(aDraft({ messageId: 'm9', subject: ada, candidates: ['c1'] }))
    await carryOut()
    expect(await tablesWith(database(), 'old words')).toEqual([])
    expect(await rowsWith(database(), 'new words')).toMatchObject({ messages: 2, inbox: 1 })
    const waiting = nameStatement('test_waiting', `select message_id as id from inbox where state = 'queued'`)
    expect(await database().query(waiting, [])).toEqual([{ id: 'm9' }])
  })

  test('waits for a turn that answers something later as well, and then takes what it is about', async () => {
    const said = (messageId: string) =>
      aDraft({ messageId, subject: ada, candidates: ['c1'], raw: { words: messageId } })
    await accept(said('old words'))
    await accept(farewell())
    await accept(said('new words'))
    const [held] = await claimTurns(turns(), 1)
    if (held === undefined) throw new Error('two messages wait')
    const turn = newTurn(held, ada)
    expect(turn.members).toHaveLength(2)
    await openTurn(turns(), held, turn, [])
    await carryOut()
    expect(await database().query(farewells, [])).toMatchObject([{ phase: 'conversations', after: null }])
    expect(await completeTurn(turns(), held, silentEnd(turn))).toBeDefined()
    await carryOut()
    expect(await database().query(farewells, [])).toEqual([])
    expect(await tablesWith(database(), 'old words')).toEqual([])
    expect(await tablesWith(database(), 'new words')).toContain('inbox')
  })

  test('is taken again from whoever came back and left again, and not from one that is only delivered again', async () => {
    await talk(database(), { subject: ada, conversation: 'c1', text: 'hello' })
    await accept(farewell())
    expect(await accept(farewell())).toMatchObject([{ kind: 'duplicate' }])
    await carryOut()
    await talk(database(), { subject: ada, conversation: 'c1', text: 'hello again' })
    await accept(farewell())
    await carryOut()
    expect(await tablesWith(database(), 'ada-canary')).toEqual([])
    expect((await told()).map(({ outcome }) => outcome)).toEqual(['asked', 'done', 'asked', 'done'])
  })

  test('is not taken where its arrival is not', async () => {
    const old = { platformAt: '2026-01-01T00:00:00.000Z', horizonMs: 1 }
    await accept(farewell(old))
    const dying = watchedDatabase(database(), () => {})
    const rolledBack = dying.transaction(async (sql) => {
      const inner = { ...dying, ...sql, accepting: sql }
      await storeInboxDrafts(openTenantDb(inner), [farewell({ subject: bob })])
      throw new Error('as after kill -9')
    })
    await expect(rolledBack).rejects.toThrow()
    expect(await database().query(farewells, [])).toEqual([])
    expect(await told()).toEqual([])
  })

  test('goes on in pieces, each where the last one ended', async () => {
    for (const conversation of ['c1', 'c2', 'c3']) await talk(database(), { subject: ada, conversation, text: 'hello' })
    await accept(farewell())
    let pieces = 0
    for (; (await database().query(farewells, [])).length > 0 && pieces < 20; pieces += 1) {
      await database().query(due, [])
      let asked = 0
      await processAccountDeletions({ database: database(), tenant: 'default', monotonicMs: () => asked++ }, 2)
    }
    expect(pieces).toBeGreaterThan(3)
    expect(await tablesWith(database(), 'ada-canary')).toEqual([])
    expect((await told()).at(-1)).toMatchObject({
      outcome: 'done',
      detail: { conversations: 3, lines: 6, receipts: 4 },
    })
  })

  const commits = [
    'stop_erased',
    'erase_lines',
    'erase_runs',
    'erase_turns',
    'erase_conversation',
    'erase_receipt_page',
  ].map((name) => `${name}_of_address`)
  const last = [
    'claim_account_deletion',
    'delete_account_pairings',
    'delete_account_ambient_context',
    'delete_account_attachments',
    'delete_account_written',
  ]
  test.each([...commits, ...last, 'end_account_deletion'])(
    'of a process that dies after %s is finished by the next',
    async (name) => {
      await talk(database(), { subject: ada, conversation: 'c1', text: 'hello' })
      await talk(database(), { subject: ada, conversation: 'room', text: 'hello' })
      await talk(database(), { subject: bob, conversation: 'room', text: 'bob-canary says' })
      await database().query(written, [])
      const before = await rowsWith(database(), 'bob-canary')
      await accept(farewell())
      const dying = watchedDatabase(database(), (at) => {
        if (at === `after:${name}`) throw new Error('as after kill -9')
      })
      await expect(carryOut(dying)).rejects.toThrow()
      await carryOut()
      expect(await tablesWith(database(), 'ada-canary')).toEqual(['blobs'])
      expect(await rowsWith(database(), 'bob-canary')).toEqual(before)
    },
  )

  test('is carried out once by two processes that sweep at the same moment', async () => {
    for (const who of [ada, `${ada}-2`, `${ada}-3`]) {
      for (const conversation of [`${who} 1`, 'room'])
        await talk(database(), { subject: who, conversation, text: 'hi' })
      await accept(farewell({ subject: who, dedupe: who }))
    }
    await talk(database(), { subject: bob, conversation: 'room', text: 'bob-canary says' })
    await database().query(due, [])
    const sweep = () =>
      processAccountDeletions({ database: database(), tenant: 'default', monotonicMs: () => performance.now() }, 60_000)
    const counts = await Promise.all([sweep(), sweep(), sweep()])
    expect(counts.reduce((sum, each) => sum + each, 0)).toBe(3)
    expect(await tablesWith(database(), 'ada-canary')).toEqual([])
    expect((await told()).filter(({ outcome }) => outcome === 'done')).toHaveLength(3)
    expect(await tablesWith(database(), 'bob-canary says')).toEqual(['inbox', 'messages'])
  })

  test('that a slower process still works on is not ended by it', async () => {
    await talk(database(), { subject: ada, conversation: 'c1', text: 'hello' })
    await accept(farewell())
    await database().query(due, [])
    const claim = () => claimAccountDeletion(database(), 'default', 60_000)
    const slow = await claim()
    expect(await claim()).toBeUndefined()
    await database().query(due, [])
    expect(await claim()).toMatchObject({ epoch: 2 })
    if (slow === undefined) throw new Error('it was due')
    await createAccountDeletionErasure(database(), 'default', slow).close([], {
      actor: 'test',
      next: null,
      removed: {},
    })
    expect(await database().query(farewells, [])).toMatchObject([{ epoch: 2 }])
  })
})

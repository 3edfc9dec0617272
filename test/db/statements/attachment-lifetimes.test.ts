// Files go with what refers to them: the session, the message, the person, and what retention takes.

import { expect, test } from 'vitest'
import { createAttachmentStore } from '../../../src/db/attachments.ts'
import { nameStatement } from '../../../src/db/client.ts'
import { createEraseStore } from '../../../src/db/erase-person.ts'
import { createSweepStore } from '../../../src/db/retention.ts'
import { deleteSession } from '../../../src/db/sessions.ts'
import { completeTurn, openTurn } from '../../../src/db/turns.ts'
import { countPersonData, erasePerson } from '../../../src/identity/erase.ts'
import { hold, newTurn, talk } from '../../doubles/stored-sessions.ts'
import { silentEnd } from '../../doubles/turn-result.ts'
import { stored } from '../../doubles/uploads.ts'
import { describeOnDatabase } from '../../setup/describe-on-database.ts'
import { openTenantDb } from '../../setup/tenant-db.ts'

const ada = 'loopback:ada'
const bob = 'loopback:bob'
const policy = { contentDays: 90, refusedHours: 24, receiptDays: 120, auditDays: 400, batch: 10 }
const older = nameStatement(
  'test_older',
  `with s as (update sessions set last_activity_at = now() - interval '91 days')
   update attachments set used_at = now() - interval '91 days'`,
)
const unkept = nameStatement(
  'test_unkept',
  `update sessions set is_retained = false, status = 'closed', expires_at = now() - interval '1 second'`,
)
const rows = nameStatement('test_rows', 'select count(*)::int as n from attachments')

describeOnDatabase('a file', (database) => {
  const store = () => createAttachmentStore(database(), 'default')
  const upload = (principal: string, content: string) =>
    stored(store(), { owner: { principal, threadId: null }, sha256: content.repeat(64) })
  const left = async () => (await database().query<{ n: number }>(rows, []))[0]?.n
  const objects = async () => (await store().due(10, 24)).map(({ path }) => path)
  const said = async (subject: string, conversation: string, content: string) => {
    const sessionId = await talk(database(), { subject, conversation, text: 'see the picture' })
    const file = await upload(subject, content)
    await store().use([file.id], { inboxId: null, sessionId })
    return { sessionId, file }
  }

  test('goes with its session, and another session keeps its own', async () => {
    const { sessionId, file } = await said(ada, 'room', '1')
    const other = await said(bob, 'elsewhere', '2')
    await deleteSession(openTenantDb(database(), 'default'), {}, sessionId, 'operator')
    expect(await store().byIds([file.id, other.file.id])).toEqual([other.file])
    expect(await objects()).toEqual([file.path])
  })

  test('goes with a session that nobody agreed to keep', async () => {
    const { file } = await said(ada, 'room', '1')
    await database().query(unkept, [])
    expect(await createSweepStore(database(), 'default').endUnkept(0)).toBe(1)
    expect(await store().byId(file.id)).toBeUndefined()
  })

  test('goes when retention takes the transcript, and stays while anything is said there', async () => {
    const { file } = await said(ada, 'room', '1')
    const sweep = () => createSweepStore(database(), 'default').sweep(policy)
    await sweep()
    expect(await store().byId(file.id)).toEqual(file)
    await database().query(older, [])
    await sweep()
    expect(await store().byId(file.id)).toBeUndefined()
    expect(await objects()).toEqual([file.path])
  })

  test('goes when its message is withdrawn after it was read', async () => {
    const turns = openTenantDb(database(), { holder: 'test', leaseMs: 60_000, tenant: 'default' })
    const first = await hold(database(), { subject: ada, conversation: 'room' })
    const inboxId = first.messages[0]?.id ?? ''
    const turn = newTurn(first, ada)
    await openTurn(turns, first, turn, [])
    await completeTurn(turns, first, silentEnd(turn))
    const file = await upload(ada, '1')
    const other = await upload(ada, '2')
    await store().use([file.id], { inboxId, sessionId: turn.sessionId })
    await store().use([other.id], { inboxId: null, sessionId: turn.sessionId })
    const second = await hold(database(), { subject: ada, conversation: 'room' })
    const amending = newTurn(second, ada)
    await openTurn(turns, second, amending, [])
    await completeTurn(turns, second, { ...silentEnd(amending), erased: [inboxId] })
    expect(await store().byIds([file.id, other.id])).toEqual([other])
  })

  test('goes when its message was withdrawn before anybody read it, or its content is gone', async () => {
    const held = await hold(database(), { subject: ada, conversation: 'room' })
    const inboxId = held.messages[0]?.id ?? ''
    const file = await upload(ada, '1')
    await store().use([file.id], { inboxId, sessionId: null })
    expect(await objects()).toEqual([])
    const withdrawn = `update inbox set state = 'refused', reason = 'withdrawn', ended_at = now()`
    await database().query(nameStatement('test_withdrawn', withdrawn), [])
    expect(await objects()).toEqual([file.path])
  })

  test('goes with the person it belongs to, from every room, and is counted', async () => {
    const own = await said(ada, 'room of two', '1')
    await talk(database(), { subject: bob, conversation: 'room of two', text: 'hello' })
    const shared = await upload(bob, '1')
    await upload(ada, '3')
    const forgetting = createEraseStore(database(), 'default')
    expect(await countPersonData({ store: forgetting }, ada)).toMatchObject({ attachments: 2 })
    const wish = { principal: ada, actor: 'test', budgetMs: 60_000, from: null }
    const { removed } = await erasePerson({ store: forgetting, monotonicMs: () => performance.now() }, wish)
    expect(removed.attachments).toBe(2)
    expect(await store().byIds([own.file.id, shared.id])).toEqual([shared])
    // The same bytes were sent by somebody who stays.
    expect(await objects()).not.toContain(own.file.path)
  })

  test('that was made in a conversation of theirs alone goes with them, whoever made it', async () => {
    const sessionId = await talk(database(), { subject: ada, conversation: 'alone', text: 'draw me a cat' })
    const file = await upload('gw:agent/demo', '4')
    await store().use([file.id], { inboxId: null, sessionId })
    const forgetting = createEraseStore(database(), 'default')
    expect(await countPersonData({ store: forgetting }, ada)).toMatchObject({ attachments: 1 })
    const wish = { principal: ada, actor: 'test', budgetMs: 60_000, from: null }
    const { removed } = await erasePerson({ store: forgetting, monotonicMs: () => performance.now() }, wish)
    expect([removed.attachments, await left()]).toEqual([1, 0])
  })
})

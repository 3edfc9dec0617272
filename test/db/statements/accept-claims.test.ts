// Proofs that count once: claimed by the commit that stores what they came with, for one of many who show them, for their time.

import { expect, test } from 'vitest'
import { nameStatement } from '../../../src/db/client.ts'
import { storeInboxDrafts } from '../../../src/db/inbox.ts'
import type { InboxDraft } from '../../../src/db/inbox-row.ts'
import { createSweepStore, defaultRetention } from '../../../src/db/retention.ts'
import { createGroupCommit } from '../../../src/inbound/group-commit.ts'
import { aDraft } from '../../doubles/inbox-drafts.ts'
import { describeOnDatabase } from '../../setup/describe-on-database.ts'
import { openTenantDb } from '../../setup/tenant-db.ts'

const stored = nameStatement('test_stored', 'select message_id as id from inbox order by seq')
const claims = nameStatement('test_claims', 'select inbox_id as id from proof_claims order by expires_at')
const conversations = nameStatement('test_conversations', 'select count(*)::int as count from conversations')
const repeats = nameStatement('test_repeats', 'select inbox_id as id, count, last_delivery_id as last from duplicates')
const day = 86_400_000

const proven = (id: string, keys: readonly string[], changes: Partial<InboxDraft> = {}): InboxDraft =>
  aDraft({ messageId: id, once: keys.map((key) => ({ key, forMs: day })), ...changes })

describeOnDatabase('a proof that counts once', (database) => {
  const acceptAll = (drafts: readonly InboxDraft[]) => storeInboxDrafts(openTenantDb(database()), drafts)
  const accept = (...drafts: InboxDraft[]) => acceptAll(drafts)
  const ids = async () => (await database().query<{ id: string }>(stored, [])).map(({ id }) => id)

  test('makes what comes with it again, under another id, a duplicate of the first', async () => {
    const first = proven('m1', ['a'])
    await accept(first)
    const [again] = await accept(
      proven('m2', ['a'], { content: 'other words', deliveryId: 'm2', candidates: ['elsewhere'] }),
    )
    expect(again).toEqual({ kind: 'duplicate', inboxId: first.id, flagged: false, isReplay: true })
    expect(await ids()).toEqual(['m1'])
    expect(await database().query(repeats, [])).toEqual([{ id: first.id, count: 1, last: 'm2' }])
    expect(await database().query(conversations, [])).toEqual([{ count: 1 }])
  })

  test('is any of several: one that was used makes the others used, too', async () => {
    const first = proven('m1', ['a', 'b'])
    await accept(first)
    for (const keys of [['b'], ['b', 'a'], ['c', 'b'], ['c']])
      expect(await accept(proven(`by ${keys}`, keys))).toMatchObject([{ kind: 'duplicate', inboxId: first.id }])
    expect(await ids()).toEqual(['m1'])
  })

  test('is used up by a redelivery that brings another one under the same id', async () => {
    await accept(proven('m1', ['a']))
    expect(await accept(proven('m1', ['b']))).toMatchObject([{ kind: 'duplicate' }])
    expect(await accept(proven('m2', ['b']))).toMatchObject([{ kind: 'duplicate', isReplay: true }])
    expect(await ids()).toEqual(['m1'])
  })

  test('is shared by what came together, and counts in each tenant', async () => {
    const [one, two] = [proven('m1', ['a']), proven('m2', ['a'])]
    const together = [one, { ...two, eventId: one.id }] as const
    expect(await accept(...together)).toMatchObject([{ kind: 'accepted' }, { kind: 'accepted' }])
    expect(await accept(proven('m3', ['a'], { tenant: 'second' }))).toMatchObject([{ kind: 'accepted' }])
    expect(await ids()).toEqual(['m1', 'm2', 'm3'])
  })

  test('counts for one of forty who come at once to two replicas, in one batch or in many', async () => {
    const replicas = [createGroupCommit(acceptAll), createGroupCommit(acceptAll)]
    const drafts = Array.from({ length: 40 }, (_, n) => proven(`m${n}`, ['a', `own ${n}`], { candidates: [`c${n}`] }))
    const outcomes = await Promise.all(drafts.map((draft, n) => replicas[n % 2]?.commit([draft])))
    const kinds = outcomes.map((each) => each?.[0]?.kind)
    expect(kinds.filter((kind) => kind === 'accepted')).toHaveLength(1)
    expect(kinds.filter((kind) => kind !== 'accepted' && kind !== 'duplicate' && kind !== 'again')).toEqual([])
    expect(await ids()).toHaveLength(1)
    // The caller that lost the race is told the id of the first when it asks once more.
    const outcome = await accept(...drafts)
    expect(new Set(outcome.map((each) => each.kind))).toEqual(new Set(['duplicate']))
  })

  test('is not used by what was not stored', async () => {
    await accept(aDraft({ messageId: 'before' }))
    expect(await accept(proven('busy', ['a'], { isExclusive: true }))).toEqual([{ kind: 'busy' }])
    expect(await accept(proven('later', ['a']))).toMatchObject([{ kind: 'accepted' }])
    const broken = proven('broken', ['b'], { platformAt: 'no time' })
    await expect(accept(broken)).rejects.toThrow()
    expect(await accept(proven('whole', ['b']))).toMatchObject([{ kind: 'accepted' }])
  })

  test('is claimed by copies of one message in one window, each with its own', async () => {
    const { commit } = createGroupCommit(acceptAll)
    await Promise.all([commit([proven('m1', ['a'])]), commit([proven('m1', ['b'])])])
    expect(await accept(proven('m2', ['b']))).not.toMatchObject([{ kind: 'accepted' }])
    expect(await ids()).toEqual(['m1'])
  })

  test('is forgotten when its time is over, by its own tenant', async () => {
    const old = (tenant: string) => aDraft({ tenant, dedupe: tenant, once: [{ key: 'old', forMs: -1000 }] })
    const young = proven('young', ['young'])
    await accept(old('default'))
    const second = old('second')
    await accept(second, young)
    await createSweepStore(database(), 'default').sweep(defaultRetention)
    expect(await database().query(claims, [])).toEqual([{ id: second.id }, { id: young.id }])
  })
})

// The inbox store: claimed once, placed in the right conversation, queued in one commit.

import { describe, expect, test } from 'vitest'
import { type Database, nameStatement } from '../../../src/db/client.ts'
import { storeInboxDrafts } from '../../../src/db/inbox.ts'
import type { InboxDraft } from '../../../src/db/inbox-row.ts'
import { listMessageCountsByConnection } from '../../../src/db/receipts.ts'
import { aDraft } from '../../doubles/inbox-drafts.ts'
import { describeOnDatabase } from '../../setup/describe-on-database.ts'
import { openTenantDb } from '../../setup/tenant-db.ts'

const conversationOf = nameStatement('test_conversation', 'select conversation_id as id from inbox where id = $1')
const lanes = nameStatement('test_lanes', 'select pending from lanes order by pending desc')
const rows = nameStatement(
  'test_rows',
  'select message_id as "messageId", state, reason, is_flagged as flagged from inbox order by seq',
)
const kept = nameStatement('test_kept', 'select message_id as "messageId", raw from inbox')
const redeliveries = nameStatement(
  'test_redeliveries',
  'select inbox_id as id, count, last_delivery_id as "deliveryId" from duplicates',
)

describeOnDatabase('the inbox', (database) => {
  const accept = (...drafts: InboxDraft[]) => storeInboxDrafts(openTenantDb(database()), drafts)
  const books = () => listMessageCountsByConnection(openTenantDb(database(), 'default'))
  const conversation = async (draft: InboxDraft): Promise<string | undefined> =>
    (await database().query<{ id: string }>(conversationOf, [draft.id]))[0]?.id

  test("accepts a message once; a redelivery learns the first one's id", async () => {
    const first = aDraft()
    expect(await accept(first)).toEqual([{ kind: 'accepted', inboxId: first.id, flagged: false }])
    expect(await accept(aDraft())).toEqual([{ kind: 'duplicate', inboxId: first.id, flagged: false }])
    expect(await database().query(rows, [])).toHaveLength(1)
    expect(await database().query(lanes, [])).toEqual([{ pending: 1 }])
  })

  test('counts deliveries after the first beside the books, copies in one window included', async () => {
    const first = aDraft({ copies: 2 })
    await accept(first)
    await accept(aDraft({ messageId: 'm2' }))
    expect(await books()).toMatchObject([{ received: 2, inFlight: 2, duplicates: 2 }])
    await accept(aDraft({ deliveryId: 'second' }), aDraft({ messageId: 'm3' }))
    await accept(aDraft({ copies: 3 }))
    expect(await books()).toMatchObject([{ received: 3, inFlight: 3, duplicates: 7 }])
    expect(await database().query(redeliveries, [])).toEqual([{ id: first.id, count: 7, deliveryId: 'second' }])
  })

  test('counts every delivery when two replicas get the same ones in opposite order', async () => {
    const pair = () => [aDraft({ messageId: 'a' }), aDraft({ messageId: 'b' })] as const
    await accept(...pair())
    await Promise.all(Array.from({ length: 20 }, (_, turn) => accept(...(turn % 2 ? pair().toReversed() : pair()))))
    expect(await books()).toMatchObject([{ received: 2, duplicates: 40 }])
  })

  test('answers a batch by ordinal, whatever became of each row', async () => {
    const known = aDraft({ messageId: 'known' })
    await accept(known)
    const stale = aDraft({ messageId: 'old', platformAt: '2020-01-01T00:00:00Z' })
    const outcomes = await accept(
      aDraft({ messageId: 'a' }),
      aDraft({ messageId: 'known' }),
      stale,
      aDraft({ messageId: 'b' }),
    )
    expect(outcomes.map((outcome) => outcome.kind)).toEqual(['accepted', 'duplicate', 'stale', 'accepted'])
    expect(await database().query(lanes, [])).toEqual([{ pending: 3 }])
    expect(await database().query(rows, [])).toContainEqual({
      messageId: 'old',
      state: 'refused',
      reason: 'stale',
      flagged: false,
    })
  })

  test.each([`it's`, `''); drop table inbox; --`, "\\'", '\\\\', '$$', '$1', "E'\\n", 'Köln 🙂', '"ord":9'])(
    'keeps %j letter by letter',
    async (text) => {
      expect(await accept(aDraft({ messageId: text, raw: { text } }))).toMatchObject([{ kind: 'accepted' }])
      expect(await database().query(kept, [])).toEqual([{ messageId: text, raw: { text } }])
    },
  )

  test('takes the same id with another body as a new, flagged message', async () => {
    await accept(aDraft())
    const [outcome] = await accept(aDraft({ content: 'something else' }))
    expect(outcome).toMatchObject({ kind: 'accepted', flagged: true })
  })

  test('keeps equal ids of two connections and of two agents apart', async () => {
    const outcomes = [
      ...(await accept(aDraft(), aDraft({ connection: 'other' }))),
      ...(await accept(aDraft({ agent: 'second', dedupe: 'second:m1' }))),
    ]
    expect(outcomes.map((outcome) => outcome.kind)).toEqual(['accepted', 'accepted', 'accepted'])
    expect(await database().query(lanes, [])).toHaveLength(3)
  })

  test('puts two messages of one vouched thread into one conversation, also within one batch', async () => {
    const [a, b] = [aDraft({ messageId: 'a' }), aDraft({ messageId: 'b', subject: 'test:bob' })]
    await accept(a, b)
    const c = aDraft({ messageId: 'c' })
    await accept(c)
    expect(new Set([await conversation(a), await conversation(b), await conversation(c)]).size).toBe(1)
  })

  describe('a thread id that the sender merely claims', () => {
    const claimed = (
      messageId: string,
      subject: string,
      candidates: readonly string[],
      extra: Partial<InboxDraft> = {},
    ) => aDraft({ messageId, subject, candidates, platformVerified: false, newThreadKey: messageId, ...extra })

    test('joins the conversation the sender already takes part in', async () => {
      const first = claimed('m1', 'test:alice', [])
      const reply = claimed('m2', 'test:alice', ['m1'])
      await accept(first)
      await accept(reply)
      expect(await conversation(reply)).toBe(await conversation(first))
    })

    test('opens a conversation of his own for a stranger', async () => {
      const first = claimed('m1', 'test:alice', [])
      const stranger = claimed('m2', 'test:mallory', ['m1'])
      await accept(first)
      await accept(stranger)
      expect(await conversation(stranger)).not.toBe(await conversation(first))
    })

    test('does not let a stranger in by naming the opened conversation itself', async () => {
      const first = claimed('m1', 'test:alice', [])
      await accept(first)
      const stranger = claimed('m1', 'test:mallory', ['~test:alice~m1'], { dedupe: 'mallory:m1', content: 'x' })
      await accept(stranger)
      expect(await conversation(stranger)).not.toBe(await conversation(first))
    })

    test.each([
      ['test:a~b', 'c', 'test:a', 'b~c'],
      ['test:a%7Eb', 'c', 'test:a~b', 'c'],
    ])('of %s and %s is not that of %s and %s', async (subject, fresh, other, otherFresh) => {
      const [first, second] = [
        claimed('m1', subject, [], { newThreadKey: fresh }),
        claimed('m2', other, [], { newThreadKey: otherFresh }),
      ]
      await accept(first)
      await accept(second)
      expect(await conversation(second)).not.toBe(await conversation(first))
    })

    test('lets the holder of the reply token in', async () => {
      const first = claimed('m1', 'test:alice', [])
      await accept(first)
      await setReplyToken(database(), await conversation(first), 'token-1')
      const wrong = claimed('m2', 'test:bob', ['m1'], { replyToken: 'token-2' })
      const right = claimed('m3', 'test:bob', ['m1'], { replyToken: 'token-1' })
      await accept(wrong)
      await accept(right)
      expect(await conversation(wrong)).not.toBe(await conversation(first))
      expect(await conversation(right)).toBe(await conversation(first))
    })
  })

  test('refuses an exclusive message while its conversation is busy, and stores nothing of it', async () => {
    const exclusive = (messageId: string) => aDraft({ messageId, isExclusive: true, mustReplyIndividually: 'run' })
    expect((await accept(exclusive('a'), exclusive('b'))).map((outcome) => outcome.kind)).toEqual(['accepted', 'busy'])
    expect((await accept(exclusive('c'))).map((outcome) => outcome.kind)).toEqual(['busy'])
    expect(await database().query(rows, [])).toHaveLength(1)
  })

  test('keeps what asks for nothing as a row outside every lane', async () => {
    const ignored = aDraft({ state: 'ignored', reason: 'unknown_kind', message: undefined, candidates: [] })
    expect(await accept(ignored)).toMatchObject([{ kind: 'accepted' }])
    expect(await database().query(lanes, [])).toEqual([])
    expect(await conversation(ignored)).toBeNull()
  })

  test('numbers messages in the order of the batch', async () => {
    await accept(...['a', 'b', 'c', 'd'].map((messageId) => aDraft({ messageId })))
    const stored = await database().query<{ messageId: string }>(rows, [])
    expect(stored.map((row) => row.messageId)).toEqual(['a', 'b', 'c', 'd'])
  })

  test('claims one key once when fifty callers ask at the same time', async () => {
    const outcomes = await Promise.all(Array.from({ length: 50 }, () => accept(aDraft())))
    const kinds = outcomes.flat().map((outcome) => outcome.kind)
    expect(kinds.filter((kind) => kind === 'accepted')).toHaveLength(1)
    expect(await database().query(rows, [])).toHaveLength(1)
    expect(await database().query(lanes, [])).toEqual([{ pending: 1 }])
  })
})

async function setReplyToken(database: Database, conversationId: string | undefined, token: string): Promise<void> {
  const update = nameStatement(
    'test_token',
    `update conversations set reply_token_hash = encode(sha256(convert_to($2, 'UTF8')), 'hex') where id = $1`,
  )
  await database.query(update, [conversationId ?? '', token])
}

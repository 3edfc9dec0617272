// A conversation is found under every name it was given: by those who joined, by whoever opened it, and by what we sent.

import { expect, test } from 'vitest'
import { nameStatement } from '../../../src/db/client.ts'
import { storeInboxDrafts } from '../../../src/db/inbox.ts'
import type { InboxDraft } from '../../../src/db/inbox-row.ts'
import { aDraft } from '../../doubles/inbox-drafts.ts'
import { describeOnDatabase } from '../../setup/describe-on-database.ts'
import { openTenantDb } from '../../setup/tenant-db.ts'

const conversationOf = nameStatement('test_conversation', 'select conversation_id as id from inbox where id = $1')
const names = nameStatement('test_names', 'select external_id as name from conversation_aliases order by 1')

describeOnDatabase('a conversation', (database) => {
  const accept = (...drafts: InboxDraft[]) => storeInboxDrafts(openTenantDb(database()), drafts)
  const conversation = async (draft: InboxDraft): Promise<string | undefined> =>
    (await database().query<{ id: string }>(conversationOf, [draft.id]))[0]?.id
  const mail = (messageId: string, subject: string, candidates: readonly string[], aliases: readonly string[] = []) =>
    aDraft({ messageId, subject, candidates, aliases, platformVerified: false, newThreadKey: `t:${messageId}` })

  test('that is opened has the names it was given beside its own', async () => {
    const first = mail('m1', 'test:ada', [], ['x:index', 't:m1'])
    const reply = mail('m2', 'test:ada', ['x:index'])
    await accept(first)
    await accept(reply)
    expect(await conversation(reply)).toBe(await conversation(first))
    expect(await database().query(names, [])).toEqual([{ name: 't:m1' }, { name: 'x:index' }])
  })

  test('that is joined has the names of whoever joined, too, so that a reply to a reply finds it', async () => {
    const first = mail('m1', 'test:ada', [])
    const second = mail('m2', 'test:ada', ['t:m1'], ['t:m2'])
    const third = mail('m3', 'test:ada', ['t:m2'], ['t:m3'])
    await accept(first)
    await accept(second)
    await accept(third)
    expect(new Set([await conversation(first), await conversation(second), await conversation(third)]).size).toBe(1)
    expect(await database().query(names, [])).toEqual([{ name: 't:m1' }, { name: 't:m2' }, { name: 't:m3' }])
  })

  test('is not entered by a stranger under a name that somebody else gave it', async () => {
    const first = mail('m1', 'test:ada', [], ['x:index'])
    const stranger = mail('m2', 'test:mallory', ['x:index'], ['x:index'])
    await accept(first)
    await accept(stranger)
    expect(await conversation(stranger)).not.toBe(await conversation(first))
    const later = mail('m3', 'test:ada', ['x:index'])
    await accept(later)
    expect(await conversation(later)).toBe(await conversation(first))
  })

  test('keeps a name that another one asks for', async () => {
    const [first, second] = [mail('m1', 'test:ada', [], ['x:1']), mail('m2', 'test:ada', [], ['x:1'])]
    await accept(first, second)
    const reply = mail('m3', 'test:ada', ['x:1'])
    await accept(reply)
    expect(await conversation(second)).not.toBe(await conversation(first))
    expect(await conversation(reply)).toBe(await conversation(first))
  })

  test('gets its names once when replicas name it in opposite order', async () => {
    await accept(mail('m0', 'test:ada', []))
    const batches = Array.from({ length: 20 }, (_, turn) => {
      const pair = ['a', 'b'].map((name) => mail(`m${turn}${name}`, 'test:ada', ['t:m0'], [`x:${name}`, 'x:c']))
      return accept(...(turn % 2 ? pair.toReversed() : pair))
    })
    expect((await Promise.all(batches)).flat().every((outcome) => outcome.kind === 'accepted')).toBe(true)
    expect(await database().query(names, [])).toEqual([
      { name: 't:m0' },
      { name: 'x:a' },
      { name: 'x:b' },
      { name: 'x:c' },
    ])
  })
})

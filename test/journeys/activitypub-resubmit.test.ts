// What the fediverse channel kept and made nothing of is driven again.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { nameStatement } from '../../src/db/client.ts'
import { type Fediverse, startFediverse } from '../doubles/fediverse.ts'
import { type FediverseGateway, startFediverseGateway } from '../doubles/fediverse-gateway.ts'
import { aMention, type Person, settlePerson } from '../doubles/fediverse-person.ts'
import { settleUntil } from '../doubles/test-gateway.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'

const social = 'social.localhost'

describeOnDatabase('a post that was ignored', (database) => {
  let fediverse: Fediverse
  let bot: FediverseGateway
  let alice: Person
  let ignored: string
  beforeEach(async () => {
    fediverse = await startFediverse()
    alice = settlePerson(fediverse, social)
    bot = await startFediverseGateway(database(), fediverse, { hosts: [social] })
    const block = { id: `${alice.id}#block/1`, type: 'Block', actor: alice.id, object: bot.actor('demo') }
    await alice.post(bot.inbox('demo'), block)
    await alice.post(bot.inbox('demo'), aMention(alice, bot.actor('demo'), 'too early'))
    await alice.post(bot.inbox('demo'), { id: `${alice.id}#undo/1`, type: 'Undo', actor: alice.id, object: block })
    await bot.gateway.settle()
    const sql = `select id from inbox where reason = 'blocked_by_author' order by seq desc limit 1`
    const [row] = await database().query<{ id: string }>(nameStatement('test_ignored', sql), [])
    ignored = row?.id ?? ''
  })
  afterEach(async () => {
    await bot.stop()
    await fediverse.stop()
  })

  test('is answered when it is driven again and nothing stands against it, once', async () => {
    const asked = fediverse.seen.length
    expect(await bot.gateway.gateway.resubmit(ignored, 'operator')).toBe(true)
    await settleUntil(bot.gateway, () => alice.received.length > 0)
    expect(alice.received[0]?.text).toContain('heard: too early')
    expect(fediverse.seen.slice(asked).filter((each) => each.endsWith('/users/alice'))).toEqual([])
    expect(await bot.gateway.gateway.resubmit(ignored, 'operator')).toBe(false)
  })
})

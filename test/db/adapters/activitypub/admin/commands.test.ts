// `parley activitypub posts` and `blocks`, beside a gateway with somebody who talks to it.
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { JsonObject } from '../../../../../src/lib/json-value.ts'
import { type Fediverse, startFediverse } from '../../../../doubles/fediverse.ts'
import { type FediverseGateway, startFediverseGateway } from '../../../../doubles/fediverse-gateway.ts'
import { aMention, type Person, settlePerson } from '../../../../doubles/fediverse-person.ts'
import { settleUntil } from '../../../../doubles/test-gateway.ts'
import { describeOnDatabase } from '../../../../setup/describe-on-database.ts'
import { command, deskAt } from './run-command.ts'

const social = 'social.localhost'

describeOnDatabase('commands about posts and blocks', (database) => {
  let fediverse: Fediverse
  let bot: FediverseGateway
  let alice: Person
  beforeEach(async () => {
    fediverse = await startFediverse()
    alice = settlePerson(fediverse, social)
    bot = await startFediverseGateway(database(), fediverse, { hosts: [social] })
  })
  afterEach(async () => {
    await bot.stop()
    await fediverse.stop()
  })

  test('posts are listed, changed and taken back in words', async () => {
    await alice.post(bot.inbox('demo'), aMention(alice, bot.actor('demo'), 'hello'))
    await settleUntil(bot.gateway, () => alice.received.length > 0)
    const id = String(alice.received[0]?.body.object.id)
    const desk = deskAt(bot)
    const list = await command(desk, 'posts', 'list', { limit: '10' })
    expect(list.text).toContain(id)
    expect(list.text).toContain('heard: hello')
    expect((await command(desk, 'posts', 'edit', { id, markdown: 'Better' })).text).toContain('told to 1 inboxes')
    expect((await command(desk, 'posts', 'edit', { id, markdown: 'Better' })).text).toBe('It says that already.')
    expect((await command(desk, 'posts', 'delete', { id })).text).toContain('Taken back')
    expect((await command(desk, 'posts', 'list')).text).toBe('Nothing was posted.')
  })

  test('a block is added once, listed, and lifted', async () => {
    const desk = deskAt(bot)
    expect((await command(desk, 'blocks', 'add', { peer: 'bad.example', comment: 'spam' })).text).toContain('Blocked')
    expect((await command(desk, 'blocks', 'add', { peer: 'bad.example' })).text).toContain('before')
    expect((await command(desk, 'blocks', 'list')).text).toMatch(/bad\.example +suspend .*spam/)
    expect((await command(desk, 'blocks', 'export')).text).toContain('bad.example,suspend,false,false,spam,false')
    await command(desk, 'blocks', 'remove', { peer: 'bad.example' })
    expect((await command(desk, 'blocks', 'list')).text).toBe('You block no servers or accounts.')
  })

  test('a list is tried first, then taken in pieces; what cannot be taken is told by its line', async () => {
    const hosts = Array.from({ length: 2500 }, (_, at) => `h${at}.example,suspend`)
    const list = ['#domain,#severity', ...hosts, 'loud.example,silence', 'h*.example,suspend'].join('\n')
    const desk = deskAt(bot, false, { 'blocks.csv': list })
    const tried = await command(desk, 'blocks', 'import', { file: 'blocks.csv', 'dry-run': true })
    expect(tried.text).toContain('Would be blocked: 2500')
    expect((await command(desk, 'blocks', 'list')).text).toBe('You block no servers or accounts.')
    const taken = await command(desk, 'blocks', 'import', { file: 'blocks.csv' })
    expect(taken.value).toMatchObject({ added: 2500, notTaken: [{ line: 2502, host: 'loud.example' }] })
    expect(taken.problem).toBeDefined()
    expect(taken.text).toContain('line 2503')
    expect((await command(desk, 'blocks', 'import', { file: 'blocks.csv' })).value).toMatchObject({
      added: 0,
      already: 2500,
    })
    const { value } = await command(desk, 'blocks', 'export')
    expect(
      String((value as JsonObject)['csv'])
        .trimEnd()
        .split('\n'),
    ).toHaveLength(2501)
  }, 120_000)
})

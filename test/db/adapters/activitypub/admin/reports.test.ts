// What other servers report: seen by the operator with what it is about, and kept once it is closed.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createEraseStore } from '../../../../../src/db/erase-person.ts'
import { type Fediverse, startFediverse } from '../../../../doubles/fediverse.ts'
import { type FediverseGateway, startFediverseGateway } from '../../../../doubles/fediverse-gateway.ts'
import { aMention, type Person, settlePerson } from '../../../../doubles/fediverse-person.ts'
import { settleUntil } from '../../../../doubles/test-gateway.ts'
import { describeOnDatabase } from '../../../../setup/describe-on-database.ts'
import { command, deskAt } from './run-command.ts'

const social = 'social.localhost'

describeOnDatabase('a report about an agent', (database) => {
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
  const report = (id: string, ...about: readonly string[]) =>
    alice.post(bot.sharedInbox, {
      id,
      type: 'Flag',
      actor: alice.id,
      object: about,
      content: 'it <b>lies</b>\u001b[2J',
    })

  test('is shown with who reported, which posts, in which words, and is warned of once', async () => {
    await alice.post(bot.inbox('demo'), aMention(alice, bot.actor('demo'), 'hello'))
    await settleUntil(bot.gateway, () => alice.received.length > 0)
    const post: string = alice.received[0]?.body.object.id
    const id = `${alice.id}/flags/1`
    await report(id, bot.actor('demo'), post)
    await report(id, bot.actor('demo'), post)
    const warned = bot.gateway.logged.filter(({ event }) => event === 'admin_action_required')
    expect(warned).toMatchObject([{ level: 'warn', facts: { reason: 'flag_received' } }])
    const desk = deskAt(bot)
    expect((await command(desk, 'reports', 'list')).value).toMatchObject({
      reports: [{ id, reporter: alice.id, agents: ['demo'], posts: [post], closedAt: null }],
    })
    const { value, text } = await command(desk, 'reports', 'show', { id })
    expect(value).toMatchObject({
      report: {
        complaint: expect.stringContaining('it lies'),
        posts: [{ id: post, words: expect.stringContaining('heard: hello') }],
      },
    })
    expect(text).toContain(`reporter   ${alice.id}`)
    expect(text).toContain('heard: hello')
    expect(text).not.toContain('\u001b')
  })

  test('is closed once and kept, and open ones are found without it', async () => {
    const desk = deskAt(bot)
    const [one, other] = [`${alice.id}/flags/1`, `${alice.id}/flags/2`]
    await report(one, bot.actor('demo'))
    await report(other, 'https://elsewhere.test/users/x')
    expect((await command(desk, 'reports', 'close', { id: one })).text).toBe('Closed.')
    await expect(command(desk, 'reports', 'close', { id: one })).rejects.toMatchObject({ code: 'not_found' })
    expect((await command(desk, 'reports', 'list')).value).toMatchObject({ reports: [{ id: other, agents: [] }] })
    expect((await command(desk, 'reports', 'list', { closed: true })).value).toMatchObject({
      reports: [{ id: one, closedAt: expect.any(String) }],
    })
    expect((await command(desk, 'reports', 'show', { id: one })).value).toMatchObject({ report: { id: one } })
    await expect(command(desk, 'reports', 'show', { id: 'nothing' })).rejects.toMatchObject({ code: 'not_found' })
  })

  test('is forgotten with whoever made it, open or closed', async () => {
    const desk = deskAt(bot)
    await report(`${alice.id}/flags/1`, bot.actor('demo'))
    await report(`${alice.id}/flags/2`, bot.actor('demo'))
    await command(desk, 'reports', 'close', { id: `${alice.id}/flags/1` })
    await createEraseStore(database(), 'default').eraseWritten([alice.id])
    for (const closed of [false, true])
      expect((await command(desk, 'reports', 'list', { closed })).value).toMatchObject({ reports: [] })
  })
})

// Who may follow where the operator decides, and who follows: asked of a gateway that runs, told to real servers.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { defineAgent } from '../../../../../src/agents/define-agent.ts'
import { nameStatement } from '../../../../../src/db/client.ts'
import { type Fediverse, startFediverse } from '../../../../doubles/fediverse.ts'
import {
  echo,
  type FediverseGateway,
  type FediverseOptions,
  startFediverseGateway,
} from '../../../../doubles/fediverse-gateway.ts'
import { type Person, settlePerson } from '../../../../doubles/fediverse-person.ts'
import { settleUntil } from '../../../../doubles/test-gateway.ts'
import { describeOnDatabase } from '../../../../setup/describe-on-database.ts'
import { command, deskAt } from './run-command.ts'

const social = 'social.localhost'
const rows = nameStatement('test_people_rows', 'select kind, reason from inbox order by seq')

describeOnDatabase('followers of an agent', (database) => {
  let fediverse: Fediverse
  let bot: FediverseGateway
  let alice: Person
  beforeEach(async () => {
    fediverse = await startFediverse()
    alice = settlePerson(fediverse, social)
  })
  afterEach(async () => {
    await bot.stop()
    await fediverse.stop()
  })
  const start = async (follow: 'manual' | 'accept', options: Partial<FediverseOptions> = {}) => {
    bot = await startFediverseGateway(database(), fediverse, { hosts: [social], settings: { follow }, ...options })
    return deskAt(bot)
  }
  const ask = (who: Person, id = `${who.id}#follow-1`, agent = 'demo') =>
    who.post(bot.inbox(agent), { id, type: 'Follow', actor: who.id, object: bot.actor(agent) })
  const told = async (who: Person, count: number) => {
    await settleUntil(bot.gateway, () => who.received.length >= count)
    await bot.gateway.settle()
    return who.received.map(({ body }) => [body.type, body.object.id, body.actor])
  }

  test('wait to be let in, are told so once, and follow from then on', async () => {
    const desk = await start('manual')
    await ask(alice)
    expect(bot.gateway.logged).toContainEqual({
      level: 'warn',
      event: 'admin_action_required',
      facts: { connection: 'activitypub/default', inbox: expect.any(String), reason: 'follow_requested' },
    })
    expect((await command(desk, 'requests', 'list', { limit: '50' })).value).toMatchObject({
      requests: [{ agent: 'demo', actor: alice.id, follow: `${alice.id}#follow-1` }],
      next: null,
    })
    expect((await command(desk, 'requests', 'accept', { actor: alice.id })).text).toBe(
      'Accepted; their server is told.',
    )
    expect(await told(alice, 1)).toEqual([['Accept', `${alice.id}#follow-1`, bot.actor('demo')]])
    expect((await command(desk, 'requests', 'list')).text).toBe('There are no follow requests.')
    const { text } = await command(desk, 'followers', 'list', { agent: 'demo' })
    expect(text).toMatch(new RegExp(`^AGENT +ACTOR +SINCE\\ndemo +${alice.id} +\\S+Z$`))
    await expect(command(desk, 'requests', 'accept', { actor: alice.id })).rejects.toMatchObject({ code: 'not_found' })
    expect(await database().query(rows, [])).toEqual([
      { kind: 'rejected_event', reason: 'follow_requested' },
      { kind: 'operation', reason: 'follow_accepted' },
    ])
  })

  test('are turned down, and may ask again', async () => {
    const desk = await start('manual')
    await ask(alice)
    await command(desk, 'requests', 'reject', { actor: alice.id, agent: 'demo' })
    expect(await told(alice, 1)).toEqual([['Reject', `${alice.id}#follow-1`, bot.actor('demo')]])
    await ask(alice, `${alice.id}#follow-2`)
    await command(desk, 'requests', 'accept', { actor: alice.id })
    expect((await told(alice, 2)).at(-1)).toEqual(['Accept', `${alice.id}#follow-2`, bot.actor('demo')])
  })

  test('are decided about once, whoever decides at the same time', async () => {
    const desk = await start('manual')
    await ask(alice)
    const both = await Promise.allSettled([
      command(desk, 'requests', 'accept', { actor: alice.id }),
      command(desk, 'requests', 'reject', { actor: alice.id }),
    ])
    // Whoever is second is told so: by the row of the first, or because nobody waits any more.
    const said = both.map((each) => (each.status === 'fulfilled' ? each.value.text : String(each.reason)))
    expect(said.filter((text) => /^(?:Accepted|Rejected); their server is told\./.test(text))).toHaveLength(1)
    expect(
      said.filter((text) => /^It had been done before; |there is no follow request of this name/.test(text)),
    ).toHaveLength(1)
    expect(await told(alice, 1)).toHaveLength(1)
  })

  test('are removed, their server is told with the Follow it knows, and they may come back', async () => {
    const desk = await start('accept')
    await ask(alice)
    await command(desk, 'followers', 'remove', { actor: alice.id })
    expect((await told(alice, 2)).map(([type, id]) => [type, id])).toEqual([
      ['Accept', `${alice.id}#follow-1`],
      ['Reject', `${alice.id}#follow-1`],
    ])
    expect((await command(desk, 'followers', 'list')).text).toBe('There are no followers.')
    await ask(alice, `${alice.id}#follow-2`)
    expect((await command(desk, 'followers', 'remove', { actor: alice.id })).value).toMatchObject({ isRepeat: false })
    expect(await told(alice, 4)).toHaveLength(4)
  })

  test('are told apart by agent, page by page', async () => {
    const helper = defineAgent({ slug: 'helper', run: () => 'helped' })
    const desk = await start('accept', { agents: [echo, helper] })
    await ask(alice)
    await ask(alice, `${alice.id}#follow-2`, 'helper')
    await expect(command(desk, 'followers', 'remove', { actor: alice.id })).rejects.toThrow(
      'several agents (demo, helper)',
    )
    await expect(command(desk, 'followers', 'remove', { actor: alice.id, agent: 'x' })).rejects.toThrow('parley agents')
    const first = await command(desk, 'followers', 'list', { limit: '1' })
    expect(first.text).toContain(`More: parley activitypub followers list --after 'demo ${alice.id}'`)
    const second = await command(desk, 'followers', 'list', { limit: '1', after: String(first.value['next']) })
    expect(second.value).toMatchObject({ followers: [{ agent: 'helper', actor: alice.id }] })
    await command(desk, 'followers', 'remove', { actor: alice.id, agent: 'helper' })
    expect((await command(desk, 'followers', 'list')).value).toMatchObject({ followers: [{ agent: 'demo' }] })
  })

  test('are told of what was decided without a gateway once one runs', async () => {
    await start('manual')
    await ask(alice)
    const { text } = await command(deskAt(bot, true), 'requests', 'accept', { actor: alice.id })
    expect(text).toBe('Accepted; their server is told. What is to be sent waits for a gateway.')
    await expect(command(deskAt(bot), 'requests', 'list', { limit: '0' })).rejects.toMatchObject({
      code: 'bad_request',
    })
  })
})

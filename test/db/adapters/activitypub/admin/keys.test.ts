// New keys for an agent: followers are told, what was proven before still counts, and every process has the same ones at once.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { agentKeyOwner } from '../../../../../adapters/activitypub/documents/actor-document.ts'
import { createDocumentUrls } from '../../../../../adapters/activitypub/documents/urls.ts'
import { createActorKeys } from '../../../../../adapters/activitypub/signatures/own-keys.ts'
import type { ChannelKeys } from '../../../../../src/contract/channel.ts'
import { createMemoryRecords } from '../../../../../src/testing/memory-records.ts'
import { type Fediverse, startFediverse } from '../../../../doubles/fediverse.ts'
import { type FediverseGateway, startFediverseGateway } from '../../../../doubles/fediverse-gateway.ts'
import { type Delivered, isSignedBy, type Person, settlePerson } from '../../../../doubles/fediverse-person.ts'
import { settleUntil } from '../../../../doubles/test-gateway.ts'
import { describeOnDatabase } from '../../../../setup/describe-on-database.ts'
import { command, deskAt } from './run-command.ts'

const [social, other] = ['social.localhost', 'other.localhost']
type ShownKey = { readonly id: string; readonly publicKeyPem: string }

describeOnDatabase('new keys', (database) => {
  let fediverse: Fediverse
  let bot: FediverseGateway
  let alice: Person
  let bob: Person
  beforeEach(async () => {
    fediverse = await startFediverse()
    alice = settlePerson(fediverse, social)
    bob = settlePerson(fediverse, other, 'bob')
    bot = await startFediverseGateway(database(), fediverse, { hosts: [social, other] })
    for (const who of [alice, bob])
      await who.post(bot.inbox('demo'), {
        id: `${who.id}#follow`,
        type: 'Follow',
        actor: who.id,
        object: bot.actor('demo'),
      })
    await settleUntil(bot.gateway, () => alice.received.length > 0 && bob.received.length > 0)
  })
  afterEach(async () => {
    await bot.stop()
    await fediverse.stop()
  })
  /** As a server does that fetches the document once more: the key that the signature names. */
  const isBelieved = async (delivered: Delivered | undefined): Promise<boolean> => {
    const { body } = await bot.document(bot.actor('demo'))
    const keyId = /keyId="([^"]+)"/.exec(String(delivered?.headers['signature']))?.[1]
    const key = body['publicKey'] as ShownKey
    return delivered !== undefined && key.id === keyId && isSignedBy(delivered, key.publicKeyPem)
  }
  const proofKeys = async (): Promise<readonly string[]> => {
    const { body } = await bot.document(bot.actor('demo'))
    return (body['assertionMethod'] as readonly ShownKey[]).map(({ id }) => id.split('#')[1] ?? '')
  }

  test('are used from now on, told to each server once, and shown as one object', async () => {
    const [before] = alice.received
    const { value, text } = await command(deskAt(bot), 'keys', 'rotate', { owner: 'demo' })
    const key = `${bot.actor('demo')}#main-key-2`
    expect(value).toMatchObject({ owner: 'demo', key, generation: 2, told: 2, isRepeat: false })
    expect(text).toBe(`The key is ${key} from now on; servers that are told: 2.`)
    await settleUntil(bot.gateway, () => alice.received.length > 1 && bob.received.length > 1)
    await bot.gateway.settle()
    const update = alice.received[1]
    expect(update?.body).toMatchObject({
      type: 'Update',
      actor: bot.actor('demo'),
      object: { id: bot.actor('demo'), publicKey: { id: key, owner: bot.actor('demo') } },
    })
    expect(update?.body.object.assertionMethod).toHaveLength(2)
    expect(update?.headers['signature']).toContain(`keyId="${key}"`)
    expect([await isBelieved(before), await isBelieved(update)]).toEqual([false, true])
    expect([alice.received, bob.received].map(({ length }) => length)).toEqual([2, 2])
  })

  test('are not made twice by whoever asks again, unless they say so; then the first one for proofs is gone', async () => {
    const desk = deskAt(bot)
    const both = await Promise.all([1, 2].map(() => command(desk, 'keys', 'rotate', { owner: 'demo' })))
    expect(both.map(({ value }) => value['isRepeat']).toSorted()).toEqual([false, true])
    await expect(command(desk, 'keys', 'rotate', { owner: 'demo' })).rejects.toMatchObject({ code: 'conflict' })
    expect(await proofKeys()).toEqual(['ed25519-key-2', 'ed25519-key'])
    expect((await command(desk, 'keys', 'rotate', { owner: 'demo', again: true })).value).toMatchObject({
      generation: 3,
    })
    expect(await proofKeys()).toEqual(['ed25519-key-3', 'ed25519-key-2'])
  })

  test('are made for the instance too, which nobody follows, and for nobody who is not here', async () => {
    const desk = deskAt(bot)
    expect((await command(desk, 'keys', 'rotate', { owner: 'instance' })).value).toMatchObject({ told: 0 })
    const { body } = await bot.document(`${bot.origin}/ap/actor`)
    expect(body['publicKey']).toMatchObject({ id: `${bot.origin}/ap/actor#main-key-2` })
    await expect(command(desk, 'keys', 'rotate', { owner: 'nobody' })).rejects.toMatchObject({ code: 'not_found' })
    await expect(command(desk, 'keys', 'rotate')).rejects.toMatchObject({ code: 'bad_request' })
  })
})

describe('two processes', () => {
  test('have the same new keys at once, and show the old one for proofs for two days', async () => {
    let nowMs = Date.parse('2026-11-17T12:00:00Z')
    const kept = new Map<string, Promise<string>>()
    const ownKeys: Pick<ChannelKeys, 'keep'> = {
      keep(name, make) {
        kept.set(name, kept.get(name) ?? make())
        return kept.get(name) ?? make()
      },
    }
    const records = createMemoryRecords()
    const owner = agentKeyOwner(createDocumentUrls('https://agents.example'), 'demo')
    const [one, two] = [1, 2].map(() => createActorKeys({ ownKeys, records, now: () => nowMs }))
    if (one === undefined || two === undefined) return expect.unreachable()
    const first = await two.of(owner)
    const rotations = await Promise.all([one.rotation(owner), two.rotation(owner)])
    expect(new Set(rotations.map(({ generation, ring }) => `${generation} ${ring.rsa.pem}`))).toHaveLength(1)
    expect((await two.of(owner)).rsa.pem).toBe(first.rsa.pem)
    const { effect } = rotations[0]
    if (effect.kind === 'put') await records.put(effect.family, effect.key, effect.value)
    const [here, there] = await Promise.all([one.of(owner), two.of(owner)])
    expect(there.rsa.pem).toBe(here.rsa.pem)
    expect(there.rsa.pem).not.toBe(first.rsa.pem)
    expect(there.former?.multibase).toBe(first.ed25519.multibase)
    nowMs += 48 * 60 * 60 * 1000
    expect((await two.of(owner)).former).toBeUndefined()
  })
})

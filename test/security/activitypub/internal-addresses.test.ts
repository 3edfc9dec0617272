// Addresses that others write down, in every field that makes us ask somebody: none of them leads inside. Each field is shown to be
// one that makes us ask.

import type { AddressInfo } from 'node:net'
import { createServer, type Server } from 'node:net'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { insides } from '../../conformance/activitypub/remote-cases.ts'
import { type Dials, watchDials } from '../../doubles/dialed-connections.ts'
import { type Fediverse, startFediverse } from '../../doubles/fediverse.ts'
import { type FediverseGateway, startFediverseGateway } from '../../doubles/fediverse-gateway.ts'
import { aMention, everybody, type Person, personKeys, settlePerson } from '../../doubles/fediverse-person.ts'
import { settleUntil } from '../../doubles/test-gateway.ts'
import { describeOnDatabase } from '../../setup/describe-on-database.ts'

const social = 'social.localhost'
const outside = 'elsewhere.example.com'
const keys = personKeys()

describeOnDatabase('what others write down', (database) => {
  let fediverse: Fediverse
  let bot: FediverseGateway
  let inside: Server
  let connections: number
  let port: number
  let dials: Dials
  beforeEach(async () => {
    connections = 0
    inside = createServer((socket) => {
      connections += 1
      socket.destroy()
    })
    // Another address of this machine than the one that counts as public here.
    await new Promise<void>((resolve) => inside.listen(0, '127.0.0.2', resolve))
    port = (inside.address() as AddressInfo).port
    fediverse = await startFediverse()
    const settings = { hostLimit: { count: 1000, perMs: 600_000 } }
    bot = await startFediverseGateway(database(), fediverse, { hosts: [social], settings })
    dials = watchDials()
  })
  afterEach(async () => {
    dials.stop()
    await bot.stop()
    await fediverse.stop()
    await new Promise((resolve) => inside.close(resolve))
  })
  const addresses = () => [
    ...insides,
    ...['http://127.0.0.2', 'https://127.0.0.2', 'https://2130706434', 'https://private.example.com'].map(
      (origin) => `${origin}:${port}/key`,
    ),
  ]
  const somebody = (at: number, more = {}): Person => settlePerson(fediverse, social, `p${at}`, more, keys)
  const asked = () => dials.at(80, 443, port)
  const us = () => bot.actor('demo')
  const mention = (href: string) => ({ type: 'Mention', href, name: '@x@y.example' })

  type Send = (address: string, at: number) => Promise<number>
  const fields: Readonly<Record<string, Send>> = {
    'the post that it answers': (address, at) => {
      const person = somebody(at)
      return person.post(bot.inbox('demo'), aMention(person, us(), `what is ${at}?`, { inReplyTo: address }))
    },
    'what a community passes on': (address, at) => {
      const [group, author] = [somebody(at, { type: 'Group' }), new URL('/users/x', address).href]
      const note = {
        to: [everybody],
        cc: [us()],
        tag: [mention(us())],
        attributedTo: author,
        content: `what is ${at}?`,
      }
      const object = { id: address, type: 'Note', ...note }
      const create = { id: `${address}#create`, type: 'Create', actor: author, to: [everybody], object }
      return group.post(bot.inbox('demo'), { id: `${group.id}#a`, type: 'Announce', actor: group.id, object: create })
    },
    'whom a direct note names': (address, at) => {
      const person = somebody(at)
      const few = { to: [us(), address], cc: [], tag: [us(), address].map(mention) }
      return person.post(bot.inbox('demo'), aMention(person, us(), `what is ${at}?`, few))
    },
    'the community that it is for': (address, at) => {
      const person = somebody(at)
      const there = { cc: [us(), address], audience: address }
      return person.post(bot.inbox('demo'), aMention(person, us(), `what is ${at}?`, there))
    },
    'the host of a handle': (address, at) => {
      const person = somebody(at)
      const { host } = new URL(person.id)
      fediverse.put(social, `/.well-known/webfinger?resource=${encodeURIComponent(`acct:p${at}@${host}`)}`, {
        type: 'application/jrd+json',
        body: {
          subject: `acct:p${at}@${/^https?:\/\/([^/]*)/.exec(address)?.[1] ?? address}`,
          links: [{ rel: 'self', type: 'application/activity+json', href: person.id }],
        },
      })
      return person.post(bot.inbox('demo'), aMention(person, us(), `what is ${at}?`))
    },
  }

  test.each(Object.entries(fields))('leads nobody inside as %s', { timeout: 120_000 }, async (_field, send) => {
    for (const [at, address] of addresses().entries())
      expect([address, await send(address, at)]).toEqual([address, 202])
    await bot.gateway.settle()
    expect(asked()).toEqual([])
    expect(await send(`https://${outside}/key`, addresses().length)).toBe(202)
    await settleUntil(bot.gateway, () => asked().length > 0)
    expect(asked()).toEqual([outside])
    expect(connections).toBe(0)
  })
})

// Signature cases where it is the lookup of keys and actors that decides.
import { expect } from 'vitest'
import type { KeyOutcome } from '../../../adapters/activitypub/actors/remote-cache.ts'
import { aPerson, remoteKeyPair } from '../../doubles/fediverse.ts'
import { openRemoteScene, type RemoteScene } from '../../unit/adapters/activitypub/actors/remote-setup.ts'
import type { Case } from '../conform.ts'

type Pair = Awaited<ReturnType<typeof remoteKeyPair>>

/** Others with two keys, for as long as one case takes. */
function withOthers(
  work: (scene: RemoteScene, keys: { readonly first: Pair; readonly second: Pair }) => Promise<unknown>,
  limits: { readonly timeoutMs?: number } = {},
): () => Promise<unknown> {
  return async () => {
    const scene = await openRemoteScene(limits)
    try {
      return await work(scene, { first: await remoteKeyPair(), second: await remoteKeyPair() })
    } finally {
      await scene.stop()
    }
  }
}

const told = (outcome: KeyOutcome): string => ('reason' in outcome ? outcome.reason : outcome.kind)

/**
 * Private places in every spelling, 10.0.0.1 as a number among them; the last one is a public name for a private address. The
 * servers of these tests are at 127.0.0.1, which is therefore not private here.
 */
export const insides = [
  'http://169.254.169.254/latest/meta-data',
  'https://169.254.169.254/key',
  'http://[::ffff:127.0.0.1]/key',
  'https://[::ffff:7f00:1]/key',
  'https://167772161/key',
  'https://0x0a000001/key',
  'https://012.0.0.1/key',
  'https://localhost/key',
  'https://printer.local/key',
  'https://[::1]/key',
  'https://user:secret@social.example.com/key',
  'ftp://social.example.com/key',
  'https://private.example.com/key',
]

export const remoteCases: readonly Case[] = [
  {
    id: 'AP-040',
    claim: 'a key that claims an actor of another server is refused, and that server is not even asked',
    run: withOthers(async ({ net, remote, evil, social }, { first }) => {
      const victim = `${social}/users/alice`
      const keyId = `${evil}/key`
      net.put('social.example.com', '/users/alice', { body: aPerson(victim, first.pem) })
      const claims = [
        { id: keyId, owner: victim, publicKeyPem: first.pem },
        aPerson(victim, first.pem, { publicKey: { id: keyId, owner: victim, publicKeyPem: first.pem } }),
      ]
      for (const [at, body] of claims.entries()) {
        net.put('evil.example.com', `/key?${at}`, { body })
        net.put('evil.example.com', '/key', { body })
        expect(told(await remote.keys.find(at === 0 ? keyId : `${keyId}?${at}`))).toBe('foreign_key')
      }
      expect(net.seen.filter((at) => at.startsWith('social'))).toEqual([])
      return remote.actor(victim)
    }),
    expected: {
      kind: 'found',
      actor: { name: 'Alice', keys: [{ owner: expect.stringContaining('social.example.com') }] },
    },
  },
  {
    id: 'AP-041',
    claim: 'a key without a fragment, shown with a stub of its owner, counts when the owner’s own document lists it',
    run: withOthers(async ({ net, remote, social }, { first }) => {
      const id = `${social}/users/gts`
      const publicKey = { id: `${id}/main-key`, owner: id, publicKeyPem: first.pem }
      const stub = { id, type: 'Person', preferredUsername: 'gts', publicKey }
      net.put('social.example.com', '/users/gts/main-key', { body: stub })
      net.put('social.example.com', '/users/gts', { body: aPerson(id, '', { publicKey }) })
      const found = await remote.keys.find(`${id}/main-key`)
      return { kind: found.kind, isKey: found.kind === 'found' && found.key.spki === first.spki, seen: net.seen.length }
    }),
    equals: { kind: 'found', isKey: true, seen: 2 },
  },
  {
    id: 'AP-043',
    claim: 'a key that was changed is found anew, and not asked for again within a minute, by any replica',
    run: withOthers(async ({ net, remote, replica, social, pass }, { first, second }) => {
      const id = `${social}/users/alice`
      const keyId = `${id}#main-key`
      const isSecond = (found: KeyOutcome): boolean => found.kind === 'found' && found.key.spki === second.spki
      net.put('social.example.com', '/users/alice', { body: aPerson(id, first.pem) })
      await remote.keys.find(keyId)
      await replica.keys.find(keyId)
      net.put('social.example.com', '/users/alice', { body: aPerson(id, second.pem) })
      // Forgeries right after the first question cause no other.
      const early = isSecond(await remote.keys.refresh(keyId))
      pass(61_000)
      // The other one remembers the old key when it is changed here.
      await replica.keys.find(keyId)
      const fresh = isSecond(await remote.keys.refresh(keyId))
      const again = [await remote.keys.refresh(keyId), await replica.keys.refresh(keyId), await remote.keys.find(keyId)]
      return { early, fresh, again: again.map(isSecond), seen: net.seen.length }
    }),
    equals: { early: false, fresh: true, again: [true, true, true], seen: 2 },
  },
  {
    id: 'AP-044',
    claim: 'somebody is gone only where their own server says so; a dead key elsewhere proves nothing about them',
    run: withOthers(async ({ net, remote, social, evil }, { first }) => {
      const id = `${social}/users/alice`
      net.put('social.example.com', '/users/alice', { body: aPerson(id, first.pem) })
      net.put('evil.example.com', '/key', { status: 410 })
      net.put('social.example.com', '/users/gone', { status: 410 })
      net.put('social.example.com', '/users/sent-on', { status: 302, location: 'https://elsewhere.example.com/' })
      return {
        key: await remote.keys.find(`${evil}/key`),
        alice: (await remote.refreshActor(id)).kind,
        gone: await remote.refreshActor(`${social}/users/gone`),
        missing: await remote.refreshActor(`${social}/users/missing`),
        sentOn: (await remote.refreshActor(`${social}/users/sent-on`)).kind,
      }
    }),
    equals: {
      key: { kind: 'gone' },
      alice: 'found',
      gone: { kind: 'gone' },
      missing: { kind: 'gone' },
      // Nobody answers there; and it would not be theirs to say.
      sentOn: 'unreachable',
    },
  },
  {
    id: 'AP-045',
    claim: 'a server that is down is asked once in five minutes',
    run: withOthers(async ({ net, remote, replica, social, pass }) => {
      const keyId = `${social}/users/alice#main-key`
      net.put('social.example.com', '/users/alice', { status: 503 })
      const outcomes: string[] = []
      for (const at of [remote, remote, replica]) outcomes.push(told(await at.keys.find(keyId)))
      pass(4 * 60_000)
      outcomes.push(told(await remote.keys.find(keyId)))
      const before = net.seen.length
      pass(61_000)
      outcomes.push(told(await remote.keys.find(keyId)))
      return { outcomes, before, after: net.seen.length }
    }),
    equals: { outcomes: new Array(5).fill('unreachable'), before: 1, after: 2 },
  },
  {
    id: 'AP-046',
    claim: 'nothing that is not public is connected to, in no spelling and by no redirect',
    run: withOthers(async ({ net, remote, social }) => {
      for (const keyId of insides) expect([keyId, told(await remote.keys.find(keyId))]).toEqual([keyId, 'unsafe_url'])
      for (const [at, location] of insides.entries()) {
        net.put('social.example.com', `/away/${at}`, { status: 302, location })
        expect([location, told(await remote.keys.find(`${social}/away/${at}`))]).toEqual([location, 'unsafe_url'])
      }
      return net.seen.filter((at) => !at.startsWith('social.example.com /away/'))
    }),
    equals: [],
  },
  {
    id: 'AP-047',
    claim: 'a document without end is given up at a megabyte, or when its time is over',
    run: withOthers(
      async ({ net, remote, social }) => {
        let sent = 0
        net.put('social.example.com', '/large', {
          by(_, response) {
            response.writeHead(200, { 'content-type': 'application/activity+json' })
            const more = (): void => {
              while (!response.destroyed && sent < 50 * 1024 * 1024 && response.write('x'.repeat(64 * 1024)))
                sent += 64 * 1024
              if (!response.destroyed && sent < 50 * 1024 * 1024) response.once('drain', more)
            }
            more()
          },
        })
        net.put('social.example.com', '/announced', {
          by: (_, response) => response.writeHead(200, { 'content-length': String(50 * 1024 * 1024) }).flushHeaders(),
        })
        net.put('social.example.com', '/slow', {
          by: (_, response) => {
            response.writeHead(200, { 'content-type': 'application/activity+json' }).write('{')
          },
        })
        net.put('social.example.com', '/silent', { by: () => undefined })
        const ask = async (path: string): Promise<string> => told(await remote.keys.find(`${social}${path}`))
        const outcomes = [await ask('/large'), await ask('/announced'), await ask('/slow'), await ask('/silent')]
        // What lies in the buffers between the two has been sent, and not read.
        return { outcomes, isBounded: sent < 25 * 1024 * 1024 }
      },
      { timeoutMs: 400 },
    ),
    equals: { outcomes: ['too_large', 'too_large', 'unreachable', 'unreachable'], isBounded: true },
  },
]

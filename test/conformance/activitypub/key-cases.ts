// Whose key it is, and who is asked for it.
import { peerNow, post, signCavage } from '../../doubles/activitypub-peer.ts'
import type { Case } from '../conform.ts'
import { alice, askedFor, bob, gateFor, judged, mallory, noteRequest, signed, told } from './signature-setup.ts'

export const ownerCases: readonly Case[] = [
  {
    id: 'AP-040',
    claim: 'a key on another host is not asked for; one that says it is somebody else’s counts for nobody',
    run: async () => {
      const forged = signCavage(noteRequest, mallory)
      const { keys, gate } = gateFor()
      keys.answers.set(mallory.rsa.key.id, {
        kind: 'found',
        key: { ...mallory.rsa.key, owner: alice.id },
        actor: alice.actor,
      })
      return { verdict: told(await gate.open(forged)), asked: keys.asked }
    },
    equals: { verdict: '401 key_elsewhere', asked: [] },
  },
  {
    id: 'AP-041',
    claim: 'a name of a key without a fragment',
    run: async () => {
      const { keys, gate } = gateFor()
      const key = { ...alice.rsa.key, id: `${alice.id}/main-key` }
      keys.answers.set(key.id, { kind: 'found', key, actor: alice.actor })
      return told(await gate.open(signCavage(noteRequest, alice, { keyId: key.id })))
    },
    equals: `ap-http-signature ${alice.id}/main-key`,
  },
  {
    id: 'AP-042',
    claim: 'a neighbour on the same host',
    run: () => judged(signCavage(noteRequest, bob)),
    equals: ['401 not_the_owner'],
  },
  {
    id: 'AP-043',
    claim: 'a changed key is fetched anew once; a forgery within a minute fetches nothing',
    run: async () => {
      let now = peerNow
      const { keys, gate } = gateFor({ now: () => now })
      const old = { ...alice.rsa.key, spki: bob.rsa.key.spki }
      keys.answers.set(old.id, { kind: 'found', key: old, actor: alice.actor })
      keys.fresh.set(old.id, { kind: 'found', key: alice.rsa.key, actor: alice.actor })
      const first = told(await gate.open(signCavage(noteRequest, alice)))
      keys.answers.set(old.id, { kind: 'found', key: alice.rsa.key, actor: alice.actor })
      const forged = signCavage(noteRequest, alice, { pair: { ...bob.rsa, key: alice.rsa.key } })
      const second = told(await gate.open(forged))
      now += 61_000
      const third = told(await gate.open(forged))
      return { verdicts: [first, second, third], asked: keys.asked.map((each) => each.split(' ')[0]) }
    },
    equals: {
      verdicts: [signed, '401 wrong_signature', '401 wrong_signature'],
      asked: ['find', 'refresh', 'find', 'find', 'refresh'],
    },
  },
  {
    id: 'AP-044',
    claim: 'somebody whose key is gone says that they are; with a key elsewhere nobody is believed',
    run: async () => {
      const left = { id: `${alice.id}#delete`, type: 'Delete', actor: alice.id, object: alice.id }
      const { keys, gate } = gateFor()
      keys.answers.set(alice.rsa.key.id, { kind: 'gone' })
      keys.answers.set(mallory.rsa.key.id, { kind: 'gone' })
      const arrivals = [signCavage(post(left), alice), signCavage(post(left), mallory), signCavage(noteRequest, alice)]
      return Promise.all(arrivals.map(async (arrival) => told(await gate.open(arrival))))
    },
    equals: ['departed', '401 key_elsewhere', '401 key_gone'],
  },
  {
    id: 'AP-045',
    claim: 'a key that cannot be reached is asked for once',
    run: async () => {
      const { keys, gate } = gateFor()
      keys.answers.delete(alice.rsa.key.id)
      return { verdict: told(await gate.open(signCavage(noteRequest, alice))), asked: keys.asked }
    },
    equals: { verdict: '401 key_unreachable', asked: [`find ${alice.rsa.key.id}`] },
  },
  {
    id: 'AP-046',
    claim: 'a name of a key that leads into a private network is not followed',
    run: async () => {
      const ids = [
        'http://169.254.169.254/latest/meta-data',
        'http://[::ffff:127.0.0.1]/',
        'http://2130706433/',
        'http://0x7f000001/',
        'http://localhost/',
        'file:///etc/passwd',
      ]
      const all = ids.map((keyId) => askedFor(signCavage(noteRequest, alice, { keyId })))
      return Promise.all(all)
    },
    equals: Array.from({ length: 6 }, () => ({ verdict: '401 key_elsewhere', asked: [] })),
  },
]

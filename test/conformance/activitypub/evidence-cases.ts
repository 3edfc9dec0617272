// What a signature proves.
import { actorOf, signCavage, signMessage } from '../../doubles/activitypub-peer.ts'
import type { Case } from '../conform.ts'
import { alice, bob, gateFor, judged, mallory, mismatch, noteRequest, signed, told } from './signature-setup.ts'

const stranger = { ...actorOf(alice.id, []), id: bob.id }
export const messageCases: readonly Case[] = [
  {
    id: 'AP-01',
    claim: 'a right signature by the owner',
    run: () => judged(signCavage(noteRequest, alice)),
    equals: [signed],
  },
  {
    id: 'AP-02',
    claim: 'an owner of the key on another host, and an owner who is somebody else',
    run: async () => {
      const { keys, gate } = gateFor()
      keys.answers.set(alice.rsa.key.id, { kind: 'found', key: alice.rsa.key, actor: stranger })
      const ownersDocument = told(await gate.open(signCavage(noteRequest, alice)))
      keys.answers.set(alice.rsa.key.id, {
        kind: 'found',
        key: { ...alice.rsa.key, owner: bob.id },
        actor: alice.actor,
      })
      const ownersName = told(await gate.open(signCavage(noteRequest, alice)))
      return [...(await judged(signCavage(noteRequest, mallory))), ownersDocument, ownersName]
    },
    equals: ['401 key_elsewhere', '401 not_the_owner', '401 not_the_owner'],
  },
  {
    id: 'AP-03',
    claim: 'a digest of something else',
    run: () => judged(signMessage(mismatch, alice)),
    equals: ['401 digest_mismatch'],
  },
]

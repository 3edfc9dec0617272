// Signatures as most servers make them (draft-cavage).
import { arrivalOf, createNote, post, signCavage } from '../../doubles/activitypub-peer.ts'
import type { Case } from '../conform.ts'
import {
  alice,
  gateFor,
  judged,
  minutes,
  mismatch,
  noteRequest,
  noteText,
  sha,
  signed,
  withHeaders,
} from './signature-setup.ts'

export const cavageCases: readonly Case[] = [
  {
    id: 'AP-020',
    claim: 'a signature over target, host, date and digest is let in, with whose key it was',
    run: async () => {
      const verdict = await gateFor().gate.open(signCavage(noteRequest, alice))
      if (verdict.kind !== 'genuine') return verdict
      const { activity, once = [] } = verdict.payload
      return { ...verdict.payload, activity: activity.id, once: once.length }
    },
    equals: {
      activity: `${alice.id}/notes/1/activity`,
      signer: alice.actor,
      method: 'ap-http-signature',
      keyId: alice.rsa.key.id,
      once: 1,
      inboxOf: 'concierge',
    },
  },
  {
    id: 'AP-021',
    claim: 'hs2019 is whatever the key is made for',
    run: () =>
      judged(
        signCavage(noteRequest, alice, { algorithm: 'hs2019' }),
        signCavage(noteRequest, alice, { algorithm: 'hs2019', pair: alice.ed25519 }),
      ),
    equals: [signed, `ap-http-signature ${alice.ed25519.key.id}`],
  },
  {
    id: 'AP-022',
    claim: 'a signature in Authorization is none',
    run: () => {
      const { signature = '' } = signCavage(noteRequest, alice).headers
      return judged(arrivalOf(noteRequest, { authorization: `Signature ${signature}` }))
    },
    equals: ['401 missing_signature'],
  },
  {
    id: 'AP-023',
    claim: 'a signature over the date alone',
    run: () => judged(signCavage(noteRequest, alice, { headers: 'date' })),
    equals: ['401 missing_coverage'],
  },
  {
    id: 'AP-024',
    claim: 'a signature without the host',
    run: () => judged(signCavage(noteRequest, alice, { headers: '(request-target) date digest' })),
    equals: ['401 missing_coverage'],
  },
  {
    id: 'AP-025',
    claim: 'a signature without the digest, with and without the header',
    run: () => {
      const { digest: _, 'content-digest': __, ...rest } = noteRequest.headers
      const headers = '(request-target) host date'
      return judged(
        signCavage(noteRequest, alice, { headers }),
        signCavage({ ...noteRequest, headers: rest }, alice, { headers }),
      )
    },
    equals: ['401 missing_coverage', '401 missing_digest'],
  },
  {
    id: 'AP-026',
    claim: 'the digest of another body, signed by its owner',
    run: () => judged(signCavage(mismatch, alice)),
    equals: ['401 digest_mismatch'],
  },
  {
    id: 'AP-027',
    claim: 'two digests, one of them wrong, in either place and of either kind',
    run: () => {
      const [right, wrong] = [sha('sha256', noteText), sha('sha512', 'other')]
      return judged(
        ...[
          `SHA-256=${right},SHA-512=${wrong}`,
          `SHA-512=${wrong},SHA-256=${right}`,
          `SHA-256=${right},SHA-256=${sha('sha256', 'other')}`,
          `SHA-256=${right},MD5=${sha('md5', 'other')}`,
          `SHA-256=${right},SHA-512=${sha('sha512', noteText)}`,
        ].map((digest) => signCavage(withHeaders({ digest }), alice)),
      )
    },
    equals: ['401 digest_mismatch', '401 digest_mismatch', '401 digest_mismatch', '401 malformed_digest', signed],
  },
  {
    id: 'AP-028',
    claim: 'the name of the digest in small letters',
    run: () => judged(signCavage(withHeaders({ digest: `sha-256=${sha('sha256', noteText)}` }), alice)),
    equals: [signed],
  },
  {
    id: 'AP-029',
    claim: 'a date two hours off either way or unreadable; half an hour off either way',
    run: () =>
      judged(
        ...[minutes(-120), minutes(120), 'yesterday', '2026-11-17T12:00:00Z', minutes(-30), minutes(30)].map((date) =>
          signCavage(withHeaders({ date }), alice),
        ),
      ),
    equals: ['401 stale', '401 from_the_future', '401 missing_time', '401 missing_time', signed, signed],
  },
  {
    id: 'AP-038',
    claim: 'a signature for one inbox is none for another, nor for another server',
    run: () => {
      const shared = signCavage(post(createNote(alice), '/ap/inbox'), alice)
      const elsewhere = signCavage(withHeaders({ host: 'other.example' }), alice)
      return judged({ ...shared, headers: { ...shared.headers, ':path': '/ap/concierge/inbox' } }, shared, elsewhere)
    },
    equals: ['401 wrong_signature', signed, '401 wrong_signature'],
  },
  {
    id: 'AP-039',
    claim: 'an address with a query, signed with and without it',
    run: () => {
      const request = post(createNote(alice), '/ap/inbox?a=b')
      return judged(
        signCavage(request, alice),
        signCavage(request, alice, { target: '/ap/inbox' }),
        signCavage(request, alice, { target: '/ap/inbox?a=c' }),
      )
    },
    equals: [signed, signed, '401 wrong_signature'],
  },
]

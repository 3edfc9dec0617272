// Signatures by RFC 9421.
import {
  arrivalOf,
  createdNow,
  createNote,
  post,
  signCavage,
  signMessage,
  together,
} from '../../doubles/activitypub-peer.ts'
import type { Case } from '../conform.ts'
import { alice, judged, mallory, noteRequest, seconds, signed } from './signature-setup.ts'

export const rfcCases: readonly Case[] = [
  {
    id: 'AP-030',
    claim: 'method, target and digest are enough; so is the target in its parts',
    run: () =>
      judged(
        signMessage(noteRequest, alice),
        signMessage(noteRequest, alice, {
          components: ['@method', '@authority', '@path', '@query', 'content-digest', 'date', 'content-type'],
        }),
        signMessage(post(createNote(alice), '/ap/inbox?a=b'), alice, {
          components: ['@method', '@authority', '@path', '@query', 'content-digest'],
        }),
        signMessage(noteRequest, alice, { params: `${createdNow};alg="rsa-v1_5-sha256"` }),
        signMessage(noteRequest, alice, { params: `${createdNow};alg="rsa-pss-sha512"`, pss: true }),
      ),
    equals: [signed, signed, signed, signed, signed],
  },
  {
    id: 'AP-031',
    claim: 'Ed25519 and P-256, with and without the name of the algorithm; not by the name of another',
    run: () =>
      judged(
        signMessage(noteRequest, alice, { pair: alice.ed25519, params: `${createdNow};alg="ed25519"` }),
        signMessage(noteRequest, alice, { pair: alice.ed25519 }),
        signMessage(noteRequest, alice, { pair: alice.p256, params: `${createdNow};alg="ecdsa-p256-sha256"` }),
        signMessage(noteRequest, alice, { pair: alice.p256 }),
        signMessage(noteRequest, alice, { params: `${createdNow};alg="ed25519"` }),
        signMessage(noteRequest, alice, { params: `${createdNow};alg="hmac-sha256"` }),
      ),
    equals: [
      `ap-http-signature ${alice.ed25519.key.id}`,
      `ap-http-signature ${alice.ed25519.key.id}`,
      `ap-http-signature ${alice.p256.key.id}`,
      `ap-http-signature ${alice.p256.key.id}`,
      '401 algorithm_of_another_key',
      '401 unknown_algorithm',
    ],
  },
  {
    id: 'AP-032',
    claim: 'a body that was swapped under a signature without its digest',
    run: () => {
      const { headers } = signMessage(noteRequest, alice, { components: ['@method', '@target-uri'] })
      const swapped = post(createNote(alice, {}, { content: 'swapped' }))
      return judged({ ...arrivalOf(swapped), headers: { ...headers, ...swapped.headers } })
    },
    equals: ['401 missing_coverage'],
  },
  {
    id: 'AP-033',
    claim: 'a signature over nothing',
    run: () => judged(signMessage(noteRequest, alice, { components: [] })),
    equals: ['401 missing_coverage'],
  },
  {
    id: 'AP-034',
    claim: 'an end that is past, by a thousand seconds or one; one to come',
    run: () =>
      judged(
        ...[-1000, -1, 60].map((end) =>
          signMessage(noteRequest, alice, { params: `${createdNow};expires=${seconds + end}` }),
        ),
      ),
    equals: ['401 expired', '401 expired', signed],
  },
  {
    id: 'AP-035',
    claim: 'a beginning that is missing, 0, a text, or out of time',
    run: () =>
      judged(
        ...['', 'created=0', 'created="now"', `created=${seconds - 3901}`, `created=${seconds - 3899}`].map((params) =>
          signMessage(noteRequest, alice, { params }),
        ),
        signMessage(noteRequest, alice, { params: `created=${seconds + 3601}` }),
      ),
    equals: ['401 missing_time', '401 missing_time', '401 missing_time', '401 stale', signed, '401 from_the_future'],
  },
  {
    id: 'AP-036',
    claim: 'of two labels each is judged by itself, and only one of the actor counts',
    run: () => {
      const [theirs, stranger] = [signMessage(noteRequest, alice), signMessage(noteRequest, mallory, { label: 'sig2' })]
      const broken = signMessage(noteRequest, alice, { label: 'sig0', components: [] })
      const request = { ...broken, headers: { ...broken.headers } }
      return judged(together(request, theirs), together(request, stranger), together(stranger, theirs))
    },
    equals: [signed, '401 key_elsewhere', signed],
  },
  {
    id: 'AP-037',
    claim: 'both syntaxes at once take one way',
    run: () => {
      const both = signMessage(noteRequest, alice)
      const { signature = '' } = signCavage(noteRequest, alice).headers
      return judged({ ...both, headers: { ...both.headers, signature } })
    },
    equals: ['401 malformed_signature'],
  },
]

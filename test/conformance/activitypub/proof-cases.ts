// Proofs that an activity carries itself (FEP-8b32).
import { createHash, sign } from 'node:crypto'
import { canonicalJson } from '../../../src/lib/index.ts'
import { arrivalOf, createNote, peerNow, post, signCavage } from '../../doubles/activitypub-peer.ts'
import type { Case } from '../conform.ts'
import { alice, askedFor, mallory, noteRequest } from './signature-setup.ts'

const letters = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'

function base58(bytes: Uint8Array): string {
  let number = BigInt(`0x${Buffer.from(bytes).toString('hex')}`)
  let text = ''
  for (; number > 0n; number /= 58n) text = letters[Number(number % 58n)] + text
  return '1'.repeat(bytes.findIndex((byte) => byte !== 0)) + text
}

const hash = (value: unknown) => createHash('sha256').update(canonicalJson(value)).digest()

type ProofOptions = { readonly pair?: typeof alice.ed25519; readonly more?: object; readonly isContextSigned?: boolean }

/** With the document's context in what is signed, as the suite says, or also without writing it into the proof, as servers do. */
export function proven(
  document: object,
  { pair = alice.ed25519, more = {}, isContextSigned = true }: ProofOptions = {},
): object {
  const options = {
    type: 'DataIntegrityProof',
    cryptosuite: 'eddsa-jcs-2022',
    verificationMethod: pair.key.id,
    proofPurpose: 'assertionMethod',
    created: new Date(peerNow).toISOString(),
    ...more,
  }
  const context = isContextSigned && '@context' in document ? { '@context': document['@context'] } : {}
  const signature = sign(null, Buffer.concat([hash({ ...options, ...context }), hash(document)]), pair.privateKey)
  return { ...document, proof: { ...options, proofValue: `z${base58(signature)}` } }
}

const note = createNote(alice)
const unsigned = (body: object) => {
  const { digest: _, 'content-digest': __, ...headers } = post(body).headers
  return arrivalOf({ ...post(body), headers })
}
const on = { acceptsProofs: true }
const verdictOn = async (body: object) => (await askedFor(unsigned(body), on)).verdict
const byProof = `ap-object-integrity-proof ${alice.ed25519.key.id}`
const days = (count: number) => new Date(peerNow + count * 86_400_000).toISOString()

export const proofCases: readonly Case[] = [
  {
    id: 'AP-048',
    claim: 'a proof and no signature: refused unless proofs may stand alone',
    run: () => Promise.all([askedFor(unsigned(proven(note))), askedFor(unsigned(proven(note)), on)]),
    equals: [
      { verdict: '401 missing_signature', asked: [] },
      { verdict: byProof, asked: [`find ${alice.ed25519.key.id}`] },
    ],
  },
  {
    id: 'AP-048',
    claim: 'the context of the document may be signed with the proof, stand in it, or be left out',
    run: () =>
      Promise.all([
        verdictOn(proven(note)),
        verdictOn(proven(note, { isContextSigned: false })),
        verdictOn(proven(note, { more: { '@context': 'https://www.w3.org/ns/activitystreams' } })),
        verdictOn(proven(note, { more: { '@context': 'https://evil.example/context' }, isContextSigned: false })),
      ]),
    equals: [byProof, byProof, byProof, '401 malformed_proof'],
  },
  {
    id: 'AP-049',
    claim: 'an object that was changed under its proof; a proof by somebody else, by another kind of key, by nobody',
    run: () =>
      Promise.all([
        verdictOn({ ...proven(note), object: { ...createNote(alice, {}, {}), content: 'changed' } }),
        verdictOn({ ...proven(note), to: [] }),
        verdictOn(proven(note, { pair: mallory.ed25519 })),
        verdictOn(proven(note, { more: { verificationMethod: alice.rsa.key.id } })),
        verdictOn({ ...note, proof: 'yes' }),
        verdictOn({ ...note, proof: [] }),
        verdictOn(note),
      ]),
    equals: [
      '401 wrong_signature',
      '401 wrong_signature',
      '401 key_elsewhere',
      '401 algorithm_of_another_key',
      '401 malformed_proof',
      '401 malformed_proof',
      '401 missing_proof',
    ],
  },
  {
    id: 'AP-049',
    claim: 'what the proof says about itself is judged too: its end, its age, whom it is for, its suite',
    run: () =>
      Promise.all(
        [
          { expires: days(-1) },
          { expires: days(1) },
          { created: days(-8) },
          { created: days(1) },
          { created: 0 },
          { domain: 'other.example' },
          { challenge: 'x' },
          { proofPurpose: 'authentication' },
          { cryptosuite: 'eddsa-rdfc-2022' },
        ].map((more) => verdictOn(proven(note, { more }))),
      ),
    equals: [
      '401 expired',
      byProof,
      '401 stale',
      '401 from_the_future',
      '401 missing_time',
      '401 malformed_proof',
      '401 malformed_proof',
      '401 malformed_proof',
      '401 unknown_algorithm',
    ],
  },
  {
    id: 'AP-04',
    claim: 'somebody else brings an activity with the proof of its actor',
    run: async () => {
      const brought = signCavage(post(proven(note)), mallory)
      return [(await askedFor(brought, on)).verdict, (await askedFor(brought)).verdict]
    },
    equals: [byProof, '401 key_elsewhere'],
  },
  {
    id: 'AP-04',
    claim: 'who signed the request itself is believed by that',
    run: async () => (await askedFor(signCavage(post(proven(note)), alice), on)).verdict,
    equals: `ap-http-signature ${alice.rsa.key.id}`,
  },
  {
    id: 'AP-04',
    claim: 'a digest that came along must be right all the same',
    run: async () => {
      const wrong = arrivalOf({ ...post(proven(note)), headers: noteRequest.headers })
      return (await askedFor(wrong, on)).verdict
    },
    equals: '401 digest_mismatch',
  },
]

// What may be in a body, and what it may speak about.
import { arrivalOf, createNote, ourOrigin, post, signCavage } from '../../doubles/activitypub-peer.ts'
import type { Case } from '../conform.ts'
import {
  alice,
  askedFor,
  bob,
  gateFor,
  judged,
  mallory,
  noteText,
  signed,
  signedBody,
  told,
  withHeaders,
} from './signature-setup.ts'

export const bodyCases: readonly Case[] = [
  {
    id: 'AP-053',
    claim: 'an unsigned body with a context of its own asks nobody',
    run: () => askedFor(arrivalOf(post(createNote(alice, { '@context': 'https://evil.example/context' })))),
    equals: { verdict: '401 missing_signature', asked: [] },
  },
  {
    id: 'AP-054',
    claim: 'a signed one is read without it',
    run: () => judged(signedBody(createNote(alice, { '@context': ['https://evil.example/context', { a: 'b:c' }] }))),
    equals: [signed],
  },
  {
    id: 'AP-055',
    claim: 'the context that every instance hosts itself',
    run: () =>
      judged(signedBody(createNote(alice, { '@context': 'https://remote.example/schemas/litepub-0.1.jsonld' }))),
    equals: [signed],
  },
  {
    id: 'AP-056',
    claim: 'an unsigned body of 1.5 MB with 20,000 tags',
    run: () => {
      const tag = Array.from({ length: 20_000 }, (_, index) => ({
        type: 'Mention',
        href: `https://a.example/users/${index}`,
        name: '@x',
      }))
      return judged(arrivalOf(post(createNote(alice, {}, { tag }))))
    },
    equals: ['413 body_too_large'],
  },
  {
    id: 'AP-057',
    claim: 'a signed body of 300 KB, and one of 60 KB',
    run: () =>
      judged(
        ...[300, 60].map((kilobytes) => signedBody(createNote(alice, {}, { content: 'x'.repeat(kilobytes * 1000) }))),
      ),
    equals: ['413 body_too_large', signed],
  },
  {
    id: 'AP-058',
    claim: '20,000 lists in each other, and 33 levels',
    run: () =>
      judged(
        signedBody(`${'['.repeat(20_000)}${']'.repeat(20_000)}`),
        signedBody(createNote(alice, { deep: JSON.parse(`${'['.repeat(32)}${']'.repeat(32)}`) })),
      ),
    equals: ['400 too_deep', '400 too_deep'],
  },
  {
    id: 'AP-059',
    claim: 'null, a list, a text, a number, an empty object',
    run: () => judged(...['null', '[]', '"x"', '1', '{}', '{"type":"Create"}', ''].map(signedBody)),
    equals: [
      ...Array.from({ length: 4 }, () => '400 not_an_object'),
      '400 no_type',
      '400 no_actor',
      '400 invalid_json',
    ],
  },
  {
    id: 'AP-060',
    claim: 'no UTF-8; a mark at the beginning; two actors: the last one is judged and read',
    run: async () => {
      const twice = (first: string, last: string) =>
        noteText
          .replace('"actor":', `"actor":"${first}","actor":`)
          .replace(`"actor":"${alice.id}"`, `"actor":"${last}"`)
      const verdict = await gateFor().gate.open(signedBody(twice(mallory.id, alice.id)))
      const actor = verdict.kind === 'genuine' ? verdict.payload.activity.actor : told(verdict)
      const others = await judged(
        signedBody(Buffer.from([0x7b, 0xff, 0x7d])),
        signedBody(`\ufeff${noteText}`),
        signedBody(createNote(alice, { actor: [alice.id, mallory.id] })),
      )
      return [actor, ...others]
    },
    equals: [alice.id, '400 invalid_utf8', signed, '400 no_actor'],
  },
  {
    id: 'AP-061',
    claim: 'other types of content, or none; the two that are taken',
    run: () =>
      judged(
        ...[
          'text/plain',
          '',
          'application/json',
          'application/ld+json',
          'application/ld+json; profile="https://www.w3.org/ns/activitystreams"',
          'application/activity+json; charset=utf-8',
        ].map((type) => signCavage(withHeaders({ 'content-type': type }), alice)),
      ),
    equals: [...Array.from({ length: 4 }, () => '415 wrong_media_type'), signed, signed],
  },
  {
    id: 'AP-062',
    claim: 'ids on another host',
    run: () =>
      judged(
        signedBody(createNote(alice, { id: 'https://victim.example/1' })),
        signedBody(createNote(alice, {}, { id: 'https://victim.example/1' })),
        signedBody({ id: `${alice.id}#d`, type: 'Delete', actor: alice.id, object: 'https://victim.example/1' }),
        signedBody({ id: `${alice.id}#l`, type: 'Like', actor: alice.id, object: 'https://victim.example/1' }),
      ),
    equals: ['400 foreign_activity_id', '400 foreign_object_id', '400 foreign_object_id', signed],
  },
  {
    id: 'AP-063',
    claim: 'an activity without an id, about an object of its own host and of another',
    run: () =>
      judged(
        signedBody(createNote(alice, { id: undefined })),
        signedBody(createNote(alice, { id: undefined }, { id: undefined })),
        signedBody({ type: 'Follow', actor: alice.id, object: `${ourOrigin}/ap/concierge` }),
      ),
    equals: [signed, '400 no_id', '400 no_id'],
  },
  {
    id: 'AP-064',
    claim: 'a note that is said to be a neighbour’s',
    run: () => askedFor(signedBody(createNote(alice, {}, { attributedTo: bob.id }))),
    equals: { verdict: 'dropped not_their_own_work', asked: [] },
  },
]

// The gate's verdicts in the words of the contract, and what it tells about an arrival beside its signer.
import { describe, expect, test } from 'vitest'
import { rejectSignature } from '../../../../../adapters/activitypub/signatures/rejection.ts'
import {
  createSignatureVerifier,
  toVerifyResult,
} from '../../../../../adapters/activitypub/signatures/verify-activity.ts'
import { isActivityMediaType } from '../../../../../adapters/activitypub/vocab.ts'
import {
  createNote,
  keySource,
  makePeer,
  ourOrigin,
  peerNow,
  post,
  signCavage,
} from '../../../../doubles/activitypub-peer.ts'

const alice = makePeer('https://remote.example/users/alice')
const gate = createSignatureVerifier({ keys: keySource([alice]), now: () => peerNow, origin: ourOrigin })

/** An error with its code and what to do about it. */
function told(status: number, code: string) {
  const body = expect.stringMatching(new RegExp(`^{"error":{"code":"${code}","remedy":"[^"]+"}}$`))
  return { status, headers: { 'content-type': 'application/json; charset=utf-8' }, body }
}

describe('a verdict for the gateway', () => {
  test.each([
    [rejectSignature('wrong_signature'), { kind: 'rejected', reason: 'bad_signature' }],
    [rejectSignature('missing_signature'), { kind: 'rejected', reason: 'missing_credential' }],
    [rejectSignature('stale'), { kind: 'rejected', reason: 'stale_timestamp' }],
    [rejectSignature('from_the_future'), { kind: 'rejected', reason: 'future_timestamp' }],
    [rejectSignature('not_the_owner'), { kind: 'rejected', reason: 'wrong_credential' }],
    [rejectSignature('body_too_large'), { kind: 'handshake', answer: told(413, 'body_too_large') }],
    [rejectSignature('wrong_media_type'), { kind: 'handshake', answer: told(415, 'wrong_media_type') }],
    [rejectSignature('no_actor'), { kind: 'handshake', answer: told(400, 'no_actor') }],
    [{ kind: 'dropped', reason: 'not_their_own_work' } as const, { kind: 'handshake', answer: { status: 202 } }],
    [{ kind: 'screened', answer: { status: 429 } } as const, { kind: 'handshake', answer: { status: 429 } }],
  ])('of %j', (verdict, expected) => {
    expect(toVerifyResult(verdict)).toEqual(expected)
  })

  test('who is let in is genuine', async () => {
    const verdict = await gate.open(signCavage(post(createNote(alice)), alice))
    expect(verdict.kind === 'departed' ? undefined : toVerifyResult(verdict)).toBe(verdict)
  })
})

test.each([
  ['/ap/concierge/inbox', 'concierge'],
  ['/ap/concierge/inbox?a=/ap/other/inbox', 'concierge'],
  ['/ap/inbox', undefined],
])('%s is the inbox of %s', async (path, owner) => {
  const verdict = await gate.open(signCavage(post(createNote(alice), path), alice))
  expect(verdict.kind === 'genuine' && verdict.payload.inboxOf).toBe(owner)
})

test.each([
  ['application/activity+json', true],
  ['Application/Activity+JSON;charset=utf-8', true],
  ['application/ld+json; charset=utf-8; profile="https://www.w3.org/ns/activitystreams"', true],
  ['application/ld+json;profile="https://a.example/ https://www.w3.org/ns/activitystreams"', true],
  ['application/ld+json; profile="https://www.w3.org/ns/activitystreams#x"', false],
  ['application/ld+json', false],
  ['application/json', false],
  ['text/html, application/activity+json', false],
  [undefined, false],
])('%s is a type of activities: %s', (type, expected) => {
  expect(isActivityMediaType(type)).toBe(expected)
})

test('an operator may allow longer or shorter bodies', async () => {
  const tight = createSignatureVerifier({
    keys: keySource([alice]),
    now: () => peerNow,
    origin: ourOrigin,
    maxBytes: 100,
  })
  expect(await tight.open(signCavage(post(createNote(alice)), alice))).toMatchObject({ status: 413 })
})

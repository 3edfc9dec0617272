// Which addresses of others may be asked at all.
import { expect, test } from 'vitest'
import { isSafeIri } from '../../../../../adapters/activitypub/actors/fetch-document.ts'

const written = ['http://127.0.0.1:8080', 'http://peer.localhost:8080']

test.each([
  ['https://social.example/users/alice', true],
  ['http://social.example/users/alice', false],
  ['http://127.0.0.1:8080/users/alice', true],
  ['http://peer.localhost:8080/users/alice', true],
  ['http://127.0.0.1:8081/users/alice', false],
  ['https://127.0.0.1/users/alice', false],
  ['http://2130706433:8080/users/alice', true],
  ['http://10.0.0.1:8080/users/alice', false],
  ['https://169.254.169.254/latest', false],
])('%s, beside two origins of this machine that the operator wrote down: %s', (iri, isSafe) => {
  expect(isSafeIri(iri, written)).toBe(isSafe)
})

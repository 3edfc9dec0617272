// What whoever has no key can make the gate do: next to nothing (mail F13-F16, AP-056, AP-058). By the processor's time.
import { describe, expect, test } from 'vitest'
import { parseCavageSignature } from '../../../adapters/activitypub/signatures/http-signatures.ts'
import { readSignedRequest } from '../../../adapters/activitypub/signatures/signed-request.ts'
import { parseDictionary } from '../../../adapters/activitypub/signatures/structured-fields.ts'
import { createSignatureVerifier } from '../../../adapters/activitypub/signatures/verify-activity.ts'
import { arrivalOf, createNote, keySource, ourOrigin, peerNow, post } from '../../doubles/activitypub-peer.ts'
import { cpuMs, isLinear } from '../../doubles/linear-time.ts'

const alice = { id: 'https://remote.example/users/alice' }
const tag = Array.from({ length: 20_000 }, (_, index) => ({
  type: 'Mention',
  href: `https://a.example/users/${index}`,
  name: `@someone${index}@a.example`,
}))
const large = post(createNote(alice, {}, { tag }))

async function cpuPer(count: number, work: () => Promise<unknown>): Promise<number> {
  await work()
  const before = process.cpuUsage()
  for (let index = 0; index < count; index += 1) await work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000 / count
}

describe('without a key', () => {
  const keys = keySource([])
  const gate = createSignatureVerifier({ keys, now: () => peerNow, origin: ourOrigin })

  test.each([
    ['an unsigned body of 1.5 MB', arrivalOf(large), 'body_too_large', 5],
    ['the same with a signature that is none', arrivalOf(large, { signature: 'x' }), 'body_too_large', 5],
    ['an unsigned body of 250 KB', arrivalOf(post('['.repeat(250_000))), 'missing_signature', 5],
    // It costs its digest, and one look at each byte until it is too deep.
    ['a deep body of 250 KB with its digest', arrivalOf(post('['.repeat(250_000)), { signature: 'x' }), 'too_deep', 20],
    [
      'a wrong digest of 250 KB',
      arrivalOf(post('['.repeat(250_000), '/', { digest: 'SHA-256=YQ==' }), { signature: 'x' }),
      'digest_mismatch',
      20,
    ],
  ])('%s is refused within a few milliseconds, and nobody is asked', async (_, arrival, reason, ms) => {
    expect(arrival.bytes.length).toBeGreaterThan(200_000)
    expect(await gate.open(arrival)).toMatchObject({ kind: 'refused', reason })
    expect(await cpuPer(100, () => gate.open(arrival))).toBeLessThan(ms)
    expect(keys.asked).toEqual([])
  })
})

describe('headers are read in time that grows with their length', () => {
  const lines = (unit: string, size: number) => unit.repeat(size / unit.length)

  test.each(['a=', '(', '("', 'a=(', 'a="\\"', ';a', 'a;b', ' ', ':', 'a=:', 'a=("b" '])(
    'of structured fields: %j',
    (unit) => {
      const read = (size: number) => () => {
        for (let count = 0; count < 50; count += 1) parseDictionary(lines(unit, size))
      }
      expect(isLinear(read(8000), read(16_000))).toBe(true)
    },
  )

  test.each(['a="b",', 'a="', ' ', 'a=1', '"', ','])('of the older signatures: %j', (unit) => {
    const read = (size: number) => () => {
      const { headers } = arrivalOf(post(createNote(alice)), { signature: lines(unit, size) })
      const request = readSignedRequest({ ...arrivalOf(post('')), headers }, ourOrigin)
      for (let count = 0; count < 50; count += 1) parseCavageSignature(request, peerNow)
    }
    expect(isLinear(read(4000), read(8000))).toBe(true)
  })

  test('a megabyte of them is not read at all', () => {
    expect(cpuMs(() => parseDictionary('a="b",'.repeat(200_000)))).toBeLessThan(20)
  })
})

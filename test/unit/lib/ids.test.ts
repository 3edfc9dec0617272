// Ids: version 7 by the letter, sorted by time, and no random byte used twice.
import { expect, test } from 'vitest'
import { createUuidV7Source } from '../../../src/lib/ids.ts'

const time = 0x0123_4567_89ab
const realRandom = (bytes: Uint8Array<ArrayBuffer>) => void crypto.getRandomValues(bytes)

test('an id is the time, the version, the variant and the random bits', () => {
  expect(
    createUuidV7Source(
      () => time,
      (bytes) => bytes.fill(0xff),
    )(),
  ).toBe('01234567-89ab-7fff-bfff-ffffffffffff')
  expect(
    createUuidV7Source(
      () => time,
      (bytes) => bytes.fill(0),
    )(),
  ).toBe('01234567-89ab-7000-8000-000000000000')
})

test('later ids sort behind earlier ones', () => {
  let at = time
  const newId = createUuidV7Source(() => at, realRandom)
  const ids = Array.from({ length: 500 }, () => {
    at += 1
    return newId()
  })
  expect(ids.toSorted()).toEqual(ids)
})

test('randomness is fetched anew before it runs out, and every byte serves once', () => {
  let fills = 0
  const newId = createUuidV7Source(
    () => time,
    (bytes) => {
      fills += 1
      realRandom(bytes)
    },
  )
  const ids = new Set(Array.from({ length: 2_000 }, newId))
  expect(ids.size).toBe(2_000)
  expect(fills).toBe(10)
})

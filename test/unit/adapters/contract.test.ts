// Every channel keeps the adapter contract. Folders are found by pattern, so a copied adapter is under test at once.
/// <reference types="vite/client" />
import { describe, expect, test } from 'vitest'
import { adapterContract } from '../../../src/testing/adapter-contract.ts'
import type { AdapterFixtures } from '../../../src/testing/adapter-fixtures.ts'
import { loopbackFixtures } from '../../doubles/loopback/fixtures.ts'
import { scaled } from '../../setup/scale.ts'

/** `variants`: other ways in to the same channel. */
type Found = { readonly fixtures: AdapterFixtures; readonly variants?: readonly AdapterFixtures[] }

const folders = Object.keys(import.meta.glob('../../../adapters/*/index.ts')).map((path) => path.split('/').at(-2))
const found = import.meta.glob<Found>('../../fixtures/*/index.ts', { eager: true })

describe('the adapter folders', () => {
  test('there are some', () => expect(folders).not.toEqual([]))
  test.each(folders)('%s has fixtures for the kit', (folder) => {
    expect(found[`../../fixtures/${folder}/index.ts`]?.fixtures.definition.channel).toBe(folder)
  })
})

const every = Object.values(found).flatMap(({ fixtures, variants = [] }) => [fixtures, ...variants])
for (const fixtures of [...every, ...loopbackFixtures])
  adapterContract(fixtures, { describe, test, payloads: scaled(300) })

// The list in coverage.ts against the specification's own numbers and against the tests that are really there.
/// <reference types="vite/client" />
import { describe, expect, test } from 'vitest'
import { type Coverage, coverage } from './coverage.ts'

const sources = import.meta.glob<string>(
  [
    '../../adapters/*.ts',
    '../../journeys/*.ts',
    '../../storage/*.ts',
    '../../security/identity/*.ts',
    '../../identity/issuers/*.ts',
    './*-cases.ts',
  ],
  { eager: true, query: '?raw', import: 'default' },
)

const textOf = (file: string): string => sources[`../../${file}`] ?? sources[file.replace('conformance/a2a', '.')] ?? ''

const last = { CD: 16, EN: 20, VE: 9, SE: 24, ST: 21, TA: 20, PU: 17, AU: 12, CH: 8, LG: 14, A2: 9 }
const specified = Object.entries(last).flatMap(([prefix, count]) =>
  Array.from({ length: count }, (_, at) => `${prefix}-${String(at + 1).padStart(2, '0')}`),
)
const count = (kind: Coverage['kind']): number => coverage.filter((entry) => entry.kind === kind).length

describe('the conformance suite of A2A', () => {
  test(`covers ${count('covered') + count('core')} of ${specified.length} cases, differs on ${count('differs')}, leaves out ${count('left out')}`, () => {
    expect(coverage.map(({ id }) => id).toSorted()).toEqual(specified.toSorted())
  })

  test('has a test under the id of every case it says it covers, in the file it names', () => {
    const missing = coverage.filter(
      (entry) =>
        (entry.kind === 'covered' || entry.kind === 'differs') &&
        !new RegExp(`['\` ]${entry.id}(?![0-9])`).test(textOf(entry.file)),
    )
    expect(missing).toEqual([])
  })

  test('names tests of others that are there', () => {
    expect(coverage.filter((entry) => entry.kind === 'core' && !textOf(entry.file).includes(entry.claim))).toEqual([])
  })

  test('leaves out nothing that runs here', () => {
    const running = coverage.filter(
      ({ kind, id }) =>
        kind === 'left out' &&
        Object.entries(sources).some(([path, text]) => path.startsWith('./') && text.includes(`'${id}'`)),
    )
    expect(running).toEqual([])
  })
})

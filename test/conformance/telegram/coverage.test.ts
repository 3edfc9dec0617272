// The list in coverage.ts against the specification's own numbers and against the tests that are really there.
/// <reference types="vite/client" />
import { describe, expect, test } from 'vitest'
import { type Coverage, coverage } from './coverage.ts'

const sources = import.meta.glob<string>(
  ['../../adapters/*.ts', '../../journeys/*.ts', '../../runtime/*.ts', '../../interop/tdlib/*.ts', './*-cases.ts'],
  { eager: true, query: '?raw', import: 'default' },
)

const textOf = (file: string): string =>
  sources[`../../${file}`] ?? sources[file.replace('conformance/telegram', '.')] ?? ''

const numbered = (prefix: string, from: number, to: number): readonly string[] =>
  Array.from({ length: to - from + 1 }, (_, at) => `${prefix}${String(from + at).padStart(2, '0')}`)
const specified = [
  ...numbered('T', 1, 13),
  ...numbered('T', 20, 45),
  ...numbered('T', 50, 73),
  ...numbered('TG-', 1, 14),
  ...numbered('X', 1, 7),
]
const count = (kind: Coverage['kind']): number => coverage.filter((entry) => entry.kind === kind).length

describe('the conformance suite of Telegram', () => {
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

  test('names tests of the core that are there', () => {
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

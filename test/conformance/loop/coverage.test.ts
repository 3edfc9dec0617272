// The list in coverage.ts against the numbers of the cases and against the rows that really run.
/// <reference types="vite/client" />
import { describe, expect, test } from 'vitest'
import type { Case } from '../conform.ts'
import { type Coverage, coverage, tables } from './coverage.ts'

const modules = import.meta.glob<Record<string, unknown>>('./*-cases.ts', { eager: true })
const caseFiles = Object.keys(modules).map((path) => path.slice('./'.length))
const testTexts = import.meta.glob<string>(['./*.test.ts', '!./coverage.test.ts'], {
  eager: true,
  query: '?raw',
  import: 'default',
})

type Row = Pick<Case, 'id' | 'differs'> & { readonly file: string }

/** Every row of every case file. Some are made for a database; their rows are looked at here, not run. */
function rowsIn(file: string, module: Record<string, unknown>): readonly Row[] {
  return Object.values(module).flatMap((value) => {
    const made: unknown = typeof value === 'function' ? value(noDatabase) : value
    // A case file exports its rows, or what makes them.
    return Array.isArray(made) ? (made as Case[]).map((row) => ({ ...row, file })) : []
  })
}

const noDatabase = (): never => {
  throw new Error('a row asks for its database when it runs, not when it is made')
}

const rows = Object.entries(modules).flatMap(([path, module]) => rowsIn(path.slice('./'.length), module))
const specified = Object.entries(tables).flatMap(([letter, count]) =>
  Array.from({ length: count }, (_, at) => `${letter}-${String(at + 1).padStart(2, '0')}`),
)
const count = (kind: Coverage['kind']) => coverage.filter((entry) => entry.kind === kind).length
const [same, other, none] = [count('covered'), count('differs'), count('left out')]

describe('the conformance suite of the loop', () => {
  test(`covers ${same} of ${specified.length} cases as they are written, differs on ${other}, leaves out ${none}`, () => {
    expect(coverage.map(({ id }) => id).toSorted()).toEqual(specified.toSorted())
    expect(none / specified.length).toBeLessThan(0.1)
  })

  test('runs a row for every case it says it covers, in the file it names', () => {
    const missing = coverage.filter(
      (entry) => entry.kind !== 'left out' && !rows.some(({ id, file }) => id === entry.id && file === entry.file),
    )
    expect(missing).toEqual([])
  })

  test('leaves out nothing that runs', () => {
    const running = coverage.filter(({ kind, id }) => kind === 'left out' && rows.some((row) => row.id === id))
    expect(running).toEqual([])
  })

  test('differs where its rows say so, for the reason they give, and nowhere else', () => {
    const told = Object.fromEntries(rows.flatMap(({ id, differs }) => (differs === undefined ? [] : [[id, differs]])))
    const listed = coverage.flatMap((entry) => (entry.kind === 'differs' ? [[entry.id, entry.why]] : []))
    const ofTheTables = Object.entries(told).filter(([id]) => specified.includes(id))
    expect(ofTheTables.toSorted()).toEqual(listed.toSorted())
  })

  test('has no row without a case: what we add to one carries its id and a letter', () => {
    const strangers = rows.filter(({ id }) => !specified.includes(id.replace(/[a-z]$/, '')))
    expect(strangers).toEqual([])
  })

  test('runs every case file', () => {
    expect(caseFiles.filter((file) => !Object.values(testTexts).some((text) => text.includes(`./${file}'`)))).toEqual(
      [],
    )
  })
})

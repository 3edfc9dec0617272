// The conformance cases of identity, and the list that says which of them there are.
import { describe, expect, test } from 'vitest'
import { describeOnDatabase } from '../../setup/describe-on-database.ts'
import { conform } from '../conform.ts'
import { addressCases } from './address-cases.ts'
import { chainCases } from './chain-cases.ts'
import { differs, leftOut, tables } from './coverage.ts'
import { evidenceCases } from './evidence-cases.ts'
import { messageCases } from './message-cases.ts'
import { principalCases } from './principal-cases.ts'
import { segmentCases, streamCases } from './stream-cases.ts'
import { tokenCases } from './token-cases.ts'

conform('addresses', addressCases)
conform('messages', messageCases)
conform('identity and trust', evidenceCases)
conform('chains', chainCases)
conform('streams', streamCases)
conform('principals, access, consent', principalCases)
describeOnDatabase('streams on a database', (database) => conform('segments', segmentCases(database)))
describeOnDatabase('principals on a database', (database) => conform('tokens', tokenCases(database)))

// Only their ids are looked at here: no database is asked for.
const unasked = () => expect.unreachable('nothing is run')
const onDatabases = [...segmentCases(unasked), ...tokenCases(unasked)]
const rows = [addressCases, messageCases, evidenceCases, chainCases, streamCases, principalCases, onDatabases].flat()
const specified = Object.entries(tables).flatMap(([letters, count]) =>
  Array.from({ length: count }, (_, index) => `${letters}-${String(index + 1).padStart(2, '0')}`),
)
const run = specified.filter((id) => rows.some((row) => row.id === id))
const other = Object.keys(differs).length
const none = Object.keys(leftOut).length

describe('the conformance suite of identity', () => {
  test(`covers ${run.length - other} of ${specified.length} cases as they are written, differs on ${other}, leaves out ${none}`, () => {
    expect([...run, ...Object.keys(leftOut)].toSorted()).toEqual(specified.toSorted())
  })

  test('differs where its rows say so, and nowhere else', () => {
    const told = rows.filter((row) => row.differs !== undefined && specified.includes(row.id))
    expect(Object.fromEntries(told.map((row) => [row.id, row.differs]))).toEqual(differs)
  })

  test('has no row without a case: what we add to one carries its id and a letter', () => {
    expect(rows.filter(({ id }) => !specified.includes(id.replace(/[a-z]$/, '')))).toEqual([])
  })
})

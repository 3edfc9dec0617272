// The conformance cases of Slack, and the list that says which of them there are.
import { describe, expect, test } from 'vitest'
import { describeOnDatabase } from '../../setup/describe-on-database.ts'
import { conform } from '../conform.ts'
import { acceptCases } from './accept-cases.ts'
import { coverage, specified } from './coverage.ts'
import { ingressCases } from './ingress-cases.ts'
import { liveCases } from './live-cases.ts'
import { messageCases } from './message-cases.ts'
import { normalizeCases } from './normalize-cases.ts'
import { outboundCases } from './outbound-cases.ts'

conform('ingress', ingressCases)
conform('normalization', normalizeCases)
conform('outbound', outboundCases)
conform('streams', liveCases)
conform('Slack as messages', messageCases)
describeOnDatabase('Slack on a database', (database) => conform('accepting', acceptCases(database)))

// Only their ids are looked at here: no database is asked for.
const unasked = () => expect.unreachable('nothing is run')
const rows = [ingressCases, normalizeCases, outboundCases, liveCases, messageCases, acceptCases(unasked)].flat()
const told = rows.filter((row) => row.differs !== undefined).map((row) => [row.id, row.differs])
const run = specified.filter((id) => rows.some((row) => row.id === id))
const none = Object.keys(coverage.leftOut)

describe('the conformance suite of Slack', () => {
  test(`covers ${run.length - told.length} of ${specified.length} cases as they are written, differs on ${told.length}, leaves out ${none.length}`, () => {
    expect([...run, ...none].toSorted()).toEqual([...specified].toSorted())
  })

  test('differs where its rows say so, and nowhere else', () => {
    expect(told.map(([id]) => id).toSorted()).toEqual([...coverage.differs].toSorted())
  })

  test('leaves out nothing without a reason, and nothing that runs', () => {
    for (const [id, reason] of Object.entries(coverage.leftOut)) expect(reason.length, id).toBeGreaterThan(10)
    expect(none.filter((id) => rows.some((row) => row.id === id))).toEqual([])
  })

  test('has no row without a case: what we add to one carries its id and a letter', () => {
    expect(rows.filter(({ id }) => !specified.includes(id.replace(/[a-z]$/, '')))).toEqual([])
  })
})

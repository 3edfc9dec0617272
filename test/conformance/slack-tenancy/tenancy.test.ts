// S21 to S33. S28 needs two callers at once and a clock: test/unit/adapters/slack/oauth/tokens.test.ts.
import { expect, test } from 'vitest'
import { conform } from '../conform.ts'
import { tenancyCases } from './tenancy-cases.ts'

conform('Slack tenancy', tenancyCases)

test('every id of the section is here', () => {
  const ids = Array.from({ length: 13 }, (_, at) => `S${at + 21}`)
  expect([...tenancyCases.map(({ id }) => id), 'S28'].toSorted()).toEqual(ids)
})

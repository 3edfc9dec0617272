// What a mail says, on Node and as in workerd.
import { describe, expect, test } from 'vitest'
import { parseMailBody } from '../../../adapters/email/mime/parse-body.ts'
import { findHeadEnd } from '../../../adapters/email/mime/part-head.ts'
import { parsingCases } from './parsing-cases.ts'
import { reportCases } from './report-cases.ts'

const headOf = (raw: Uint8Array) => ({ bodyStart: findHeadEnd(raw, 0, raw.length).bodyStart })

describe('what a mail says', () => {
  test.each(parsingCases)('$id $what', async ({ raw, body }) => {
    expect(await parseMailBody(raw, headOf(raw))).toMatchObject(body)
  })

  test.each(reportCases.filter(({ hasReport }) => !hasReport))('$id is no report: $what', async ({ raw }) => {
    expect(await parseMailBody(raw, headOf(raw))).not.toHaveProperty('report')
  })
})

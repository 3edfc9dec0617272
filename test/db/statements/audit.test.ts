// The audit log: lines once written stay, people in them can be forgotten, and it is read page by page.

import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { type AuditFilter, type AuditLine, type AuditPage, readAuditPage, recordAudit } from '../../../src/db/audit.ts'
import { nameStatement } from '../../../src/db/client.ts'
import { createSweepStore } from '../../../src/db/retention.ts'
import { describeOnDatabase } from '../../setup/describe-on-database.ts'
import { openTenantDb } from '../../setup/tenant-db.ts'

const sql = (text: string) => nameStatement('test_sql', text)
const policy = { contentDays: 90, refusedHours: 24, receiptDays: 120, auditDays: 400, batch: 10 }
const made: AuditLine = { action: 'token.create', outcome: 'done', actor: 'operator:first token', objectId: 't1' }
const admitted: AuditLine = {
  action: 'message.admit',
  outcome: 'admitted',
  rule: 'public',
  subject: 'space:ada',
  connection: 'space/main',
  agent: 'demo',
  evidence: { issuer: 'space', method: 'urn:space:v1', assurance: 'platform' },
}

describeOnDatabase('the audit log', (database) => {
  const log = (tenant = 'default') => openTenantDb(database(), tenant)
  const seqs = async (filter: AuditFilter, page: AuditPage) =>
    (await readAuditPage(log(), filter, page)).lines.map((line) => line.seq)

  test('keeps a line as it was written, with its number and its time', async () => {
    const inboxId = randomUUID()
    await recordAudit(log(), { ...admitted, inboxId, traceId: 'trace', detail: { count: 2 } })
    const { lines, next } = await readAuditPage(log(), {}, { limit: 10 })
    expect(next).toBeNull()
    expect(lines).toEqual([
      {
        seq: 1,
        at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        action: 'message.admit',
        outcome: 'admitted',
        code: null,
        rule: 'public',
        person: 'space:ada',
        actor: null,
        evidence: admitted.evidence,
        connection: 'space/main',
        agent: 'demo',
        conversationId: null,
        inboxId,
        objectId: null,
        traceId: 'trace',
        detail: { count: 2 },
      },
    ])
  })

  test('names one person by one row, which nobody but the log refers to', async () => {
    await recordAudit(log(), admitted)
    await recordAudit(log(), admitted)
    expect(await database().query(sql('select subject from principals'), [])).toEqual([{ subject: 'space:ada' }])
    const [row] = await database().query<{ text: string }>(sql('select json_agg(l)::text as text from audit_log l'), [])
    expect(row?.text).not.toContain('space:ada')
  })

  test('shows a forgotten person as forgotten, in lines that are otherwise as they were', async () => {
    await recordAudit(log(), admitted)
    await recordAudit(log(), made)
    const before = (await readAuditPage(log(), {}, { limit: 10 })).lines
    await database().query(sql('delete from principals'), [])
    const after = (await readAuditPage(log(), {}, { limit: 10 })).lines
    expect(after).toEqual(before.map((line) => (line.person === null ? line : { ...line, person: 'forgotten' })))
    expect(await seqs({ subject: 'space:ada' }, { limit: 10 })).toEqual([])
  })

  test('is read newest first, page by page, and onwards from a line', async () => {
    for (let count = 0; count < 5; count += 1) await recordAudit(log(), made)
    expect(await readAuditPage(log(), {}, { limit: 2 })).toMatchObject({ lines: [{ seq: 5 }, { seq: 4 }], next: 4 })
    expect(await readAuditPage(log(), {}, { limit: 2, before: 4 })).toMatchObject({
      lines: [{ seq: 3 }, { seq: 2 }],
      next: 2,
    })
    expect(await readAuditPage(log(), {}, { limit: 2, before: 2 })).toMatchObject({ lines: [{ seq: 1 }], next: null })
    expect(await readAuditPage(log(), {}, { limit: 2, after: 3 })).toMatchObject({
      lines: [{ seq: 4 }, { seq: 5 }],
      next: 5,
    })
    expect(await readAuditPage(log(), {}, { limit: 2, after: 5 })).toEqual({ lines: [], next: null })
  })

  test.each([
    ['subject', { subject: 'space:ada' }, [1]],
    ['connection', { connection: 'space/main' }, [1]],
    ['agent', { agent: 'demo' }, [1]],
    ['actor', { actor: 'operator:first token' }, [3, 2]],
    ['a whole action', { action: 'token.create' }, [2]],
    ['what stands before the dot of an action', { action: 'token' }, [3, 2]],
    ['no part of a word', { action: 'tok' }, []],
    ['outcome', { outcome: 'refused' }, [3]],
    ['code', { code: 'not_found' }, [3]],
    ['since', { since: '2000-01-01T00:00:00Z' }, [3, 2, 1]],
    ['until', { until: '2000-01-01T00:00:00Z' }, []],
    ['two at once', { action: 'token', outcome: 'done' }, [2]],
  ] as const)('is narrowed by %s', async (_name, filter, expected) => {
    await recordAudit(log(), admitted)
    await recordAudit(log(), made)
    await recordAudit(log(), { ...made, action: 'token.revoke', outcome: 'refused', code: 'not_found' })
    expect(await seqs(filter, { limit: 10 })).toEqual(expected)
  })

  test('is narrowed to one message, and to what one person had to do with it', async () => {
    const inboxId = randomUUID()
    await recordAudit(log(), { ...admitted, inboxId })
    await recordAudit(log(), admitted)
    await recordAudit(log(), { ...made, inboxId })
    expect(await seqs({ inboxId }, { limit: 10 })).toEqual([3, 1])
    expect(await seqs({ inboxId, subject: 'space:ada' }, { limit: 10 })).toEqual([1])
  })

  test('shows nothing of another tenant, whose person of the same name is another one', async () => {
    await recordAudit(log('other'), { ...admitted, connection: 'canary/other' })
    await recordAudit(log(), admitted)
    expect(await seqs({ subject: 'space:ada' }, { limit: 10 })).toEqual([2])
    expect((await readAuditPage(log('other'), {}, { limit: 10 })).lines.map((line) => line.connection)).toEqual([
      'canary/other',
    ])
  })

  describe('gives nothing up', () => {
    test.each([
      ['an update', `update audit_log set outcome = 'denied'`],
      ['a delete', 'delete from audit_log'],
      ['a truncate', 'truncate audit_log'],
    ])('to %s', async (_name, text) => {
      await recordAudit(log(), made)
      await expect(database().query(sql(text), [])).rejects.toMatchObject({ details: { sqlstate: '42501' } })
      expect(await seqs({}, { limit: 10 })).toEqual([1])
    })

    test('to an update that calls itself retention', async () => {
      await recordAudit(log(), made)
      const tried = database().transaction(async (within) => {
        await within.query(sql(`select set_config('parley.retention', 'on', true)`), [])
        await within.query(sql(`update audit_log set outcome = 'denied'`), [])
      })
      await expect(tried).rejects.toMatchObject({ details: { sqlstate: '42501' } })
    })

    test('to retention before its time, all of it after it, and again nothing to anybody else', async () => {
      for (let count = 0; count < 12; count += 1) await recordAudit(log(), made)
      const sweep = () => createSweepStore(database(), 'default').sweep({ ...policy, auditDays: 400 })
      expect(await sweep()).toBe(0)
      // Tomorrow's limit instead of yesterday's lines: not even a test can make a line older.
      expect(await createSweepStore(database(), 'default').sweep({ ...policy, auditDays: -1 })).toBe(12)
      expect(await seqs({}, { limit: 20 })).toEqual([])
      await recordAudit(log(), made)
      await expect(database().query(sql('delete from audit_log'), [])).rejects.toMatchObject({
        details: { sqlstate: '42501' },
      })
    })
  })
})

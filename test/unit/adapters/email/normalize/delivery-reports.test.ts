// What reports about our mails come to.
import { describe, expect, test } from 'vitest'
import { mailReportToEventFields } from '../../../../../adapters/email/normalize/mail.ts'
import type { MailReport } from '../../../../../adapters/email/wire/mail.ts'

const sent = { clientId: 'turn-1:0', to: 'alice@sender.example' }
const at = '2026-11-17T12:00:00.000Z'
const delivery = (status: string | undefined, action?: 'failed' | 'delayed' | 'delivered'): MailReport => ({
  kind: 'delivery',
  recipients: [{ address: 'alice@Sender.Example', action, status, diagnostic: 'smtp; 550 <script>' }],
  about: undefined,
})

describe('a report that came back to the token of its delivery', () => {
  test.each(['5.1.1', '5.1.10', '5.2.1'])('of %s marks the delivery and closes the address', (status) => {
    expect(mailReportToEventFields(delivery(status, 'failed'), sent, at)).toEqual({
      reason: 'bounced',
      bounce: { clientId: 'turn-1:0', kind: 'failed', reason: `status_${status}`, at },
      roomStatus: { room: 'alice@sender.example', closed: `status_${status}`, at },
    })
  })

  test.each(['5.2.2', '5.7.1', '5.0.0'])('of %s marks the delivery, and the address stays open', (status) => {
    expect(mailReportToEventFields(delivery(status, 'failed'), sent, at)).toEqual({
      reason: 'bounced',
      bounce: { clientId: 'turn-1:0', kind: 'failed', reason: `status_${status}`, at },
    })
  })

  test.each([delivery('4.4.1', 'delayed'), delivery('4.4.1'), delivery(undefined, 'delayed')])(
    'of a delay is one',
    (report) => {
      expect(mailReportToEventFields(report, sent, at)).toMatchObject({
        reason: 'delayed',
        bounce: { kind: 'delayed' },
      })
      expect(mailReportToEventFields(report, sent, at)).not.toHaveProperty('reach')
    },
  )

  test('of success says nothing', () => {
    expect(mailReportToEventFields(delivery('2.0.0', 'delivered'), sent, at)).toEqual({ reason: 'report_delivered' })
  })

  test('in plain words marks the delivery, since nothing else is known', () => {
    expect(mailReportToEventFields(undefined, sent, at)).toEqual({
      reason: 'bounced',
      bounce: { clientId: 'turn-1:0', kind: 'failed', reason: 'bounced', at },
    })
  })

  test('of a complaint closes the address at once', () => {
    const report: MailReport = { kind: 'complaint', recipients: [], about: undefined }
    expect(mailReportToEventFields(report, sent, at)).toEqual({
      reason: 'complaint',
      roomStatus: { room: 'alice@sender.example', closed: 'complaint', at },
    })
  })

  test('of having been read says nothing', () => {
    expect(mailReportToEventFields({ kind: 'receipt', recipients: [], about: undefined }, sent, at)).toEqual({
      reason: 'receipt',
    })
  })
})

test('a report closes no address but the one its delivery went to, whomever it names', () => {
  const report: MailReport = {
    ...delivery('5.1.1', 'failed'),
    recipients: [{ address: 'victim@bank.example', action: 'failed', status: '5.1.1', diagnostic: undefined }],
  }
  expect(mailReportToEventFields(report, sent, at).roomStatus?.room).toBe('alice@sender.example')
})

test('a report without a token of ours says nothing', () => {
  expect(mailReportToEventFields(delivery('5.1.1', 'failed'), undefined, at)).toEqual({ reason: 'delivery_unmatched' })
  expect(mailReportToEventFields(undefined, undefined, at)).toEqual({ reason: 'bounce_unmatched' })
})

test('nothing of what a report says in words is repeated', () => {
  expect(JSON.stringify(mailReportToEventFields(delivery('5.1.1; <script>', 'failed'), sent, at))).not.toContain(
    'script',
  )
})

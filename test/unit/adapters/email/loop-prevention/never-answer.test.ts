// Which mails are never answered, and why.
import { describe, expect, test } from 'vitest'
import { findNoReplyReason } from '../../../../../adapters/email/loop-prevention.ts'
import type { HeaderField, MailHead } from '../../../../../adapters/email/wire/mail.ts'

const alice = { address: 'alice@sender.example', domain: 'sender.example', name: 'Alice' }
const fieldsOf = (...lines: readonly string[]): readonly HeaderField[] =>
  lines.map((line) => {
    const [name = '', ...value] = line.split(':')
    return { name: name.toLowerCase(), value: value.join(':').trim() }
  })
const head = (changes: Partial<MailHead> = {}): MailHead => ({
  fields: [],
  bodyStart: 0,
  faults: [],
  from: alice,
  to: [],
  cc: [],
  replyTo: [],
  subject: 'Hello',
  messageId: 'one@sender.example',
  inReplyTo: [],
  references: [],
  threadIndex: undefined,
  date: undefined,
  ...changes,
})
const why = (changes: Partial<MailHead>, mailFrom: string | undefined = alice.address, hop?: number) =>
  findNoReplyReason({
    head: head(changes),
    mailFrom,
    isReport: false,
    isOurs: (address) => address.endsWith('@agents.example'),
    domains: ['agents.example'],
    hop,
  })
const withField = (line: string) => why({ fields: fieldsOf(line) })

describe('a header that says a machine wrote it', () => {
  test.each([
    ['Auto-Submitted: auto-replied', 'auto_submitted'],
    ['Auto-Submitted: auto-generated', 'auto_submitted'],
    ['Auto-Submitted: AUTO-NOTIFIED; x=y', 'auto_submitted'],
    ['Auto-Submitted: (no) auto-replied', 'auto_submitted'],
    ['Auto-Submitted:', 'auto_submitted'],
    ['X-Auto-Response-Suppress: OOF', 'auto_response_suppressed'],
    ['X-Auto-Response-Suppress: DR, oof , AutoReply', 'auto_response_suppressed'],
    ['X-Auto-Response-Suppress: All', 'auto_response_suppressed'],
    ['Precedence: bulk', 'bulk'],
    ['Precedence: LIST', 'bulk'],
    ['Precedence: junk', 'bulk'],
    ['Precedence: auto_reply', 'bulk'],
    ['List-Id: <friends.lists.example>', 'mailing_list'],
    ['List-Unsubscribe: <https://lists.example/u>', 'mailing_list'],
    ['X-Autoreply: yes', 'machine_generated'],
    ['X-MS-Exchange-Inbox-Rules-Loop: alice@sender.example', 'machine_generated'],
    ['Feedback-ID: 1:2:3:bulk', 'machine_generated'],
    ['X-Loop: demo@agents.example', 'loop'],
    ['Content-Type: multipart/report; report-type=delivery-status', 'report'],
    ['Content-Type: message/delivery-status', 'report'],
    ['Return-Path: <>', 'null_sender'],
    ['Return-Path: < >', 'null_sender'],
  ])('%s is %s', (line, reason) => expect(withField(line)).toBe(reason))

  test.each([
    'Auto-Submitted: no',
    'Auto-Submitted: No (a person wrote this)',
    'X-Auto-Response-Suppress: None',
    'Precedence: first-class',
    'X-Loop: somebody@elsewhere.example',
    'Return-Path: <alice@sender.example>',
    'Content-Type: multipart/mixed; boundary=report',
    'Subject: Automatic reply: Hello',
  ])('%s is not one', (line) => expect(withField(line)).toBeUndefined())
})

test('the null sender is never answered, an unknown one is nobody’s fault', () => {
  expect(why({}, '')).toBe('null_sender')
  expect(findNoReplyReason({ ...scene, mailFrom: undefined })).toBeUndefined()
})

const scene = {
  head: head(),
  mailFrom: undefined,
  isReport: false,
  isOurs: () => false,
  domains: [],
  hop: undefined,
}

test.each(['MAILER-DAEMON@sender.example', 'postmaster@sender.example'])('%s is a machine', (address) => {
  expect(why({}, address)).toBe('mailer_daemon')
  expect(why({ from: { ...alice, address } })).toBe('mailer_daemon')
})

test('what looks like our own mail is never answered', () => {
  expect(why({ from: { ...alice, address: 'demo@agents.example' } })).toBe('own_message')
  expect(why({ messageId: 'x@Agents.Example' })).toBe('own_message')
})

test('a mail that has been round fifty servers is going in circles', () => {
  const hops = (count: number) => fieldsOf(...Array.from({ length: count }, () => 'Received: from a by b'))
  expect(why({ fields: hops(50) })).toBeUndefined()
  expect(why({ fields: hops(51) })).toBe('loop')
})

test('an agent that a gateway of ours vouches for is answered up to the fourth mail in a row', () => {
  const marked = { fields: fieldsOf('Auto-Submitted: auto-replied') }
  expect([1, 4, 5, 99].map((hop) => why(marked, alice.address, hop))).toEqual([
    undefined,
    undefined,
    'too_many_hops',
    'too_many_hops',
  ])
})

// A mail that has waited too long in a mailbox for names that nobody can look up: taken as one that proves nothing.
import { expect, test } from 'vitest'
import { scanHead } from '../../../../adapters/email/headers/scan-head.ts'
import { parseMailBody } from '../../../../adapters/email/mime/parse-body.ts'
import { type VerifyDeps, verifyMail } from '../../../../adapters/email/verify.ts'
import { mailAsRequest, type ReceivedMail } from '../../../../adapters/email/wire/mail.ts'
import { bytesOf, mime } from './webhooks/webhook-setup.ts'

const later = (reason: string) => ({ kind: 'later', reason, remedy: 'try again' }) as const

test.each([
  [{}, { kind: 'later', reason: 'name_system_silent' }],
  [{ isLastTry: true }, { kind: 'genuine', payload: { proof: { standing: 'none', reasons: ['name_system_silent'] } } }],
])('%j', async (tries, expected) => {
  expect(await verify(tries, { proveMail: async () => later('name_system_silent') })).toMatchObject(expected)
})

test('a mail that there was no thread for waits on, however long it has waited: that says nothing of it', async () => {
  const busy = async () => later('mail_checks_busy')
  expect(await verify({ isLastTry: true }, { proveMail: busy })).toMatchObject({ kind: 'later' })
  expect(await verify({ isLastTry: true }, { readBody: busy })).toMatchObject({ kind: 'later' })
})

test('a mail that no thread could read is turned away in the end, and keeps no other out', async () => {
  const crashed = async () => later('mail_check_crashed')
  expect(await verify({}, { readBody: crashed })).toEqual({ kind: 'later', reason: 'mail_check_crashed' })
  expect(await verify({ isLastTry: true }, { readBody: crashed })).toMatchObject({
    kind: 'rejected_event',
    reason: 'unreadable_body',
  })
})

async function verify(tries: Partial<ReceivedMail>, deps: Partial<VerifyDeps>) {
  const envelope = { mailFrom: undefined, rcptTo: ['helper@agents.example'] }
  const mail: ReceivedMail = { way: 'imap', raw: bytesOf(mime), envelope, receivedAt: '', ...tries }
  return verifyMail(
    {
      hopOf: async () => ({ kind: 'mail', mail }),
      scanHead,
      proveMail: async () => ({
        standing: 'none',
        method: 'none',
        author: undefined,
        keyId: undefined,
        signatures: [],
        signedHeaders: [],
        reasons: [],
      }),
      readBody: parseMailBody,
      nameOriginal: async () => undefined,
      addresses: () => ({ domains: ['agents.example'], agents: ['helper'], aliases: {} }),
      tokens: { mint: async () => '', read: async () => undefined },
      sentUnder: async () => undefined,
      readHop: async () => undefined,
      mailboxAgent: 'helper',
      trustLoopback: false,
      maxRowBytes: 1000,
      ...deps,
    },
    mailAsRequest(mail),
  )
}

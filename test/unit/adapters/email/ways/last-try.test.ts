// A mail that has waited too long in a mailbox for names that nobody can look up: taken as one that proves nothing.
import { expect, test } from 'vitest'
import { readBody } from '../../../../../adapters/email/parse/read-body.ts'
import { scanHead } from '../../../../../adapters/email/scan/scan-head.ts'
import { verifyMail } from '../../../../../adapters/email/verify.ts'
import { arrivalOf, type ReceivedMail } from '../../../../../adapters/email/wire/mail.ts'
import { bytesOf, mime } from './hook-scene.ts'

test.each([
  [{}, { kind: 'later', reason: 'name_system_silent' }],
  [{ isLastTry: true }, { kind: 'genuine', payload: { proof: { standing: 'none', reasons: ['name_system_silent'] } } }],
])('%j', async (tries, expected) => {
  const envelope = { mailFrom: undefined, rcptTo: ['helper@agents.example'] }
  const mail: ReceivedMail = { way: 'imap', raw: bytesOf(mime), envelope, receivedAt: '', ...tries }
  const verdict = await verifyMail(
    {
      hopOf: async () => ({ kind: 'mail', mail }),
      scanHead,
      proveMail: async () => ({ kind: 'later', reason: 'name_system_silent', remedy: 'try again' }),
      readBody,
      keepOriginal: async () => undefined,
      addresses: () => ({ domains: ['agents.example'], agents: ['helper'], aliases: {} }),
      tokens: { mint: async () => '', read: async () => undefined },
      sentUnder: async () => undefined,
      readHop: async () => undefined,
      mailboxAgent: 'helper',
      trustLoopback: false,
      maxRowBytes: 1000,
    },
    arrivalOf(mail),
  )
  expect(verdict).toMatchObject(expected)
})

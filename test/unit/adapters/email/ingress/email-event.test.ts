// Mail that a Worker is handed: what is taken, refused, or has to come again.
import { expect, test } from 'vitest'
import { createEmailEventHandler } from '../../../../../adapters/email/ingress/email-event.ts'
import {
  createReceivedMailRegistry,
  type OwnMail,
  type RecipientKind,
} from '../../../../../adapters/email/ingress/received.ts'
import type { ReceiveResult } from '../../../../../src/contract/index.ts'
import { bytesOf, mime } from '../webhooks/webhook-setup.ts'

const known: Readonly<Record<string, RecipientKind>> = {
  'helper@agents.example': 'agent',
  'asleep@agents.example': 'disabled',
  'nobody@agents.example': 'unknown',
}

async function hand(
  to: string,
  answer: ReceiveResult,
  { size = mime.length, chunks = [bytesOf(mime)], maxBytes = 1000, requireSecret = async () => {} } = {},
) {
  const own = createReceivedMailRegistry()
  const mails: (OwnMail | undefined)[] = []
  const recipientOf = (address: string) => known[address] ?? 'foreign'
  const take = createEmailEventHandler({ own, recipientOf, maxBytes, now: () => 0, requireSecret })
  let pulled = 0
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const chunk = chunks[pulled]
      pulled += 1
      if (chunk === undefined) controller.close()
      else controller.enqueue(chunk)
    },
  })
  const given = await take(
    { from: 'ada@example.org', to, size, body },
    {
      async receive(arrival) {
        mails.push(own.find(arrival))
        return answer
      },
    },
  )
  return { given, mails, pulled }
}

const stored: ReceiveResult = { kind: 'stored', acceptances: [] }

test('EM-061: a mail for an agent is handed in with its envelope, and taken once it is stored', async () => {
  const { given, mails } = await hand('helper@agents.example', stored)
  expect(given).toEqual({ kind: 'taken' })
  const envelope = { mailFrom: 'ada@example.org', rcptTo: ['helper@agents.example'] }
  const receivedAt = '1970-01-01T00:00:00.000Z'
  expect(mails).toEqual([{ kind: 'mail', mail: { way: 'cloudflare', raw: bytesOf(mime), envelope, receivedAt } }])
})

test.each([
  ['nobody@agents.example', { kind: 'refused', text: expect.stringMatching(/^5\.1\.1 /) }],
  ['asleep@agents.example', { kind: 'refused', text: expect.stringMatching(/^5\.2\.1 /) }],
  ['someone@elsewhere.example', undefined],
])('a mail for %s is not read', async (to, expected) => {
  const { given, mails, pulled } = await hand(to, stored)
  expect(given).toEqual(expected)
  expect(mails).toEqual([])
  // A stream reads ahead by one.
  expect(pulled).toBeLessThanOrEqual(1)
})

test.each<[ReceiveResult, object]>([
  [
    { kind: 'later', reason: 'dns' },
    { kind: 'later', reason: 'dns' },
  ],
  [
    { kind: 'rejected_event', reason: 'spoofed_sender', remedy: 'sign it', acceptances: [] },
    { kind: 'refused', text: expect.stringMatching(/^5\.7\.26 /) },
  ],
  [
    { kind: 'unreadable', reason: 'x', acceptances: [] },
    { kind: 'refused', text: expect.stringMatching(/^5\.6\.0 /) },
  ],
])('an email event answers %j', async (answer, expected) => {
  expect((await hand('helper@agents.example', answer)).given).toEqual(expected)
})

test('a mail over the limit is refused, by its size or by its bytes, and not read to its end', async () => {
  const tooLarge = { kind: 'refused', text: expect.stringMatching(/^5\.3\.4 /) }
  expect((await hand('helper@agents.example', stored, { size: 1001 })).given).toEqual(tooLarge)
  const chunks = Array.from({ length: 100 }, () => new Uint8Array(500))
  const lied = await hand('helper@agents.example', stored, { size: 10, chunks })
  expect(lied.given).toEqual(tooLarge)
  expect(lied.pulled).toBeLessThan(10)
})

test('what could not be answered is not taken, while what is for nobody is refused all the same', async () => {
  const requireSecret = () => Promise.reject(new Error('nothing to seal it with'))
  await expect(hand('helper@agents.example', stored, { requireSecret })).rejects.toThrow('nothing to seal it with')
  const { given } = await hand('nobody@agents.example', stored, { requireSecret })
  expect(given).toMatchObject({ kind: 'refused' })
})

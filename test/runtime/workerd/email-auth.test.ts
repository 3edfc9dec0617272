// Signatures in workerd, where RSA needs its digest called by another name.
import { expect, test } from 'vitest'
import { authenticateMail, selfTestSignatureChecks } from '../../../adapters/email/auth/authenticate.ts'
import { createResolver } from '../../../adapters/email/dns.ts'
import { scanHead } from '../../../adapters/email/headers/scan-head.ts'

const records: Readonly<Record<string, string>> = {
  's1._domainkey.sender.example':
    'v=DKIM1; k=rsa; p=MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAxlVWJiZh2EN2qoxhn+NcuIzUOdN6ZeKFtFw9d8/glJxBv/n1' +
    's0jZ5IEwArhjw8D3PQiyBrdSSUfGFkmB0QaOtgbesQ0XuzLbaIX0nZpNkmryK3jm+eFtq05sXFoeLzyCaIMQICGxFYJDZ/2Xz/6/Tzak/N4Bjs' +
    '8iYtAaUSUmFd6YUTEvSbw/fkTeFAIf1ihH3SWggvrfhub3jkO+W8bNbiKFXXkuUr7ZegfhX5O296IG2DByRLNmu5me+fw7ngLg7crJDV8cN5Zn' +
    'jVbHktDmkQrCQ/05b6sjORcmVNDlviervzSdQ5nx9wZ/YYKGaqnzz+wOHc3OtWnpIMJUfoCcSQIDAQAB',
  '_dmarc.sender.example': 'v=DMARC1; p=reject',
}

/** Signed once, with a key of 2048 bits that nobody has any more. */
const signed = [
  'DKIM-Signature: v=1; a=rsa-sha256; c=relaxed/relaxed; d=sender.example;',
  ' h=Content-Type: MIME-Version: Message-ID: Date: Subject: To: From;',
  ' q=dns/txt; s=s1; t=1794916800;',
  ' bh=dP9xRVqwqmeK4n5FQWfjkd4qfDwxNHK+ro6oyaqGbSE=;',
  ' b=dZ6iMKsmyBx7Vk3UuJS/X4NfAtWQvPRKO8Dryj+KAblvKPr7RPYkOckwaYmzShzZ5DT0uzNNZ',
  ' ozlmPAnljLDxYuoGcd/T5v344FWCscI55FhMBuqoi22fVHICNaltA4FTUUsOb9tqBUTCFTzWENw',
  ' T+uwPykriRy43OkGRRQQkbZeER5a5fC7MUbY8P2cTqZnj3XICnc5dIgYppDbwe3mIEzATeei4YP',
  ' xy4xQPL3qTz+3IbvewgcEqmQu/dLprhAWR9lEXzwAT+zOZTkMZ5DQqEbxgOAJiNLB9tk6tEoG8E',
  ' uXbhsjjPZBpv4a3MtMZx2lnNlkmI5WiBuyWd0LmU4mPg==',
  'From: Alice <alice@sender.example>',
  'To: agent@parley.example',
  'Subject: Hello',
  'Date: Tue, 17 Nov 2026 12:00:00 +0000',
  'Message-ID: <one@sender.example>',
  'MIME-Version: 1.0',
  'Content-Type: text/plain; charset=utf-8',
  '',
  'Good morning.',
  '',
].join('\r\n')

async function proofOf(mail: string) {
  const raw = new TextEncoder().encode(mail)
  const resolver = createResolver({
    now: () => 0,
    lookup: async (name) => {
      const record = records[name]
      if (record === undefined) return { kind: 'none', isNameKnown: false, ttlMs: 0 }
      return { kind: 'records', records: [[record]], ttlMs: 60_000 }
    },
  })
  const envelope = { mailFrom: 'alice@sender.example', rcptTo: ['agent@parley.example'] }
  const received = { way: 'cloudflare', raw, envelope, receivedAt: '2026-11-17T12:00:00.000Z' } as const
  return authenticateMail(received, scanHead(raw), { resolver })
}

test('RSA and Ed25519 signatures can be checked', async () => {
  await expect(selfTestSignatureChecks()).resolves.toBeUndefined()
})

test('EM-035: a mail with an aligned RSA signature has an author, and a changed one is spoofed', async () => {
  expect(await proofOf(signed)).toMatchObject({
    standing: 'verified',
    method: 'email-dmarc',
    author: { address: 'alice@sender.example' },
    keyId: 's1._domainkey.sender.example',
  })
  expect(await proofOf(signed.replace('Good', 'Bad'))).toMatchObject({ standing: 'spoofed', author: undefined })
})

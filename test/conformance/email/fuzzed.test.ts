// whatever a mail is, what becomes of it is a message that holds to the contract, or nothing with a reason.
import { expect, test } from 'vitest'
import { scanHead } from '../../../adapters/email/headers/scan-head.ts'
import { parseMailBody } from '../../../adapters/email/mime/parse-body.ts'
import type { Addresses } from '../../../adapters/email/normalize/addressing.ts'
import { maxRawBytes, normalizeMail } from '../../../adapters/email/normalize/mail.ts'
import { createReplyTokens } from '../../../adapters/email/threading.ts'
import { type VerifyDeps, verifyMail } from '../../../adapters/email/verify.ts'
import { mailAsRequest, type ReceivedMail } from '../../../adapters/email/wire/mail.ts'
import { validateMessage } from '../../../src/contract/validate-message.ts'
import { createWebHmac } from '../../../src/lib/index.ts'
import { type SeededRandom, seededRandom } from '../../chaos/seeded-random.ts'
import { draftMail } from '../../doubles/signed-mails.ts'

const mailTime = '2026-11-17T12:00:00.000Z'
const addresses: Addresses = { domains: ['agents.example'], agents: ['demo'], aliases: {} }
const rcptTo = ['demo@agents.example', 'bounce+x@agents.example']
const deps: VerifyDeps = {
  hopOf: async () => ({ kind: 'rejected', reason: 'not_allowed_here' }),
  scanHead,
  // Handed in on this machine: whoever the head names is believed, so that hostile names get as far as they ever could.
  proveMail: async () => ({ kind: 'refused', reason: 'no_author', remedy: 'name one' }),
  trustLoopback: true,
  readBody: parseMailBody,
  nameOriginal: async () => crypto.randomUUID(),
  addresses: () => addresses,
  tokens: createReplyTokens(createWebHmac(), {
    current: async () => 'a secret of this test',
    all: async () => ['a secret of this test'],
  }),
  sentUnder: async () => undefined,
  readHop: async () => undefined,
  mailboxAgent: 'demo',
  maxRowBytes: maxRawBytes,
}
const scope = {
  from: 'adapter',
  receivedVia: new Set(['email']),
  authMethods: new Set(['none', 'email-loopback']),
} as const

const mixed = 'Content-Type: multipart/mixed; boundary=b'
const enclosed =
  '--b\nContent-Type: text/html; charset=utf-8\nContent-Transfer-Encoding: quoted-printable\n\n<p>Gr=C3=BC=C3=9Fe</p>\n--b\nContent-Type: image/png; name="=?utf-8?q?a=00b.png?="\nContent-Disposition: attachment\nContent-Transfer-Encoding: base64\n\niVBORw0KGgo=\n--b--\n'
const seeds = [
  draftMail({ to: 'demo@agents.example' }),
  draftMail({ from: '"Ä \u202e <b@c.example>" <alice@sender.example>', subject: '=?utf-8?b?R3LDvMOfZQ==?= \ud83d' }),
  draftMail({ head: [mixed, 'References: <a@b.example> <c@d.example>', 'In-Reply-To: <c@d.example>'], body: enclosed }),
  draftMail({ head: ['Auto-Submitted: auto-replied', 'Date: never'], body: '> quoted\n\nOn Monday somebody wrote:\n' }),
  draftMail({ head: ['Content-Type: text/plain; charset=utf-7', 'Message-ID: no id'], body: '\0\u0001\ufffe' }),
]
const scraps = [
  '\r\n',
  '\0',
  '\xff',
  '<',
  '>',
  '"',
  '=?',
  '?=',
  '--b',
  ':',
  ',',
  '\t',
  '\x80',
  '@',
  '\r',
  ' '.repeat(300),
]

function mutated(random: SeededRandom): string {
  let mail = random.pick(seeds)
  for (let left = random.between(0, 8); left > 0; left -= 1) {
    const at = random.between(0, mail.length)
    const until = Math.min(mail.length, at + random.between(0, random.pick([1, 4, 80])))
    const put = random.pick([...scraps, mail.slice(random.between(0, at), at).slice(0, 200)])
    mail = mail.slice(0, at) + put + mail.slice(until)
  }
  return mail
}

async function faultsOf(text: string): Promise<{ readonly messages: number; readonly faults: readonly string[] }> {
  const envelope = { mailFrom: 'alice@sender.example', rcptTo, clientIp: '127.0.0.1' }
  const mail: ReceivedMail = { way: 'smtp', raw: Buffer.from(text, 'latin1'), envelope, receivedAt: mailTime }
  const arrival = { ...mailAsRequest(mail), from: 'local' as const }
  const verdict = await verifyMail({ ...deps, hopOf: async () => ({ kind: 'mail', mail }) }, arrival)
  if (verdict.kind !== 'genuine')
    return { messages: 0, faults: verdict.kind === 'rejected_event' ? [] : [verdict.kind] }
  const connection = { tenant: 'default', channel: 'email', id: 'default', domain: 'agents.example', agent: 'demo' }
  const arrived = normalizeMail({ addresses, addressDomains: [] }, verdict.payload, arrival, connection)
  const faults: string[] = []
  let messages = 0
  for (const each of arrived) {
    if (each.kind !== 'message') {
      if (each.kind !== 'ignored' || each.reason === '') faults.push(`${each.kind} without a reason`)
      continue
    }
    messages += 1
    const { message } = each
    const checked = validateMessage(message, scope)
    if (!checked.ok) faults.push(`${checked.code} ${checked.path}`)
    if (message.parts.length === 0) faults.push('no parts')
    if (message.received_at !== mailTime) faults.push(`received_at ${message.received_at}`)
    if (JSON.stringify(message.recipient_capabilities.mention_relay) !== relay) faults.push('mention_relay')
    if (!JSON.stringify(message.raw).includes('"mail"')) faults.push('no raw')
  }
  return { messages, faults }
}

const relay = JSON.stringify({ kind: 'recipient-field', fields: ['to', 'cc'] })

test('X-006: every message made of a mangled mail holds to the contract', async () => {
  const random = seededRandom(6)
  const faults = new Map<string, string>()
  let messages = 0
  for (let run = 0; run < 1500; run += 1) {
    const mail = mutated(random)
    const found = await faultsOf(mail)
    messages += found.messages
    for (const each of found.faults) faults.set(each, JSON.stringify(mail).slice(0, 600))
  }
  expect(Object.fromEntries(faults)).toEqual({})
  expect(messages).toBeGreaterThan(300)
})

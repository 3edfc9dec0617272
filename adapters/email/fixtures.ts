// Fixtures of email for the adapter kit: signed posts of whole mails, and mails with their twins. Their signatures are real and
// DNS answers as their domain would.
import type { ChannelDeps, JsonObject, RawRequest } from '../../src/contract/index.ts'
import { toHex, webHmac } from '../../src/lib/index.ts'
import autoReply from './fixtures/auto-reply.json' with { type: 'json' }
import groupReply from './fixtures/group-reply.json' with { type: 'json' }
import plainText from './fixtures/plain-text.json' with { type: 'json' }
import twoAuthors from './fixtures/two-authors.json' with { type: 'json' }
import withFile from './fixtures/with-file.json' with { type: 'json' }
import zone from './fixtures/zone.json' with { type: 'json' }
import { emailChannel } from './index.ts'
import { webhookHeaders, webhookSignedText } from './webhooks/signed-webhook.ts'
import { envelopeHeaders } from './wire/mail.ts'

const webhookSecret = 'email-webhook-secret-of-the-tests-0001'
const now = Date.parse('2026-11-17T12:00:00.000Z')
const bySmtp = 'mail goes out by SMTP, not by HTTP: test/unit/adapters/email/deliver shows it'

type Posted = { readonly envelope: { readonly from: string; readonly to: string }; readonly mail: string }

/** Whatever is no captured mail is posted as if it were the bytes of one. */
function postedOf(bytes: Uint8Array): Posted & { readonly raw: Uint8Array } {
  const plain = { envelope: { from: '', to: 'demo@agents.example' }, mail: '', raw: bytes }
  try {
    const given: unknown = JSON.parse(new TextDecoder().decode(bytes))
    if (typeof given !== 'object' || given === null || !('mail' in given) || !('envelope' in given)) return plain
    const { mail, envelope } = given as Posted
    if (typeof mail !== 'string' || typeof envelope?.from !== 'string' || typeof envelope.to !== 'string') return plain
    const isAddress = /^[\x21-\x7e]{3,320}$/.test(envelope.to) && /^[\x21-\x7e]{0,320}$/.test(envelope.from)
    return isAddress ? { envelope, mail, raw: new TextEncoder().encode(mail) } : plain
  } catch {
    return plain
  }
}

async function sign(
  bytes: Uint8Array,
  { key, at = now }: { readonly key?: 'wrong'; readonly at?: number } = {},
): Promise<RawRequest> {
  const { envelope, raw } = postedOf(bytes)
  const unsigned = {
    'content-type': 'message/rfc822',
    [webhookHeaders.timestamp]: String(Math.floor(at / 1000)),
    [webhookHeaders.nonce]: 'nonce-of-the-tests-0001',
    [envelopeHeaders.from]: envelope.from,
    [envelopeHeaders.to]: JSON.stringify([envelope.to]),
  }
  const digest = toHex(new Uint8Array(await crypto.subtle.digest('SHA-256', new Uint8Array(raw))))
  const secret = key === 'wrong' ? webhookSecret.replace('1', '2') : webhookSecret
  const mac = await webHmac().sha256(secret, new TextEncoder().encode(webhookSignedText(unsigned, digest)))
  return {
    bytes: raw,
    headers: { ...unsigned, [webhookHeaders.signature]: `sha256=${toHex(mac)}` },
    receivedAt: new Date(now).toISOString(),
    from: 'remote',
  }
}

const records: Readonly<Record<string, string>> = zone

/** Only TXT records, and only of the domain that signed. */
const nameSystem: typeof fetch = async (input) => {
  const { searchParams } = new URL(input instanceof Request ? input.url : input)
  const name = searchParams.get('name') ?? ''
  const text = searchParams.get('type') === 'TXT' ? records[name] : undefined
  const found = text === undefined ? {} : { Answer: [{ name, type: 16, TTL: 300, data: text }] }
  return Response.json({ Status: text === undefined ? 3 : 0, ...found })
}

const enclosing = [
  'Content-Type: multipart/mixed; boundary=b',
  '',
  '--b',
  'Content-Type: text/plain',
  '',
  'See the file.',
  '--b',
  'Content-Type: application/octet-stream',
  'Content-Disposition: attachment; filename=a.bin',
  '',
  'the bytes',
  '--b--',
  '',
].join('\r\n')

const ports = (): Partial<ChannelDeps> => ({
  fetch: nameSystem,
  notes: { keep: async () => true, read: async () => undefined, take: async () => undefined },
  originals: {
    nameOf: async (id) => `kept-${id.slice(0, 8)}`,
    keep: async (_bytes, { id }) => `kept-${id.slice(0, 8)}`,
    open: async (ref) => (ref === 'kept' ? new Blob([enclosing]).stream() : undefined),
  },
})

const textOf = (call: JsonObject): string => String(call['text'])
const htmlOf = (calls: readonly JsonObject[]): string => calls.map((call) => String(call['html'])).join('')

export const fixtures = {
  definition: emailChannel,
  connection: { tenant: 'default', id: 'default', agent: 'demo', domain: 'parley.localhost' },
  now,
  ports,
  settings: () => ({
    domain: 'agents.example',
    webhookSecret,
    dnsOverHttps: 'https://dns.example/dns-query',
    mailFolder: 'node_modules/.cache/parley-kit-mail',
  }),
  secrets: { webhookSecret },
  environment: { EMAIL_DOMAIN: 'agents.example', EMAIL_WEBHOOK_SECRET: webhookSecret },
  sign,
  credentialHeaders: [webhookHeaders.signature, webhookHeaders.nonce],
  captured: [
    { name: 'plain text', ...plainText },
    { name: 'a reply in a group', ...groupReply },
    { name: 'a file', ...withFile },
    { name: 'two authors', ...twoAuthors },
    { name: 'an automatic reply', ...autoReply },
  ],
  subjectPrefixes: ['mailto:'],
  own: [
    {
      envelope: { from: 'bounce@agents.example', to: 'demo@agents.example' },
      mail: 'From: demo@agents.example\r\nTo: demo@agents.example\r\nMessage-ID: <a@b.example>\r\n\r\nan echo of ourselves\r\n',
    },
  ],
  replyTo: {
    address: 'alice@sender.example',
    name: 'Alice',
    agent: 'demo@agents.example',
    cc: [],
    reply_to_id: 'one@sender.example',
    reply_to_references: [],
    reply_to_subject: 'Hello',
    reply_to_key: 'abcdefghijklmnop',
    reply_to_quote: null,
    reply_to_hop: 0,
  },
  textOf,
  hostile: [
    {
      said: '<script>alert(1)</script><img src=https://evil.example/x>',
      isInert: (calls: readonly JsonObject[]) => !/<script|<img/i.test(htmlOf(calls)),
    },
    {
      said: 'a\r\nBcc: victim@v.example\r\n\r\nmore',
      isInert: (calls: readonly JsonObject[]) => calls.every((call) => !String(call['subject']).includes('Bcc')),
    },
  ],
  handed: { ours: 'demo@agents.example', foreign: 'demo@elsewhere.example' },
  ownFiles: { ref: { original: 'kept', index: 1 }, gone: { original: 'gone', index: 1 } },
  skips: {
    'verify: answers the handshake': 'a signed post has no handshake; that of SES is in test/unit/adapters/email/ways',
    'config: leaving out any secret fails at start':
      'a way in whose secret is left out is closed, and others may be open',
    'config: an incomplete environment names what is missing': 'the channel is on unless told otherwise',
    'evidence: no name a sender chose is part of it':
      'a name in From is signed with it, so changing it proves nothing: test/unit/adapters/email/normalize shows it',
    'deliver: success is delivered': bySmtp,
    'deliver: a rate limit is a retry with its delay': bySmtp,
    'deliver: a server fault is never called delivered or refused': bySmtp,
    'deliver: a refusal is final': bySmtp,
    'deliver: a time-out is settled by what repeating would do': bySmtp,
    'deliver: nothing but the vendor is contacted': bySmtp,
    'deliver: a file is one upload, and none where there is nothing to upload': bySmtp,
    'verb: reconcile finds what arrived and misses what did not': 'a repeated mail is recognised by its Message-ID',
    'verb: acknowledge answers every acceptance': 'a post is answered by the table of statuses',
  },
}

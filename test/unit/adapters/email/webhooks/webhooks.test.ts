// Posted mails: whose hop is believed, what is read of it, and what cannot be played again.
import { describe, expect, test } from 'vitest'
import { parseFormFields } from '../../../../../adapters/email/webhooks/mailgun.ts'
import { secret } from '../../../../../src/lib/secret.ts'
import { isLinear } from '../../../../doubles/linear-time.ts'
import {
  bytesOf,
  hookScene,
  mailgunFields,
  mime,
  multipartArrival,
  nowSeconds,
  sesReceived,
  snsArrival,
  textOf,
  urlencodedArrival,
  webhookArrival,
} from './webhook-setup.ts'

const rejected = (reason: string) => ({ kind: 'rejected', reason })
const defined = (values: Readonly<Record<string, string | undefined>>): Record<string, string> =>
  Object.fromEntries(Object.entries(values).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])))

describe('the signed webhook', () => {
  test('gives the bytes and the envelope as they were signed', async () => {
    const hop = await hookScene().hopOf(await webhookArrival())
    expect(hop).toEqual({
      kind: 'mail',
      mail: {
        way: 'webhook',
        raw: bytesOf(mime),
        envelope: {
          mailFrom: 'ada@example.org',
          rcptTo: ['helper@agents.example'],
          clientIp: '192.0.2.1',
          helo: 'mx.example.org',
        },
        receivedAt: '2026-11-17T12:00:00.000Z',
      },
    })
  })

  test.each([
    'x-envelope-from',
    'x-envelope-to',
    'x-envelope-ip',
    'x-envelope-helo',
    'x-mail-timestamp',
    'x-mail-nonce',
  ])('%s is under the signature, changed or left out', async (name) => {
    const { hopOf } = hookScene()
    const genuine = await webhookArrival()
    const { [name]: value = '', ...without } = genuine.headers
    const changed = value.replace(/\w(?=\W*$)/, (last) => (last === '1' ? '2' : '1'))
    expect(await hopOf({ ...genuine, headers: { ...genuine.headers, [name]: changed } })).toEqual(
      rejected('bad_signature'),
    )
    expect((await hopOf({ ...genuine, headers: without })).kind).toBe('rejected')
  })

  test('an absent sender is not the null sender', async () => {
    const { hopOf } = hookScene()
    const nobody = await webhookArrival({ headers: { 'x-envelope-from': '' } })
    expect(await hopOf(nobody)).toMatchObject({ mail: { envelope: { mailFrom: '' } } })
    const { 'x-envelope-from': _gone, ...headers } = nobody.headers
    expect(await hopOf({ ...nobody, headers })).toEqual(rejected('bad_signature'))
  })

  test.each([
    ['no signature', {}, { 'x-mail-signature': undefined }, 'missing_credential'],
    ['a nonce too short to be one', { 'x-mail-nonce': 'short' }, {}, 'missing_credential'],
    ['five minutes old', { 'x-mail-timestamp': String(nowSeconds - 301) }, {}, 'stale_timestamp'],
    ['five minutes ahead', { 'x-mail-timestamp': String(nowSeconds + 301) }, {}, 'future_timestamp'],
    ['no number for a time', { 'x-mail-timestamp': 'noon' }, {}, 'malformed_request'],
    ['no list of recipients', { 'x-envelope-to': 'helper@agents.example' }, {}, 'malformed_request'],
    ['no recipient', { 'x-envelope-to': '[]' }, {}, 'malformed_request'],
    ['another kind of body', { 'content-type': 'application/json' }, {}, 'malformed_request'],
  ])('refuses %s', async (_what, headers, after, reason) => {
    const signed = await webhookArrival({ headers: headers as Record<string, string> })
    expect(await hookScene().hopOf({ ...signed, headers: defined({ ...signed.headers, ...after }) })).toEqual(
      rejected(reason),
    )
  })

  test('takes either of two secrets, and none that is not configured', async () => {
    const two = hookScene({
      webhook: { secrets: [secret('another-secret-00000000000000000'), secret('b'.repeat(32))] },
    })
    expect(await two.hopOf(await webhookArrival({ secret: 'b'.repeat(32) }))).toMatchObject({ kind: 'mail' })
    expect(await two.hopOf(await webhookArrival())).toEqual(rejected('bad_signature'))
  })

  test('the same request again passes, for it may never have been stored; its nonce with another body does not', async () => {
    const { hopOf } = hookScene()
    expect(await hopOf(await webhookArrival())).toMatchObject({ kind: 'mail' })
    expect(await hopOf(await webhookArrival())).toMatchObject({ kind: 'mail' })
    expect(await hopOf(await webhookArrival({ body: 'Subject: other\r\n\r\n' }))).toEqual(rejected('replayed'))
  })

  test('a mail over the limit is turned away, and only after its hop was believed', async () => {
    const { hopOf } = hookScene({ maxBytes: 10 })
    expect(await hopOf(await webhookArrival())).toMatchObject({ kind: 'rejected_event', reason: 'mail_too_large' })
    expect(await hopOf(await webhookArrival({ secret: 'wrong' }))).toEqual(rejected('bad_signature'))
  })

  test('where notes cannot be kept the mail has to come again', async () => {
    const { hopOf, notes } = hookScene()
    Object.assign(notes, { keep: () => Promise.reject(new Error('down')) })
    expect(await hopOf(await webhookArrival())).toEqual({ kind: 'later', reason: 'hop_not_judged' })
  })
})

test('what nobody switched on is closed, whoever signed it', async () => {
  const { hopOf, called } = hookScene({ webhook: undefined, mailgun: undefined, ses: undefined })
  for (const each of [await webhookArrival(), multipartArrival(mailgunFields()), snsArrival()])
    expect(await hopOf(each)).toEqual(rejected('not_allowed_here'))
  expect(called).toEqual([])
})

test('an arrival of our own is known by its bytes, not by what they say', async () => {
  const { hopOf, own } = hookScene()
  const mail = {
    way: 'smtp',
    raw: bytesOf(mime),
    envelope: { mailFrom: '', rcptTo: ['a@b.example'] },
    receivedAt: '',
  } as const
  const ours = own.add(mail)
  expect(await hopOf(ours)).toEqual({ kind: 'mail', mail })
  expect(await hopOf({ ...ours, bytes: bytesOf(mime) })).toEqual(rejected('malformed_request'))
})

describe('Mailgun', () => {
  test.each([
    ['multipart', multipartArrival],
    ['urlencoded', urlencodedArrival],
  ])('reads the mail out of a %s form byte for byte', async (_kind, form) => {
    const hop = await hookScene().hopOf(form(mailgunFields()))
    expect(hop).toMatchObject({
      kind: 'mail',
      mail: { way: 'mailgun', envelope: { mailFrom: 'ada@example.org', rcptTo: ['helper@agents.example'] } },
    })
    expect(hop.kind === 'mail' ? textOf(hop.mail.raw) : '').toBe(mime)
  })

  test.each([
    ['a wrong signature', { signature: '0'.repeat(64) }, 'bad_signature'],
    ['no token', { token: '' }, 'missing_credential'],
    ['no mail', { 'body-mime': undefined }, 'malformed_request'],
  ])('refuses %s', async (_what, changes, reason) => {
    expect(await hookScene().hopOf(multipartArrival(defined({ ...mailgunFields(), ...changes })))).toEqual(
      rejected(reason),
    )
  })

  test('refuses a timestamp older than all of its tries', async () => {
    const old = mailgunFields({ timestamp: String(nowSeconds - 10 * 3600) })
    expect(await hookScene().hopOf(multipartArrival(old))).toEqual(rejected('stale_timestamp'))
  })

  test('a token brings in the mail it came with again, and no other, and for nobody else', async () => {
    const { hopOf } = hookScene()
    const first = mailgunFields()
    expect(await hopOf(multipartArrival(first))).toMatchObject({ kind: 'mail' })
    expect(await hopOf(multipartArrival(first))).toMatchObject({ kind: 'mail' })
    const changes: Record<string, string>[] = [{ 'body-mime': `${mime}more` }, { recipient: 'boss@agents.example' }]
    for (const changed of changes)
      expect(await hopOf(multipartArrival({ ...first, ...changed }))).toEqual(rejected('replayed'))
  })

  test.each(['multipart/form-data; boundary=b', 'application/x-www-form-urlencoded'])(
    'a hostile %s costs no more than its length',
    (type) => {
      const bodies = (size: number) => [
        bytesOf('\r\n--'.repeat(size / 4)),
        bytesOf('--b\r\n\r\n\r\n\r\n'.repeat(size / 11)),
        bytesOf('%'.repeat(size)),
        bytesOf('&'.repeat(size)),
      ]
      const [half, whole] = [bodies(1_000_000), bodies(2_000_000)]
      const read = (all: readonly Uint8Array[]) => () => all.map((body) => parseFormFields(type, body))
      expect(isLinear(read(half), read(whole))).toBe(true)
    },
  )
})

describe('SES through SNS', () => {
  test.each(['1', '2'])('a notification under signature version %s brings its mail', async (SignatureVersion) => {
    const { hopOf, called } = hookScene()
    const hop = await hopOf(snsArrival({ SignatureVersion }))
    expect(hop).toMatchObject({
      kind: 'mail',
      mail: { way: 'ses', envelope: { mailFrom: 'ada@example.org', rcptTo: ['helper@agents.example'] } },
    })
    expect(hop.kind === 'mail' ? textOf(hop.mail.raw) : '').toBe(mime)
    await hopOf(snsArrival({ SignatureVersion }))
    expect(called, 'the certificate is fetched once').toHaveLength(1)
  })

  test.each([
    ['one changed byte', {}, { MessageId: 'another' }, 'bad_signature'],
    ['a day and more', { Timestamp: '2026-11-16T11:59:00Z' }, {}, 'stale_timestamp'],
    ['no JSON of SNS', {}, { SignatureVersion: '3' }, 'malformed_request'],
  ])('refuses %s', async (_what, changes, forged, reason) => {
    const made = snsArrival(changes as Record<string, string>, forged as Record<string, string>)
    expect(await hookScene().hopOf(made)).toEqual(rejected(reason))
  })

  test('a subscription is confirmed where SNS says so, under its signature', async () => {
    const SubscribeURL = 'https://sns.eu-west-1.amazonaws.com/?Action=ConfirmSubscription&Token=t'
    const fields = { Type: 'SubscriptionConfirmation', SubscribeURL, Token: 't' }
    const { hopOf, called } = hookScene()
    expect(await hopOf(snsArrival(fields))).toEqual({ kind: 'handshake', answer: { status: 200 } })
    expect(called.at(-1)).toBe(SubscribeURL)
    expect(await hopOf(snsArrival(fields, { Token: 'u' }))).toEqual(rejected('bad_signature'))
    expect(called).toHaveLength(2)
  })

  test('a notification that holds no mail is kept as such', async () => {
    const Message = 'Successfully validated SNS topic for Amazon SES event publishing.'
    expect(await hookScene().hopOf(snsArrival({ Message }))).toMatchObject({
      kind: 'rejected_event',
      reason: 'no_received_mail',
    })
    const nothing = JSON.stringify(sesReceived({ content: undefined }))
    expect(await hookScene().hopOf(snsArrival({ Message: nothing }))).toMatchObject({ reason: 'no_content' })
  })

  test('without a certificate nothing is decided, and it is asked for again', async () => {
    const { hopOf, called, breakFetch } = hookScene()
    breakFetch(true)
    expect(await hopOf(snsArrival())).toEqual({ kind: 'later', reason: 'certificate_unavailable' })
    breakFetch(false)
    expect(await hopOf(snsArrival())).toMatchObject({ kind: 'mail' })
    expect(called).toHaveLength(2)
  })
})

// A mail as it leaves: its header, its structure, its signature, its envelope, and what becomes of it. The server is a real one.

import { generateKeyPairSync } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import { simpleParser } from 'mailparser'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { deliverMail } from '../../../../../adapters/email/deliver/mail.ts'
import { deliveryKey, findDeliveryByKey } from '../../../../../adapters/email/deliver/message-ids.ts'
import type { DeliveryDeps, DeliverySettings } from '../../../../../adapters/email/deliver/settings.ts'
import { scanHead } from '../../../../../adapters/email/headers/scan-head.ts'
import { renderMailReply } from '../../../../../adapters/email/render/reply.ts'
import type { MailCall } from '../../../../../adapters/email/wire/call.ts'
import type { NormalizedResponse } from '../../../../../src/contract/index.ts'
import { GatewayError } from '../../../../../src/lib/errors.ts'
import type { JsonObject } from '../../../../../src/lib/json-value.ts'
import { secret } from '../../../../../src/lib/secret.ts'
import * as out from '../../../../doubles/mailer-deps.ts'
import { memoryNotes } from '../../../../doubles/memory-ttl-store.ts'
import { emailSay } from '../../../../doubles/say.ts'
import { type SmtpSink, startHangUp, startSmtpSink } from '../../../../doubles/smtp-sink.ts'

const people = ['ann@example.org', 'researcher@agents.example']
const token = `${out.threadKey}${'m'.repeat(16)}`

let sink: SmtpSink
beforeEach(async () => {
  sink = await startSmtpSink(people)
})
afterEach(async () => {
  expect(sink.unexpected).toEqual([])
  await sink.close()
})

function callOf(
  reply: NormalizedResponse = out.replyOf('**Hello** Ann'),
  more: JsonObject = {},
  names: readonly string[] = [],
): MailCall {
  const [only] = renderMailReply(emailSay, reply, { ...out.replyTo, ...more }, new Set(names))
  return only === undefined ? expect.unreachable('nothing was rendered') : only.call
}

const throughSink = (more: Partial<DeliverySettings> = {}): DeliverySettings =>
  out.mailSettings({ smtpUrl: secret(sink.url), ...more })

async function send(call: MailCall, settings = throughSink(), deps: DeliveryDeps = out.mailDeps()) {
  return deliverMail(settings, deps)(call, out.attemptOf())
}

async function sent(call: MailCall, settings = throughSink(), deps: DeliveryDeps = out.mailDeps()): Promise<string> {
  expect(await send(call, settings, deps)).toMatchObject({ kind: 'delivered' })
  return sink.mails.at(-1)?.raw ?? expect.unreachable('nothing was taken')
}

/** Header fields by name in small letters, unfolded. */
function headOf(raw: string): Readonly<Record<string, readonly string[]>> {
  const head = raw.slice(0, raw.indexOf('\r\n\r\n')).replace(/\r\n[ \t]+/g, ' ')
  const fields: Record<string, string[]> = {}
  for (const line of head.split('\r\n')) {
    const name = line.slice(0, line.indexOf(':')).toLowerCase()
    fields[name] = [...(fields[name] ?? []), line.slice(line.indexOf(':') + 1).trim()]
  }
  return fields
}

describe('the header', () => {
  test('EM-134: says who answers what to whom, and that no machine should answer', async () => {
    const head = headOf(await sent(callOf()))
    expect(head).toMatchObject({
      from: ['helper <helper@agents.example>'],
      to: ['Ann <ann@example.org>'],
      'reply-to': [`helper <helper+${token}@agents.example>`],
      subject: ['Re: The plan'],
      'in-reply-to': ['<m2@example.org>'],
      references: ['<m0@example.org> <m1@example.org> <m2@example.org>'],
      'auto-submitted': ['auto-replied'],
      'x-auto-response-suppress': ['OOF, AutoReply, DR, RN, NRN'],
      'message-id': [`<${token}.${await deliveryKey('turn-1:0')}@agents.example>`],
      date: ['Tue, 17 Nov 2026 12:00:00 +0000'],
    })
    expect(head['content-type']?.[0]).toMatch(/^multipart\/alternative/)
    expect(head['precedence']).toBeUndefined()
    expect(head['x-agent-hop']).toBeUndefined()
  })

  test('EM-134: twenty references are folded into lines that every server takes', async () => {
    const reply_to_references = Array.from({ length: 40 }, (_, at) => `${'x'.repeat(40)}${at}@example.org`)
    const raw = await sent(callOf(undefined, { reply_to_references }))
    expect(headOf(raw)['references']?.[0]?.split(' ')).toHaveLength(20)
    expect(Math.max(...raw.split('\r\n').map((line) => line.length))).toBeLessThan(998)
    expect(
      Math.max(
        ...raw
          .slice(0, raw.indexOf('\r\n\r\n'))
          .split('\r\n')
          .map((line) => line.length),
      ),
    ).toBeLessThan(200)
  })

  test('the envelope is ours: bounces go to an address of the delivery, which finds it again', async () => {
    const notes = memoryNotes(() => out.now)
    await sent(callOf(), throughSink(), out.mailDeps({ ttlStore: notes }))
    const key = await deliveryKey('turn-1:0')
    expect(sink.mails[0]).toMatchObject({
      from: `bounce+${key}${'m'.repeat(16)}@agents.example`,
      to: ['ann@example.org'],
    })
    expect(await findDeliveryByKey(notes, key)).toEqual({ clientId: 'turn-1:0', to: 'ann@example.org' })
    expect(await findDeliveryByKey(notes, 'aaaaaaaaaaaaaaaa')).toBeUndefined()
  })

  test('as a mailbox at a provider we use no other address, and answers find the thread by our id', async () => {
    const [call, key] = [callOf(), await deliveryKey('turn-1:0')]
    const from = { name: 'Helper', address: 'Me@provider.example' }
    await sent({ ...call, from }, { ...throughSink(), mailbox: 'me@provider.example' })
    expect(sink.mails[0]).toMatchObject({ from: from.address, to: ['ann@example.org'] })
    const head = scanHead(Buffer.from(sink.mails[0]?.raw ?? '', 'latin1'))
    expect(head).toMatchObject({
      from: { address: from.address },
      replyTo: [{ address: from.address }],
      messageId: `${out.threadKey}${'m'.repeat(16)}.${key}@provider.example`,
    })
  })

  test('a sibling in the copies is handed the mail with a signed count of hops', async () => {
    const raw = await sent(callOf(undefined, { reply_to_hop: 1 }, ['@researcher']))
    expect(sink.mails[0]?.to).toEqual(people)
    expect(headOf(raw)).toMatchObject({ cc: ['researcher@agents.example'] })
    expect(headOf(raw)['x-agent-hop']?.[0]).toMatch(/^2; mac=[a-z2-7]{32}$/)
  })

  test('EM-137: every try is the same mail, whatever the time is', async () => {
    const call = callOf(out.replyOf('', { parts: [out.question()] }))
    const deps = out.mailDeps()
    const first = headOf(await sent(call, throughSink(), deps))
    const second = headOf(await sent(call, throughSink(), { ...deps, now: () => out.now + 60_000 }))
    expect(second['message-id']).toEqual(first['message-id'])
    expect(second['date']).not.toEqual(first['date'])
    const links = sink.mails.map(({ raw }) => /decide\/[a-z2-7=\r\n]+/.exec(raw)?.[0].replace(/=\r\n/g, '').trim())
    expect(links[0]).toBe(links[1])
    expect(links[0]).toMatch(/^decide\/[a-z2-7]{40}$/)
  })
})

describe('a question', () => {
  const wordsOf = (raw: string) =>
    raw
      .slice(raw.indexOf('\r\n\r\n'))
      .replace(/=\r\n/g, '')
      .replaceAll('=3D', '=')
      .replace(/\r\n(?=\S)/g, ' ')
  const asking = (...codes: readonly string[]) =>
    callOf(out.replyOf('', { parts: codes.map((code) => out.question(code)) }))
  const times = (text: string, words: string) => text.split(words).length - 1

  test('says once how to decide: by a reply, or with a public address also by a link', async () => {
    const [linked, alone] = [
      wordsOf(await sent(asking('3f2a91'))),
      wordsOf(await sent(asking('3f2a91'), throughSink(), withoutUrl())),
    ]
    const how = 'Until 2026-11-17 12:30 UTC, reply with /approve 3f2a91 or /reject 3f2a91 as the first line'
    expect(linked).toContain(`${how}, or decide in your browser: https://gw.example/email/decide/`)
    expect(alone).toContain(`${how}.`)
    expect(alone).not.toContain('browser')
    // In each half.
    for (const text of [linked, alone]) expect(times(text, '/approve 3f2a91')).toBe(2)
  })

  test('of several says which one it is about', async () => {
    const text = wordsOf(await sent(asking('3f2a91', 'aaaaaa'), throughSink(), withoutUrl()))
    expect(text).toContain('pay 12 EUR <b>now</b>: Until 2026-11-17 12:30 UTC, reply with /approve 3f2a91')
    expect(times(text, '/approve aaaaaa')).toBe(2)
  })

  const withoutUrl = (): DeliveryDeps => {
    const { publicUrl: _none, ...deps } = out.mailDeps()
    return deps
  }
})

describe('the agent’s name', () => {
  test.each([
    ['Häl, "per"', 'Häl, "per"'],
    ['Helper <root@bank.example>', 'Helper <root@bank.example>'],
    ['Helper\r\nBcc: eve@example.org', 'Helper Bcc: eve@example.org'],
  ])('%j is a name in From and nothing else', async (name, read) => {
    const raw = await sent({ ...callOf(), from: { name, address: 'helper@agents.example' } })
    const parsed = await simpleParser(raw)
    expect(parsed.from?.value).toEqual([{ name: read, address: 'helper@agents.example' }])
    expect(parsed.bcc).toBeUndefined()
    expect(scanHead(Buffer.from(raw, 'latin1'))).toMatchObject({
      from: { address: 'helper@agents.example' },
      faults: [],
    })
  })
})

describe('the signature', () => {
  test('EM-134: passes for both keys, over every header that counts, none of which can be added', async () => {
    const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
    const ed = generateKeyPairSync('ed25519')
    const pem = { type: 'pkcs8', format: 'pem' } as const
    const dkimKeys = [
      { selector: 's1', privateKey: secret(rsa.privateKey.export(pem).toString()) },
      { selector: 's2', privateKey: secret(ed.privateKey.export(pem).toString()) },
    ]
    const records: Record<string, string> = {
      's1._domainkey.agents.example': `v=DKIM1; k=rsa; p=${rsa.publicKey.export({ type: 'spki', format: 'der' }).toString('base64')}`,
      's2._domainkey.agents.example': `v=DKIM1; k=ed25519; p=${ed.publicKey.export({ type: 'spki', format: 'der' }).subarray(12).toString('base64')}`,
    }
    const raw = await sent(callOf(undefined, {}, ['@researcher']), throughSink({ dkimKeys }))
    const resolver = async (name: string): Promise<string[][]> => [[records[name] ?? expect.unreachable(name)]]
    const verified = async (bytes: string) => {
      const { results } = await dkimVerify(Buffer.from(bytes, 'latin1'), { resolver, sender: '' } as never)
      return results.map(({ status, selector }) => `${selector} ${status.result}`)
    }
    expect((await verified(raw)).toSorted()).toEqual(['s1 pass', 's2 pass'])
    const signed = / h=([^;]+);/
      .exec(headOf(raw)['dkim-signature']?.[0] ?? '')?.[1]
      ?.replace(/\s/g, '')
      .toLowerCase()
      .split(':')
    for (const name of [
      'from',
      'subject',
      'date',
      'message-id',
      'to',
      'in-reply-to',
      'references',
      'content-type',
      'reply-to',
      'cc',
      'auto-submitted',
    ])
      expect(signed?.filter((each) => each === name).length, name).toBe(2)
    // A second one of any of them breaks it.
    expect(await verified(raw.replace('\r\nSubject:', '\r\nSubject: Buy\r\nSubject:'))).not.toContain('s1 pass')
    expect(await verified(raw.replace('\r\nTo:', '\r\nCc: x@y.example\r\nTo:'))).not.toContain('s1 pass')
  })

  test('a key that cannot sign sends nothing', async () => {
    const dkimKeys = [{ selector: 's1', privateKey: secret('no key') }]
    expect(await send(callOf(), throughSink({ dkimKeys }))).toEqual({
      kind: 'retry',
      reason: 'dkim_key_unusable',
      afterMs: 60_000,
      scope: 'connection',
    })
    expect(await send(callOf(), throughSink({ dkimKeyFile: '/nowhere/at/all' }))).toMatchObject({
      reason: 'dkim_key_unusable',
    })
    expect(sink.mails).toEqual([])
  })
})

describe('hostile words', () => {
  test.each([
    ['subject', { reply_to_subject: 'x\r\nBcc: evil@e.example\r\n\r\n<b>' }],
    ['name', { name: 'Ann\r\nBcc: evil@e.example' }],
    [
      'quote',
      { reply_to_quote: { author: 'A\r\nBcc: evil@e.example', date: null, text: 'x\r\n.\r\nMAIL FROM:<z@e.example>' } },
    ],
  ])('EM-135: a line end in the %s adds no header and ends no mail', async (_, more) => {
    const head = headOf(await sent(callOf(undefined, more)))
    expect(head['bcc']).toBeUndefined()
    expect(sink.mails).toHaveLength(1)
    expect(sink.mails[0]?.to).toEqual(['ann@example.org'])
  })

  test('EM-135: a line end in a file name, and a path for one, are a name and nothing else', async () => {
    const id = '0190a000-0000-7000-8000-000000000001'
    const parts = [out.storedFile(id, '../../etc/pass\r\nBcc: evil@e.example".txt', 'text/x\r\nBcc: e@e.example', 3)]
    const raw = await sent(
      callOf(out.replyOf('', { parts })),
      throughSink(),
      out.mailDeps({ files: out.filesOf({ [id]: 3 }) }),
    )
    expect(raw).not.toMatch(/^bcc:/im)
    expect(raw).not.toContain('../')
    expect(raw).toContain('Content-Type: application/octet-stream')
  })

  test.each(['bob@x\r\nRCPT TO:<z@e.example>', 'bob@x.example, z@e.example', '<z@e.example>', 'bob@x.example>\u0000'])(
    'EM-136: %j is refused before anything is composed, wherever it stands',
    async (address) => {
      const call = callOf()
      const person = { name: '', address }
      for (const bad of [{ to: [person] }, { cc: [person] }, { from: person }])
        expect(await send({ ...call, ...bad } as MailCall)).toEqual({ kind: 'refused', reason: 'invalid_recipient' })
      expect(await send({ ...call, references: [`${address}`] } as MailCall)).toMatchObject({ kind: 'refused' })
      expect(sink.mails).toEqual([])
    },
  )
})

describe('files', () => {
  const [small, large] = ['0190a000-0000-7000-8000-000000000001', '0190a000-0000-7000-8000-000000000002']
  const parts = [
    ...out.replyOf('See ![it](a.png)').parts,
    out.storedFile(small, 'a.png', 'image/png', 30),
    out.storedFile(large, 'b.bin', 'application/zip', 9_999_990),
  ]
  const files = out.filesOf({ [small]: 30, [large]: 9_999_990 })

  test('EM-135, EM-138: what does not fit goes as a link that ends; what fits goes along, pictures beside the words', async () => {
    const raw = await sent(
      callOf(out.replyOf('', { parts })),
      throughSink({ maxMailBytes: 5 * 1024 * 1024 }),
      out.mailDeps({ files }),
    )
    expect(raw.length).toBeLessThan(20_000)
    const plain = raw.replace(/=\r\n/g, '')
    expect(plain).toContain('Too large for a mail: b.bin (10.0 MB)')
    expect(plain).toContain(`https://gw.example/storage/${large}?token=3Dt`)
    expect(plain).toContain('until 2026-11-24 12:00 UTC')
    expect(raw).toMatch(/Content-Type: multipart\/related/)
    expect(raw).toContain(`Content-ID: <picture0.${small}@parley.invalid>`)
    expect(raw).toMatch(/Content-Disposition: inline; filename=a\.png/)
  })

  test('all that fits goes along', async () => {
    const raw = await sent(
      callOf(out.replyOf('', { parts: parts.slice(0, 2) })),
      throughSink(),
      out.mailDeps({ files }),
    )
    expect(Buffer.from(/\r\n\r\n(Bwc[^-]+)\r\n--/.exec(raw)?.[1] ?? '', 'base64')).toEqual(Buffer.alloc(30, 7))
  })

  test('a file that is gone is refused, one that cannot be had now is tried again', async () => {
    const call = callOf(out.replyOf('', { parts }))
    expect(await send(call, throughSink(), out.mailDeps({ files: out.filesOf({}) }))).toEqual({
      kind: 'refused',
      reason: 'file_gone',
    })
    const broken = { open: () => Promise.reject(new Error('down')) }
    expect(await send(call, throughSink(), out.mailDeps({ files: broken }))).toEqual({
      kind: 'retry',
      reason: 'file_unavailable',
    })
  })
})

describe('what becomes of it', () => {
  test.each([
    [
      { at: 'RCPT', code: 450, words: '4.7.1 Greylisted, try again later' },
      { kind: 'retry', reason: 'smtp_450: 4.7.1 Greylisted, try again later', afterMs: 300_000, scope: 'conversation' },
    ],
    [
      { at: 'DATA', code: 451, words: 'local error' },
      { kind: 'retry', reason: 'smtp_451: local error' },
    ],
    [
      { at: 'RCPT', code: 550, words: '5.1.1 <ann@example.org> unknown' },
      { kind: 'refused', reason: 'smtp_550: 5.1.1 <…> unknown' },
    ],
    [
      { at: 'DATA', code: 554, words: 'no\u0007 spam' },
      { kind: 'refused', reason: 'smtp_554: no spam' },
    ],
    [
      { at: 'MAIL', code: 552, words: 'too big' },
      { kind: 'refused', reason: 'smtp_552: too big' },
    ],
  ] as const)('EM-137: %j', async (fault, outcome) => {
    sink.failOnce(fault)
    expect(await send(callOf())).toEqual(outcome)
  })

  test.each([
    ['greeting', { kind: 'retry', reason: 'smtp_unreachable' }, 0],
    ['mail', { kind: 'retry', reason: 'smtp_unreachable' }, 0],
    ['data_end', { kind: 'unknown', reason: 'smtp_connection_lost' }, 1],
  ] as const)('EM-137: a server that hangs up at the %s was asked once', async (when, outcome, seen) => {
    const server = await startHangUp(when)
    try {
      expect(await send(callOf(), out.mailSettings({ smtpUrl: secret(server.url) }))).toEqual(outcome)
      expect(server.seen()).toBe(seen)
    } finally {
      await server.close()
    }
  })

  test('a server that is not there is tried again', async () => {
    const server = await startHangUp('greeting')
    await server.close()
    expect(await send(callOf(), out.mailSettings({ smtpUrl: secret(server.url) }))).toEqual({
      kind: 'retry',
      reason: 'smtp_unreachable',
    })
  })

  test('a mailbox that bounced is not written to', async () => {
    const asked: unknown[] = []
    const places = {
      async closed(place: string, runId: string | undefined) {
        asked.push([place, runId])
        return 'bounced_5.1.1'
      },
    }
    expect(await send(callOf(), throughSink(), out.mailDeps({ closedRooms: places }))).toEqual({
      kind: 'refused',
      reason: 'place_closed:bounced_5.1.1',
    })
    expect(asked).toEqual([['ann@example.org', 'r1']])
    expect(sink.mails).toEqual([])
  })

  test('without a server the mail is a file, whole or not there, for its owner alone', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'parley-mail-'))
    try {
      const settings = out.mailSettings({ mailFolder: join(folder, 'mail') })
      expect(await send(callOf(), settings)).toMatchObject({ kind: 'delivered' })
      expect(await send(callOf(), settings)).toMatchObject({ kind: 'delivered' })
      const [name, ...others] = await readdir(join(folder, 'mail'))
      expect(others).toEqual([])
      expect(name).toMatch(/\.eml$/)
      const text = await readFile(join(folder, 'mail', name ?? ''), 'utf8')
      expect(text).toMatch(/^X-Envelope-From: <bounce\+[^>]+>\r\nX-Envelope-To: <ann@example.org>\r\n/)
      expect(text).toContain('Subject: Re: The plan')
      expect((await stat(join(folder, 'mail', name ?? ''))).mode & 0o777).toBe(0o600)
    } finally {
      await rm(folder, { recursive: true })
    }
  })

  test('with no way out at all it waits', async () => {
    expect(await send(callOf(), out.mailSettings())).toMatchObject({
      kind: 'retry',
      reason: 'no_way_out',
      scope: 'connection',
    })
  })
})

describe('the binding of a Worker', () => {
  test('EM-117: is given the parts of the mail, and the id it gives becomes a name of the thread', async () => {
    const given: unknown[] = []
    const mailer = {
      maxBytes: 5_000_000,
      async send(mail: unknown) {
        given.push(mail)
        return { messageId: '<abc@cloudflare.example>' }
      },
    }
    const outcome = await send(callOf(), out.mailSettings(), out.mailDeps({ mailer }))
    expect(outcome).toMatchObject({ kind: 'delivered', vendorId: 'abc@cloudflare.example' })
    expect('name' in outcome && outcome.name).toMatch(/^t:[a-z2-7]{16}$/)
    expect(given).toMatchObject([
      {
        from: { name: 'helper', email: 'helper@agents.example' },
        to: ['ann@example.org'],
        replyTo: { email: `helper+${token}@agents.example` },
        headers: { 'In-Reply-To': '<m2@example.org>', 'Auto-Submitted': 'auto-replied' },
      },
    ])
  })

  test('an answer that never comes is not waited for, and may have been sent', async () => {
    const abort = new AbortController()
    const mailer = {
      maxBytes: 5_000_000,
      send() {
        abort.abort()
        return new Promise<never>(() => {})
      },
    }
    const attempt = out.attemptOf({ signal: abort.signal })
    const outcome = await deliverMail(out.mailSettings(), out.mailDeps({ mailer }))(callOf(), attempt)
    expect(outcome).toEqual({ kind: 'unknown', reason: 'no_readable_answer' })
  })

  test('what breaks before anything left is tried again', async () => {
    const mailer = { maxBytes: 5_000_000, send: () => expect.unreachable('nothing could be sent') }
    const unsealed = new GatewayError('config_invalid', 'nothing to seal with')
    const secretless = { mailer, tokens: () => Promise.reject(unsealed) }
    const paused = { afterMs: 60_000, scope: 'connection' }
    expect(await send(callOf(), out.mailSettings(), out.mailDeps(secretless))).toEqual({
      kind: 'retry',
      reason: 'secret_unusable',
      ...paused,
    })
    const id = '0190a000-0000-7000-8000-000000000003'
    const torn = new ReadableStream<Uint8Array>({ pull: (controller) => controller.error(new Error('torn')) })
    const files = { open: async () => ({ body: torn, size: 3, mimeType: 'text/plain', name: 'a.txt' }) }
    const reply = out.replyOf('', { parts: [out.storedFile(id, 'a.txt', 'text/plain', 3)] })
    expect(await send(callOf(reply), out.mailSettings(), out.mailDeps({ mailer, files }))).toEqual({
      kind: 'retry',
      reason: 'file_unavailable',
    })
  })

  test.each([
    ['E_RATE_LIMIT_EXCEEDED', { kind: 'retry', reason: 'e_rate_limit_exceeded', afterMs: 60_000, scope: 'connection' }],
    ['E_RECIPIENT_SUPPRESSED', { kind: 'refused', reason: 'e_recipient_suppressed' }],
    ['ECONNRESET', { kind: 'unknown', reason: 'no_readable_answer' }],
  ])('%s', async (code, outcome) => {
    const mailer = { maxBytes: 5_000_000, send: () => Promise.reject(Object.assign(new Error('x'), { code })) }
    expect(await send(callOf(), out.mailSettings(), out.mailDeps({ mailer }))).toEqual(outcome)
  })
})

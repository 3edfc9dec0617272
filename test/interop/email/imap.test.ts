// The IMAP source beside Dovecot: every mail once, marked after it was committed, through cuts and a mailbox that was numbered anew.
import { rm } from 'node:fs/promises'
import { ImapFlow } from 'imapflow'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createImapPoller, type ImapSettings } from '../../../adapters/email/imap.ts'
import { createReceivedMailRegistry } from '../../../adapters/email/ingress/received.ts'
import { secret } from '../../../src/lib/secret.ts'
import { testCertificate } from '../../doubles/test-certificate.ts'
import { describeBeside } from '../peer.ts'
import { cutLine } from './cut-line.ts'
import { type Dovecot, type DovecotPlace, findDovecot, newPlace, startDovecot } from './dovecot.ts'
import { type Reading, readSource } from './reading.ts'

const dovecot = await findDovecot()

describeBeside('a mailbox at Dovecot', dovecot, (files) => {
  let place: DovecotPlace
  let server: Dovecot
  const readings: Reading[] = []

  beforeEach(async () => {
    place = await newPlace()
    server = await startDovecot(files(), place)
  })
  afterEach(async () => {
    for (const reading of readings.splice(0)) await reading.stop()
    await server.stop()
    await rm(place.folder, { recursive: true, force: true })
  })

  const settings = (changes: Partial<ImapSettings> = {}): ImapSettings => ({
    host: '127.0.0.1',
    port: server.port,
    secure: false,
    allowPlain: true,
    user: server.user,
    password: secret(server.password),
    address: 'helper@agents.example',
    firstPauseMs: 50,
    ...changes,
  })
  const read = (changes: Partial<ImapSettings> = {}, cursor?: string, maxBytes = 100_000): Reading => {
    const own = createReceivedMailRegistry()
    const recipientOf = (address: string) =>
      /^helper(?:\+\w+)?@agents\.example$/.test(address) ? ('agent' as const) : ('foreign' as const)
    const source = createImapPoller(settings(changes), { own, recipientOf, maxBytes, now: Date.now })
    const reading = readSource(source, own, cursor)
    readings.push(reading)
    return reading
  }
  /** Somebody else at the same mailbox: delivers, looks, and numbers anew. */
  const visit = async <Value>(work: (client: ImapFlow) => Promise<Value>): Promise<Value> => {
    const { port, user, password } = server
    const auth = { user, pass: password }
    const client = new ImapFlow({ host: '127.0.0.1', port, secure: false, doSTARTTLS: false, auth, logger: false })
    await client.connect()
    try {
      return await work(client)
    } finally {
      await client.logout()
    }
  }
  const mail = (id: string, head = '', body = 'hello'): string =>
    `${head}Received: from mx.example\r\nFrom: ada@example.org\r\nMessage-ID: <${id}@example.org>\r\n\r\n${body}\r\n`
  const deliver = (...mails: readonly string[]): Promise<unknown> =>
    visit(async (client) => {
      for (const each of mails) await client.append('INBOX', each)
    })
  const flagsOf = (mailbox = 'INBOX'): Promise<readonly (readonly string[])[]> =>
    visit(async (client) => {
      const { exists } = await client.mailboxOpen(mailbox, { readOnly: true })
      if (exists === 0) return []
      const all = await client.fetchAll('1:*', { flags: true })
      return all.map(({ flags }) => [...(flags ?? [])].filter((flag) => flag !== '\\Recent'))
    })

  test('takes what comes after it came, while it comes, and marks it after the commit', {
    timeout: 30_000,
  }, async () => {
    await deliver(mail('old'))
    const reading = read()
    await reading.ready()
    await deliver(mail('first'), mail('second'))
    await reading.taken(2)
    expect(reading.ids()).toEqual(['first', 'second'])
    await expect.poll(flagsOf).toEqual([[], ['$Parley'], ['$Parley']])
  })

  test('gives the bytes, the address it was delivered for, and the return path', { timeout: 30_000 }, async () => {
    const tagged = mail('one', 'Return-Path: <ada@example.org>\r\nDelivered-To: helper+tag@agents.example\r\n')
    const forged = `${mail('two').replace('From:', 'Delivered-To: helper+other@agents.example\r\nFrom:')}`
    const reading = read({ startAt: 'all' })
    await deliver(tagged, forged)
    await reading.taken(2)
    expect(reading.mails.map(({ raw }) => Buffer.from(raw).toString())).toEqual([tagged, forged])
    expect(reading.mails.map(({ envelope }) => envelope)).toEqual([
      { mailFrom: 'ada@example.org', rcptTo: ['helper+tag@agents.example'] },
      { mailFrom: undefined, rcptTo: ['helper@agents.example'] },
    ])
  })

  test('goes on where it was, in another process', { timeout: 30_000 }, async () => {
    const first = read({ startAt: 'all' })
    await deliver(mail('1'), mail('2'))
    await first.taken(2)
    await first.stop()
    await deliver(mail('3'))
    const second = read({}, first.cursor())
    await second.taken(1)
    expect(second.ids()).toEqual(['3'])
  })

  test('a mail that was not committed comes again', { timeout: 30_000 }, async () => {
    await deliver(mail('1'), mail('2'))
    const first = read({ startAt: 'all' })
    first.failOn('2')
    await first.ended()
    expect(first.ids()).toEqual(['1', '2'])
    const second = read({}, first.cursor())
    await second.taken(1)
    expect(second.ids()).toEqual(['2'])
    await expect.poll(flagsOf).toEqual([['$Parley'], ['$Parley']])
  })

  test('a mail that nobody can judge does not keep out the others for ever', { timeout: 30_000 }, async () => {
    await deliver(mail('1'))
    const own = createReceivedMailRegistry()
    let clock = Date.parse('2026-11-17T12:00:00Z')
    const deps = { own, recipientOf: () => 'agent' as const, maxBytes: 100_000, now: () => clock }
    const source = createImapPoller(settings({ startAt: 'all' }), deps)
    const lastTries: (boolean | undefined)[] = []
    for (const minutes of [0, 14, 2]) {
      clock += minutes * 60_000
      const stopping = new AbortController()
      for await (const { requests: arrivals } of source(undefined, stopping.signal)) {
        const known = arrivals[0] === undefined ? undefined : own.find(arrivals[0])
        if (known?.kind !== 'mail') continue
        lastTries.push(known.mail.isLastTry)
        break
      }
      stopping.abort()
    }
    expect(lastTries).toEqual([undefined, undefined, true])
  })

  test('connects again after a cut: nothing lost, nothing twice', { timeout: 60_000 }, async () => {
    const reading = read({ startAt: 'all' })
    await deliver(mail('1'))
    await reading.taken(1)
    await server.stop()
    server = await startDovecot(files(), place)
    await deliver(mail('2'), mail('3'))
    await reading.taken(3)
    expect(reading.ids()).toEqual(['1', '2', '3'])
  })

  test('EM-064: a mailbox that is numbered anew is read again from when we came, not from its beginning', {
    timeout: 60_000,
  }, async () => {
    const box = { mailbox: 'Agents' }
    await visit((client) => client.mailboxCreate('Agents'))
    const append = (...mails: readonly [string, Date?][]) =>
      visit(async (client) => {
        for (const [id, at] of mails) await client.append('Agents', mail(id), [], at)
      })
    const first = read(box)
    await first.ready()
    await append(['1'], ['2'])
    await first.taken(2)
    await first.stop()
    await visit((client) => client.mailboxDelete('Agents'))
    // UIDVALIDITY is a time in seconds.
    await new Promise((resolve) => setTimeout(resolve, 1100))
    await visit((client) => client.mailboxCreate('Agents'))
    await append(
      ['ancient', new Date('2020-01-01')],
      ['before us', new Date(Date.now() - 3_600_000)],
      ['1'],
      ['2'],
      ['3'],
    )
    const second = read(box, first.cursor())
    await second.taken(3)
    // 1 and 2 again: accepting them recognises their ids.
    expect(second.ids()).toEqual(['1', '2', '3'])
    expect(JSON.parse(second.cursor() ?? '').validity).not.toBe(JSON.parse(first.cursor() ?? '').validity)
  })

  test('a mail over the limit is not fetched, and passed by', { timeout: 30_000 }, async () => {
    const reading = read({ startAt: 'all' }, undefined, 20_000)
    await deliver(mail('large', '', 'x'.repeat(200_000)), mail('small'))
    await reading.taken(2)
    expect(reading.reasons).toEqual(['mail_too_large', undefined])
    expect(reading.sizes[0]).toBeLessThanOrEqual(65_536)
  })

  test('cut in the middle of a mail it takes nothing of it, and the whole of it afterwards', {
    timeout: 30_000,
  }, async () => {
    await using line = await cutLine(server.port, 30_000)
    const whole = mail('1', '', 'x'.repeat(60_000))
    await deliver(whole, mail('2'))
    const reading = read({ startAt: 'all', port: line.port })
    await reading.taken(2)
    expect(line.cuts()).toBe(1)
    expect(reading.ids()).toEqual(['1', '2'])
    expect(Buffer.from(reading.mails[0]?.raw ?? []).toString()).toBe(whole)
  })

  test('moves what it took where that is asked for', { timeout: 30_000 }, async () => {
    await visit((client) => client.mailboxCreate('Taken'))
    const reading = read({ startAt: 'all', mark: { moveTo: 'Taken' } })
    await deliver(mail('1'))
    await reading.taken(1)
    await expect.poll(async () => [(await flagsOf()).length, (await flagsOf('Taken')).length]).toEqual([0, 1])
    await deliver(mail('2'))
    await reading.taken(2)
    expect(reading.ids()).toEqual(['1', '2'])
  })

  test('speaks TLS from the first byte, and believes only a certificate it knows', { timeout: 30_000 }, async () => {
    const secure = { secure: true, port: server.securePort, startAt: 'all' as const }
    await deliver(mail('1'))
    const reading = read({ ...secure, ca: testCertificate })
    await reading.taken(1)
    const wary = read(secure)
    await expect(
      Promise.race([wary.taken(1), new Promise((resolve) => setTimeout(() => resolve('nothing'), 1500))]),
    ).resolves.toBe('nothing')
  })

  test('demands STARTTLS where nobody allowed a plain line', { timeout: 30_000 }, async () => {
    await deliver(mail('1'))
    const reading = read({ startAt: 'all', allowPlain: false, ca: testCertificate })
    await reading.taken(1)
    expect(server.log()).toMatch(/TLS/)
  })

  test('says by name that the login was refused', { timeout: 30_000 }, async () => {
    // Dovecot waits a moment before it says no.
    const reading = read({ password: secret('wrong') })
    await expect(reading.ended()).resolves.toMatchObject({
      code: 'config_invalid',
      message: expect.stringContaining('EMAIL_IMAP_URL'),
    })
  })
})

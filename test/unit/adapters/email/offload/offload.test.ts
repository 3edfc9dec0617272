// Proofs in threads: they come to what they come to without threads, and a thread that fails a mail makes it come again.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { authenticateMail, selfTestSignatureChecks } from '../../../../../adapters/email/auth/authenticate.ts'
import type { MailChecks } from '../../../../../adapters/email/auth/mail-checks.ts'
import { createResolver } from '../../../../../adapters/email/dns.ts'
import { scanHead } from '../../../../../adapters/email/headers/scan-head.ts'
import { findMimePart, openMimePart } from '../../../../../adapters/email/mime/files.ts'
import { parseMailBody } from '../../../../../adapters/email/mime/parse-body.ts'
import {
  createOffloadedMailChecks,
  createOffloadedPartFinder,
  offloadReadBody,
} from '../../../../../adapters/email/offload/offload.ts'
import type { Offload, OffloadFailure } from '../../../../../src/contract/channel.ts'
import { OffloadError } from '../../../../../src/contract/index.ts'
import { createWorkerPool, type WorkerPool } from '../../../../../src/node/worker-pool.ts'
import { provenMail } from '../../../../doubles/authenticated-mail.ts'
import {
  draftMail,
  type MailZone,
  mailKey,
  receivedMail,
  sealMail,
  senderZone,
  signMail,
} from '../../../../doubles/signed-mails.ts'

const megabyte = 1024 * 1024
let pool: WorkerPool
let library: MailChecks

beforeAll(() => {
  const log = { info() {}, warn() {}, error() {} }
  pool = createWorkerPool({ log }, { threads: 2, deadlineMs: 60_000 })
  library = createOffloadedMailChecks(pool.offload)
})
afterAll(() => pool.close())

const prove = (mail: string, zone: MailZone = senderZone(), settings = {}, by: MailChecks = library) => {
  const received = receivedMail(mail, { clientIp: '192.0.2.1', helo: 'x.example' })
  const resolver = createResolver({ lookup: zone.lookup, now: () => 0 })
  return authenticateMail(received, scanHead(received.raw), { resolver, settings, library: by })
}
const hashed = (): number =>
  pool
    .use()
    .ended.filter(({ job }) => job === 'hashMailBody')
    .reduce((sum, { count }) => sum + count, 0)

const falseSignature = `DKIM-Signature: v=1; a=rsa-sha256; c=relaxed/relaxed; d=sender.example; s=s1;\r\n h=from; bh=${'A'.repeat(43)}=; b=${'A'.repeat(344)}\r\n`

describe('a proof in a thread', () => {
  test('tells a true signature from a broken one', async () => {
    await expect(selfTestSignatureChecks(library)).resolves.toBeUndefined()
  })

  test('comes to what it comes to here, with the same questions', async () => {
    const list = mailKey('rsa-2048', 'list')
    const results = 'list.example; dmarc=pass header.from=sender.example'
    const relayed = (await signMail(draftMail())).replace('Subject: Hello', 'Subject: [list] Hello')
    const mails = [
      draftMail(),
      await signMail(draftMail()),
      (await signMail(draftMail())).replace('Good', 'Bad'),
      await signMail(draftMail(), { bodyLength: 4 }),
      await signMail(draftMail(), { domain: 'evil.example' }),
      await sealMail(relayed, results, { domain: 'list.example', key: list }),
      (await sealMail(relayed, results, { domain: 'list.example', key: list })).replace('Good', 'Bad'),
    ]
    const zone = () =>
      senderZone()
        .txt('s1._domainkey.list.example', list.record)
        .txt('sender.example', 'v=spf1 include:spf.sender.example -all')
        .txt('spf.sender.example', 'v=spf1 ip4:192.0.2.0/24 -all')
    const settings = { trustedSealers: ['list.example'] }
    for (const mail of mails) {
      const [here, there] = [zone(), zone()]
      const envelope = { clientIp: '192.0.2.1', helo: 'x.example' }
      expect(await prove(mail, there, settings)).toEqual(await provenMail(mail, { zone: here, envelope, settings }))
      expect(new Set(there.asked)).toEqual(new Set(here.asked))
    }
  })

  test('hashes no body for a signature that the head refutes', async () => {
    const before = hashed()
    const mail = falseSignature.repeat(10) + draftMail({ body: 'x'.repeat(16 * megabyte) })
    expect(await prove(mail)).toMatchObject({ standing: 'spoofed' })
    expect(hashed()).toBe(before)
  })

  test('hashes a large body for the author’s domain only, and each form of it once', async () => {
    const before = hashed()
    const body = 'x'.repeat(2 * megabyte)
    const canonicalization = 'relaxed/simple'
    const key = mailKey('rsa-2048', 'evil')
    const zone = () => senderZone().txt('s1._domainkey.evil.example', key.record)
    const foreign = await signMail(draftMail({ body }), { domain: 'evil.example', key, canonicalization })
    expect(await prove(foreign, zone())).toMatchObject({
      standing: 'spoofed',
      reasons: expect.arrayContaining(['dkim=fail d=evil.example body_not_hashed']),
    })
    expect(hashed()).toBe(before)
    const both = await signMail(foreign, { canonicalization })
    expect(await prove(both, zone())).toMatchObject({
      standing: 'verified',
      reasons: ['dkim=pass d=sender.example', 'dkim=pass d=evil.example', 'dmarc=pass p=reject'],
    })
    expect(hashed()).toBe(before + 1)
  })

  test('keeps no thread while a name server is silent, and ends in its time', async () => {
    const zone = senderZone().answer('s1._domainkey.sender.example', 'TXT', () => new Promise(() => {}))
    const mail = await signMail(draftMail())
    const late = Array.from({ length: 6 }, () => prove(mail, zone, { deadlineMs: 1500 }))
    expect(await prove(mail)).toMatchObject({ standing: 'verified' })
    for (const each of await Promise.all(late))
      expect(each).toEqual({ kind: 'later', reason: 'authentication_timeout', remedy: 'Send it again later.' })
    expect(pool.use()).toMatchObject({ running: 0, waiting: 0 })
  })
})

describe('a body read in a thread', () => {
  test('says what it says here, and its bytes are still here afterwards', async () => {
    const { raw } = receivedMail(draftMail({ body: 'one\ntwo\n' }))
    const head = scanHead(raw)
    expect(await offloadReadBody(pool.offload, raw, head, [])).toEqual(await parseMailBody(raw, head))
    const uncounted = ['content-type', 'content-transfer-encoding']
    expect(await offloadReadBody(pool.offload, raw, head, uncounted)).toEqual(await parseMailBody(raw, head, uncounted))
    expect(raw.byteLength).toBeGreaterThan(0)
  })
})

describe('a file found in a thread', () => {
  test('is the one that is found here', async () => {
    const head = ['Content-Type: multipart/mixed; boundary=b']
    const body =
      '--b\n\nSee.\n--b\nContent-Type: image/png; name=a.png\nContent-Transfer-Encoding: base64\n\nQUJD\n--b--\n'
    const { raw } = receivedMail(draftMail({ head, body }))
    const find = createOffloadedPartFinder(pool.offload)
    expect(await find(raw, 1, [])).toEqual(await findMimePart(raw, 1, []))
    expect(await find(raw, 1, [])).toMatchObject({ mime: 'image/png', name: 'a.png', size: 3 })
    expect(await find(raw, 2, [])).toBeUndefined()
    const opened = await openMimePart(raw, 1, [], find)
    expect(await new Response(opened?.body as BodyInit).text()).toBe('ABC')
  })
})

describe('a thread that fails a mail', () => {
  const failing =
    (failure: OffloadFailure): Offload =>
    () =>
      Promise.reject(new OffloadError(failure))
  test.each([
    ['busy', 'mail_checks_busy'],
    ['timeout', 'mail_check_timeout'],
    ['crashed', 'mail_check_crashed'],
  ] as const)('%s: it is asked for again (%s)', async (failure, reason) => {
    const later = { kind: 'later', reason, remedy: 'Send it again later.' }
    expect(await prove(draftMail(), senderZone(), {}, createOffloadedMailChecks(failing(failure)))).toEqual(later)
    const { raw } = receivedMail(draftMail())
    expect(await offloadReadBody(failing(failure), raw, scanHead(raw), [])).toEqual(later)
  })
})

describe('a head that costs more than it weighs', () => {
  const signature = (tags: string): string => falseSignature.replace(' h=from;', ` ${tags}`)
  test.each([
    ['ten signatures and one', falseSignature.repeat(11), 'too_many_signatures'],
    ['a signature of many names', signature(`h=from${':x'.repeat(400)};`), 'too_many_signed_fields'],
    ['a signature of many blanks', signature(`h=from; n=${' '.repeat(4000)}x;`), 'signature_too_long'],
    ['a signature of many lines', signature(`h=from; n=${'\r\n '.repeat(1000)}x;`), 'signature_too_long'],
    ['many seals', 'ARC-Seal: i=1; a=rsa-sha256\r\n'.repeat(21), 'too_many_seals'],
  ])('%s is not looked at', async (_, fields, reason) => {
    expect(await prove(fields + draftMail())).toMatchObject({ standing: 'none', reasons: [reason] })
  })

  test('a type of many parameters is not looked at', async () => {
    const type = `Content-Type: text/plain${'; a=b'.repeat(3000)}`
    const mail = falseSignature + draftMail({ head: [type] })
    expect(await prove(mail)).toMatchObject({ standing: 'none', reasons: ['content_type_too_long'] })
  })
})

// Who wrote a mail: what it costs, what is asked, and what is said of it.
import { describe, expect, test } from 'vitest'
import { authenticateMail } from '../../../../../adapters/email/auth/authenticate.ts'
import { authenticateAuthor, defaultAuthSettings } from '../../../../../adapters/email/auth/judge-author.ts'
import { loadMailChecks } from '../../../../../adapters/email/auth/mail-checks.ts'
import { normalizeToCrlf } from '../../../../../adapters/email/dkim/body-hash.ts'
import { createResolver } from '../../../../../adapters/email/dns.ts'
import { scanHead } from '../../../../../adapters/email/headers/scan-head.ts'
import { replayClaimMs } from '../../../../../adapters/email/normalize/mail.ts'
import type { MailProof, MailRefusal } from '../../../../../adapters/email/wire/mail.ts'
import { provenMail } from '../../../../doubles/authenticated-mail.ts'
import { cpuMs } from '../../../../doubles/linear-time.ts'
import {
  costlyKey,
  draftMail,
  mailKey,
  mailZone,
  receivedMail,
  type Signing,
  sealMail,
  senderZone,
  signMail,
} from '../../../../doubles/signed-mails.ts'

const alice = { address: 'alice@sender.example', domain: 'sender.example' }

describe('a proven mail', () => {
  test('asks for its key and its policy, and nothing of where it came from', async () => {
    const zone = senderZone()
    const proof = await provenMail(await signMail(draftMail()), {
      zone,
      envelope: { clientIp: '192.0.2.1', helo: 'x.example' },
    })
    expect(proof).toMatchObject({
      standing: 'verified',
      reasons: ['dkim=pass d=sender.example', 'dmarc=pass p=reject'],
    })
    expect(zone.asked).toEqual(['TXT s1._domainkey.sender.example', 'TXT _dmarc.sender.example', 'TXT _dmarc.example'])
  })

  test('is the same with bare line feeds', async () => {
    const mail = await signMail(draftMail({ body: 'one\ntwo\n\nthree\n' }))
    const [whole, bare] = [await provenMail(mail), await provenMail(mail.replaceAll('\r\n', '\n'))]
    expect(whole).toMatchObject({ standing: 'verified' })
    expect(bare).toEqual(whole)
  })

  test('has a hash that copies share and other mails do not', async () => {
    const hash = async (mail: string, rcptTo = ['agent@parley.example']) => {
      const proof = await provenMail(mail, { envelope: { rcptTo } })
      return 'signatures' in proof ? proof.signatures[0] : undefined
    }
    const mail = await signMail(draftMail())
    expect(await hash(mail)).toMatch(/^s1\._domainkey\.sender\.example [0-9a-f]{64}$/)
    expect(await hash(mail, ['Agent@parley.example'])).toBe(await hash(mail))
    expect(await hash(await signMail(draftMail({ subject: 'other' })))).not.toBe(await hash(mail))
  })

  test('names every signature that could speak for the author, also one whose key cannot be asked for now', async () => {
    const signed = (mail: string, selector: string) =>
      signMail(mail, { selector, key: mailKey('ed25519', selector), algorithm: 'ed25519-sha256' })
    const twice = await signed(await signed(draftMail(), 's2'), 's3')
    const mail = await signMail(twice, { domain: 'relay.example', key: mailKey('rsa-2048', 'evil') })
    const zone = () =>
      ['s2', 's3'].reduce(
        (made, selector) => senderZone(made, { selector, key: mailKey('ed25519', selector), policy: 'p=reject' }),
        mailZone(),
      )
    const names = async (text: string, at = zone()) => {
      const proof = await provenMail(text, { zone: at })
      return 'signatures' in proof ? proof.signatures.map((each) => each.split('.')[0]) : proof
    }
    expect(await names(mail)).toEqual(['s2', 's3'])
    expect(await names(mail, zone().fail('s3._domainkey.sender.example'))).toEqual(['s2', 's3'])
    // One that is not there, or signs something else, may be forged by any server.
    expect(await names(mail, zone().txt('s3._domainkey.sender.example', mailKey('ed25519', 'other').record))).toEqual([
      's2',
    ])
    expect(await names(mail.replace('Good', 'Bad'))).toEqual([])
  })

  test('may have a domain of any script, signed for in that script', async () => {
    const domain = 'xn--bcher-kva.example'
    const zone = senderZone(mailZone(), { domain, policy: 'p=reject' })
    const mail = await signMail(draftMail({ from: 'a@bücher.example' }), { domain: 'bücher.example' })
    expect(await provenMail(mail, { zone })).toMatchObject({ standing: 'verified', author: { address: `a@${domain}` } })
  })

  test('needs one good signature among bad ones', async () => {
    const mail = await signMail(await signMail(draftMail()), {
      domain: 'relay.example',
      key: mailKey('rsa-2048', 'evil'),
    })
    expect(await provenMail(mail)).toMatchObject({
      standing: 'verified',
      keyId: 's1._domainkey.sender.example',
      reasons: ['dkim=fail d=relay.example no_key', 'dkim=pass d=sender.example', 'dmarc=pass p=reject'],
    })
  })

  test('is proven although a stranger’s key cannot be asked for, and waits where its own cannot', async () => {
    const mail = await signMail(await signMail(draftMail()), {
      domain: 'relay.example',
      key: mailKey('rsa-2048', 'evil'),
    })
    expect(await provenMail(mail, { zone: senderZone().fail('s1._domainkey.relay.example') })).toMatchObject({
      standing: 'verified',
    })
    expect(await provenMail(mail, { zone: senderZone().fail('s1._domainkey.sender.example') })).toMatchObject({
      kind: 'later',
    })
  })
})

describe('when a mail was written', () => {
  const dayMs = 86_400_000
  const mailTime = Date.parse('2026-11-17T12:00:00.000Z')
  const onDay = (day: number): string => new Date(mailTime + day * dayMs).toISOString()
  const dated = (day: number) => draftMail({ head: [`Date: ${new Date(onDay(day)).toUTCString()}`] })
  const untimed = { signTime: 'never' } as const

  test('decides nothing where its signature says when that was made', async () => {
    for (const day of [-8, -20_000, 400])
      expect(await provenMail(await signMail(dated(day)))).toMatchObject({ standing: 'verified' })
  })

  test('may be three months from its arrival where no signature says its time, and the sender is told where it is more', async () => {
    for (const day of [-8, -80, 3])
      expect(await provenMail(await signMail(dated(day), untimed))).toMatchObject({ standing: 'verified' })
    for (const day of [-20_000, 400])
      expect(await provenMail(await signMail(dated(day), untimed))).toMatchObject({
        kind: 'refused',
        reason: 'date_too_far',
      })
  })

  test('decides about all signatures as long as one of them does not say its time: a copy may have lost the others', async () => {
    const zone = senderZone(senderZone(), { selector: 's2' })
    const mail = await signMail(await signMail(dated(365), untimed), { selector: 's2' })
    expect(await provenMail(mail, { zone })).toMatchObject({ kind: 'refused', reason: 'date_too_far' })
  })

  test('counts behind a relay only where the author has signed it', async () => {
    const signed = await signMail(draftMail(), { headers: ['from', 'to', 'subject'] })
    const results = 'relay.example; dmarc=pass header.from=sender.example'
    const zone = senderZone(senderZone(), { domain: 'list.example', key: mailKey('rsa-2048', 'list') })
    const proving = { zone, settings: { trustedSealers: ['list.example'] } }
    const proof = await provenMail(await sealMail(`${signed}-- \r\nA list.\r\n`, results, {}), proving)
    expect(proof).toMatchObject({
      standing: 'weak',
      reasons: expect.arrayContaining(['replay_suspected time_not_signed']),
    })
  })

  test('is measured by the day it came to its mailbox, not by the day it is fetched', async () => {
    const mail = receivedMail(await signMail(draftMail()))
    const deps = { resolver: createResolver({ lookup: senderZone().lookup, now: () => 0 }) }
    const fetched = { ...mail, way: 'imap' as const, receivedAt: onDay(12) }
    expect(await authenticateMail(fetched, scanHead(mail.raw), deps)).toMatchObject({ reason: 'signature_too_old' })
    const kept = { ...fetched, mailboxAt: onDay(1) }
    expect(await authenticateMail(kept, scanHead(mail.raw), deps)).toMatchObject({ standing: 'verified' })
  })

  const withoutFirst = (mail: string): string => mail.slice(mail.indexOf('DKIM-Signature:', 10))
  const withoutSecond = (mail: string): string =>
    mail.slice(0, mail.indexOf('DKIM-Signature:', 10)) + mail.slice(mail.search(/^From:/m))
  const isBelieved = (proof: MailProof | MailRefusal | undefined) =>
    proof !== undefined && 'author' in proof && proof.author !== undefined
  const both = async (mail: string, first: Signing, second: Signing) =>
    signMail(await signMail(mail, first), { selector: 's2', ...second })
  const sealed = async (mail: string) =>
    sealMail(`${await signMail(mail)}-- \r\nA list.\r\n`, 'relay.example; dmarc=pass header.from=sender.example', {})
  test.each<[string, () => Promise<string>, (mail: string) => string]>([
    ['says its time', () => signMail(draftMail()), (mail) => mail],
    ['does not say its time', () => signMail(draftMail(), untimed), (mail) => mail],
    ['does not say its time, and is dated ahead', () => signMail(dated(80), untimed), (mail) => mail],
    ['does not say its time, and is dated back', () => signMail(dated(-80), untimed), (mail) => mail],
    ['says its time above one that does not', () => both(dated(60), untimed, {}), withoutFirst],
    ['says its time below one that does not', () => both(dated(60), {}, untimed), withoutSecond],
    ['is sealed by a relay', () => sealed(dated(-30)), (mail) => mail],
  ])('is remembered for longer than a copy of it counts: it %s', async (_, make, copyOf) => {
    const mail = await make()
    const zone = () =>
      senderZone(senderZone(senderZone(), { selector: 's2' }), {
        domain: 'list.example',
        key: mailKey('rsa-2048', 'list'),
      })
    const prove = (text: string, day: number) =>
      provenMail(text, { zone: zone(), receivedAt: onDay(day), settings: { trustedSealers: ['list.example'] } })
    const first = await prove(mail, 0)
    expect(first).toMatchObject({ standing: 'verified' })
    const days = [
      1, 6, 7, 8, 9, 10, 11, 29, 30, 31, 59, 60, 61, 89, 90, 91, 149, 150, 151, 169, 170, 171, 300, 365, 400,
    ]
    const proofs = await Promise.all(days.map((day) => prove(copyOf(mail), day)))
    if ('kind' in first) throw new Error(first.reason)
    const last = days.findLast((_day, at) => isBelieved(proofs[at])) ?? 0
    // A week that the copy may lie in a mailbox before it is fetched, and a day for clocks that differ.
    expect(replayClaimMs(first) / dayMs).toBeGreaterThanOrEqual(last + 7 + 1)
    expect(replayClaimMs(first) / dayMs).toBeLessThan(200)
  })
})

describe('a mail that waits', () => {
  test('has the time it may take, and is asked for again', async () => {
    const zone = senderZone().answer('_dmarc.sender.example', 'TXT', () => new Promise(() => {}))
    const proof = await provenMail(await signMail(draftMail()), { zone, settings: { deadlineMs: 50 } })
    expect(proof).toEqual({ kind: 'later', reason: 'authentication_timeout', remedy: 'Send it again later.' })
  })

  test('waits for SPF only where that could speak for its author', async () => {
    const zone = () => senderZone().fail('sender.example').fail('evil.example')
    const sent = (mailFrom: string) =>
      provenMail(draftMail(), { zone: zone(), envelope: { clientIp: '192.0.2.1', helo: 'x.example', mailFrom } })
    expect(await sent('alice@sender.example')).toMatchObject({ kind: 'later' })
    expect(await sent('m@evil.example')).toMatchObject({ standing: 'spoofed' })
  })

  test('asks too many questions through the records of its domain', async () => {
    const zone = senderZone().txt('sender.example', `v=spf1 ${'mx '.repeat(9)}-all`)
    zone.set(
      'sender.example',
      'MX',
      ...Array.from({ length: 10 }, (_, at) => ({ exchange: `mx${at}.sender.example`, priority: at })),
    )
    const proof = await provenMail(draftMail(), { zone, envelope: { clientIp: '192.0.2.1', helo: 'x.example' } })
    expect(zone.asked.length).toBeLessThanOrEqual(60)
    expect('standing' in proof ? proof.standing : proof.kind).toMatch(/^(later|spoofed)$/)
  })
})

describe('a mail out of a mailbox', () => {
  test('has no SPF, and is proven all the same', async () => {
    expect(await provenMail(draftMail())).toMatchObject({ reasons: expect.arrayContaining(['spf=unknown']) })
    expect(await provenMail(await signMail(draftMail()))).toMatchObject({ standing: 'verified' })
  })
})

describe('a mail to a tag', () => {
  test('names the mailbox, and a mail to the mailbox names no tag', async () => {
    const [tagged, plain] = ['agent+abc@parley.example', 'agent@parley.example']
    const proof = async (to: string, rcptTo: string) =>
      provenMail(await signMail(draftMail({ to })), { envelope: { rcptTo: [rcptTo] } })
    expect(await proof(tagged, plain)).toMatchObject({ standing: 'verified' })
    expect(await proof(tagged, 'other@parley.example')).toMatchObject({ standing: 'weak' })
    expect(await proof(plain, tagged)).toMatchObject({ standing: 'weak' })
  })
})

describe('two readers of one mail', () => {
  test('must have read the same author, or there is none', async () => {
    const { raw, ...rest } = receivedMail(await signMail(draftMail()))
    const mail = { raw, ...rest }
    const head = scanHead(raw)
    const library = await loadMailChecks()
    const dns = () => createResolver({ lookup: senderZone().lookup, now: () => 0 }).forMail()
    const readAs = (headerFrom: readonly string[], fromFields = 1) =>
      authenticateAuthor({ mail, head, from: { ...alice, name: '' }, settings: defaultAuthSettings, dns: dns() }, raw, {
        ...library,
        checkSignatures: async (...args) => ({ ...(await library.checkSignatures(...args)), headerFrom, fromFields }),
      })
    expect(await readAs(['alice@SENDER.example'])).toMatchObject({ standing: 'verified', author: alice })
    for (const others of [
      ['bob@sender.example'],
      ['Alice@sender.example'],
      [],
      ['alice@sender.example', 'b@sender.example'],
    ]) {
      expect(await readAs(others)).toMatchObject({
        standing: 'none',
        author: undefined,
        reasons: ['dkim=pass d=sender.example', 'parser_disagreement'],
      })
    }
    expect(await readAs(['alice@sender.example'], 2)).toMatchObject({ standing: 'none' })
  })
})

describe('line ends', () => {
  test('are mended where they lack a carriage return, and the bytes are not copied where none does', () => {
    const whole = Buffer.from('a\r\nb\r\n')
    expect(normalizeToCrlf(whole)).toBe(whole)
    const mended = normalizeToCrlf(Buffer.from('\na\n\r\n\nb\r\nc'))
    expect(Buffer.from(mended).toString()).toBe('\r\na\r\n\r\n\r\nb\r\nc')
  })
})

describe('a mail that is made to be costly', () => {
  const secondsFor = async (mail: string) => {
    const before = process.cpuUsage()
    await provenMail(mail, { zone: mailZone() })
    const { user, system } = process.cpuUsage(before)
    return (user + system) / 1e6
  }

  test.each([
    ['four million short lines', () => signMail(draftMail()).then((mail) => mail + 'a\n'.repeat(4_000_000))],
    ['a head of folded lines', async () => draftMail({ head: [`X-A: b${'\r\n c'.repeat(4900)}`] })],
    ['a head of fields', async () => draftMail({ head: ['X-A: b\r\n'.repeat(900).trimEnd()] })],
    [
      'ten signatures that name thousands of fields',
      async () => {
        const signature = `DKIM-Signature: v=1; a=rsa-sha256; d=a.example; s=b; h=from:${'x:'.repeat(3900)}; bh=x; b=x`
        return `${`${signature}\r\n`.repeat(10)}${draftMail({ head: ['X: b\r\n'.repeat(900).trimEnd()] })}`
      },
    ],
  ])('%s take seconds at most', async (_, mail) => {
    expect(await secondsFor(await mail())).toBeLessThan(5)
  })

  test('a key whose exponent is as long as its modulus proves nothing, and is not computed with', async () => {
    const key = costlyKey()
    const mail = await signMail(draftMail(), { key })
    expect(await provenMail(mail, { zone: senderZone(mailZone(), { key }) })).toMatchObject({
      standing: 'none',
      reasons: ['dkim=fail d=sender.example invalid_public_key', expect.anything(), 'dmarc=none'],
    })
  })

  test('the work before any signature is checked is little', () => {
    expect(cpuMs(() => normalizeToCrlf(Buffer.alloc(25_000_000, 'a\n')))).toBeLessThan(2000)
  })
})

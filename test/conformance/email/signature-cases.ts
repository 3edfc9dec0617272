// Which signatures and policies count.

import { provenMail } from '../../doubles/authenticated-mail.ts'
import { draftMail, mailKey, mailZone, senderZone, signMail } from '../../doubles/signed-mails.ts'
import type { Case } from '../conform.ts'
import { from, nobody, policy, spoofed, verified } from './authentication-setup.ts'
import { rfc6376, rfc8463 } from './published-mails.ts'

export const signatureCases: readonly Case[] = [
  {
    id: 'EM-001',
    claim: 'an aligned RSA signature under p=reject makes an author',
    run: async () => provenMail(await signMail(draftMail())),
    expected: { ...verified, keyId: 's1._domainkey.sender.example' },
  },
  {
    id: 'EM-002',
    claim: 'so does an aligned Ed25519 signature',
    run: async () => {
      const key = mailKey('ed25519')
      return provenMail(await signMail(draftMail(), { key }), {
        zone: senderZone(mailZone(), { key, policy: 'p=reject' }),
      })
    },
    expected: verified,
  },
  {
    id: 'EM-003',
    claim: 'the samples of RFC 6376 and RFC 8463 pass with their published keys',
    run: async () => [
      await provenMail(rfc6376.mail, rfc6376.proving()),
      await provenMail(rfc8463.mail, rfc8463.proving()),
    ],
    expected: [
      {
        standing: 'verified',
        method: 'email-dkim',
        author: { address: 'joe@football.example.com' },
        keyId: 'brisbane._domainkey.example.com',
      },
      // Written in 2003, signed and handed in in 2018: its signature says when it was new.
      {
        standing: 'verified',
        reasons: ['dkim=pass d=football.example.com', 'dkim=pass d=football.example.com weak_key=1024', 'dmarc=none'],
      },
    ],
  },
  {
    id: 'EM-004',
    claim: 'without a policy an aligned signature is enough',
    run: async () => provenMail(await signMail(draftMail()), { zone: policy() }),
    expected: { ...verified, method: 'email-dkim' },
  },
  {
    id: 'EM-005',
    claim: 'SPF alone proves no author',
    run: () =>
      provenMail(draftMail(), {
        zone: senderZone().txt('sender.example', 'v=spf1 ip4:192.0.2.1 -all'),
        envelope: { clientIp: '192.0.2.1', helo: 'mx.sender.example' },
      }),
    expected: {
      standing: 'weak',
      method: 'email-dmarc',
      author: undefined,
      reasons: ['dkim=none', 'spf=pass d=sender.example', 'dmarc=pass p=reject'],
    },
  },
  {
    id: 'EM-017',
    claim: 'a signature over five bytes says nothing of the rest',
    run: async () => provenMail(`${await signMail(draftMail(), { bodyLength: 5 })}Pay him.\r\n`),
    expected: { standing: 'weak', method: 'email-dkim', author: undefined },
  },
  {
    id: 'EM-018',
    claim:
      'a key of 512 bits and SHA-1 do not count, a key of 1024 bits counts and is called weak unless the operator wants more',
    run: async () => {
      const short = { key: mailKey('rsa-512') }
      const weak = { key: mailKey('rsa-1024') }
      const zoneOf = ({ key }: typeof short) => senderZone(mailZone(), { key, policy: 'p=none' })
      const signedWeakly = await signMail(draftMail(), weak)
      return [
        await provenMail(await signMail(draftMail(), short), { zone: zoneOf(short) }),
        await provenMail(signedWeakly, { zone: zoneOf(weak) }),
        await provenMail(signedWeakly, { zone: zoneOf(weak), settings: { minRsaBits: 2048 } }),
        await provenMail(await signMail(draftMail(), { algorithm: 'rsa-sha1' })),
      ]
    },
    expected: [
      { ...nobody, reasons: ['dkim=fail d=sender.example weak-key', 'spf=unknown', 'dmarc=fail p=none'] },
      { ...verified, reasons: ['dkim=pass d=sender.example weak_key=1024', 'dmarc=pass p=none'] },
      { ...nobody, reasons: ['dkim=fail d=sender.example weak-key', 'spf=unknown', 'dmarc=fail p=none'] },
      { ...spoofed, reasons: ['dkim=fail d=sender.example weak-algorithm', 'spf=unknown', 'dmarc=fail p=reject'] },
    ],
  },
  {
    id: 'EM-019',
    claim: 'a signature that has expired or is of tomorrow does not count',
    run: async () => [
      await provenMail(
        await signMail(draftMail(), { signTime: '2026-11-16T00:00:00Z', expires: '2026-11-17T00:00:00Z' }),
      ),
      await provenMail(await signMail(draftMail(), { signTime: '2026-11-18T00:00:00Z' })),
    ],
    expected: [
      { ...spoofed, reasons: ['dkim=fail d=sender.example expired', 'spf=unknown', 'dmarc=fail p=reject'] },
      {
        ...spoofed,
        reasons: ['dkim=fail d=sender.example signed_in_the_future', 'spf=unknown', 'dmarc=fail p=reject'],
      },
    ],
  },
  {
    id: 'EM-023',
    claim: 'a subject that is not signed does not undo the author, and is told to be unsigned',
    run: async () => {
      const mail = await signMail(draftMail(), {
        headers: ['from', 'to', 'date', 'message-id', 'mime-version', 'content-type'],
      })
      return provenMail(mail.replace('Subject: Hello', 'Subject: Transfer'))
    },
    expected: { ...verified, reasons: ['dkim=pass d=sender.example', 'dmarc=pass p=reject', 'unsigned=subject'] },
  },
  {
    id: 'EM-024',
    claim:
      'signatures with a foreign identity or a name that is none do not count, and their names reach no reason as they are',
    run: async () => {
      const mail = await signMail(draftMail())
      return [
        await provenMail(await signMail(draftMail(), { identity: 'alice@other.example' })),
        await provenMail(mail.replace('d=sender.example', 'd=sender.example("x')),
        await provenMail(mail.replace('s=s1;', 's=s1\0;')),
      ]
    },
    expected: [
      { ...spoofed, reasons: ['dkim=fail d=sender.example domain_mismatch', 'spf=unknown', 'dmarc=fail p=reject'] },
      {
        ...spoofed,
        reasons: ['dkim=fail d=sender.examplex signature_syntax_error', 'spf=unknown', 'dmarc=fail p=reject'],
      },
      { ...nobody, reasons: ['control_bytes'] },
    ],
  },
  {
    id: 'EM-025',
    claim: 'a subdomain signs for the domain unless its policy is strict',
    run: async () => {
      const zoneOf = (adkim: string) =>
        senderZone(policy(`p=reject; adkim=${adkim}`), { domain: 'mail.sender.example', policy: undefined })
      const mail = await signMail(draftMail(), { domain: 'mail.sender.example' })
      return [await provenMail(mail, { zone: zoneOf('s') }), await provenMail(mail, { zone: zoneOf('r') })]
    },
    expected: [spoofed, verified],
  },
  {
    id: 'EM-026',
    claim: 'the policy of an author below a domain is found by walking up, with sp, np, t and psd',
    run: async () => {
      const standingOf = async (text: string, exists: boolean) => {
        const zone = policy(text)
        if (exists) zone.set('news.sender.example', 'A', '192.0.2.7')
        const proof = await provenMail(from('Alice <alice@news.sender.example>'), { zone })
        return 'standing' in proof ? proof.standing : proof.kind
      }
      return [
        await standingOf('p=none; sp=reject', true),
        await standingOf('p=reject; sp=none', true),
        await standingOf('p=none; np=reject', false),
        await standingOf('p=none; np=reject', true),
        await standingOf('p=quarantine; t=y', true),
        await standingOf('p=reject; t=y', true),
        await standingOf('p=reject; psd=y', true),
      ]
    },
    equals: ['spoofed', 'none', 'spoofed', 'none', 'none', 'spoofed', 'spoofed'],
  },
]

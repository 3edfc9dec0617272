// Attacks by signatures, records and policies.
import { draftMail, mailKey, senderZone, signMail } from '../../doubles/signed-mails.ts'
import { type Attack, bothZones, changed, evilKey, evilSigned, genuine, onTop } from './attack.ts'

const many = async (count: number): Promise<string> => {
  const signature = (await genuine()).split('\r\nFrom:')[0] ?? ''
  return `${Array.from({ length: count }, () => signature).join('\r\n')}\r\n${draftMail({ body: 'Pay him.\n' })}`
}
const spf = (record: string, envelope: object) => () => ({
  zone: bothZones().txt('evil.example', record).txt('sender.example', 'v=spf1 -all'),
  envelope: { clientIp: '192.0.2.66', helo: 'mx.evil.example', ...envelope },
})

export const signatureAttacks: readonly Attack[] = [
  { name: 'nothing is signed', mail: () => draftMail(), reason: 'dkim=none' },
  changed('the text was changed', (mail) => mail.replace('Good', 'Bad'), 'body_hash_did_not_verify'),
  changed('text was appended', (mail) => `${mail}Pay him.\r\n`, 'body_hash_did_not_verify'),
  changed('the subject was changed', (mail) => mail.replace('Subject: Hello', 'Subject: Pay'), 'bad_signature'),
  changed('text was appended behind l=', (mail) => `${mail}Pay him.\r\n`, 'dkim=pass d=sender.example l', {
    bodyLength: 15,
  }),
  changed('l=0 covers nothing', (mail) => mail.replace('Good', 'Bad'), 'dkim=pass d=sender.example l', {
    bodyLength: 0,
  }),
  changed('the signature was taken to another selector', (mail) => mail.replace('s=s1', 's=s2'), 'no_key'),
  changed(
    'd= was made to be a list',
    (mail) => mail.replace('d=sender.example', 'd=sender.example,evil.example'),
    'signature_syntax_error',
  ),
  changed(
    'd= has a bracket',
    (mail) => mail.replace('d=sender.example', 'd=sender.example(.evil.example'),
    'dkim=fail',
  ),
  changed(
    'd= has a quote',
    (mail) => mail.replace('d=sender.example', 'd=sender.example".evil.example'),
    'signature_syntax_error',
  ),
  changed(
    'd= stands twice',
    (mail) => mail.replace('d=sender.example', 'd=evil.example; d=sender.example'),
    'signature_syntax_error',
  ),
  changed('From is not signed', (mail) => mail.replace(/:\s+From;/, ';'), 'From_field_not_signed'),
  {
    name: 'the selector leads to the attacker’s zone behind a byte of zero',
    mail: async () =>
      (await evilSigned(draftMail()))
        .replace('s=s1', 's=s1._domainkey.evil.example.\0')
        .replace('d=evil.example', 'd=sender.example'),
    reason: 'control_bytes',
  },
  {
    name: 'the selector leads to the attacker’s zone',
    mail: () => signMail(draftMail(), { selector: 's1._domainkey.evil.example', key: evilKey }),
    reason: 'signature_syntax_error',
  },
  {
    name: 'the attacker’s key signs as the victim',
    mail: () => signMail(draftMail(), { key: evilKey }),
    reason: 'bad_signature',
  },
  {
    name: 'the attacker signs with the victim’s identity',
    mail: () => evilSigned(draftMail(), { identity: 'alice@sender.example' }),
    reason: 'domain_mismatch',
  },
  {
    name: 'an Ed25519 key stands where RSA is said',
    mail: () => genuine(),
    proving: () => ({ zone: bothZones().txt('s1._domainkey.sender.example', mailKey('ed25519').record) }),
    reason: 'inappropriate_key_algorithm',
  },
  {
    name: 'the key is too short',
    mail: () => genuine({ key: mailKey('rsa-512') }),
    proving: () => ({ zone: senderZone(bothZones(), { key: mailKey('rsa-512'), policy: 'p=reject' }) }),
    reason: 'weak-key',
  },
  { name: 'the digest is SHA-1', mail: () => genuine({ algorithm: 'rsa-sha1' }), reason: 'weak-algorithm' },
  {
    name: 'the key was revoked',
    mail: () => genuine(),
    proving: () => ({ zone: bothZones().txt('s1._domainkey.sender.example', 'v=DKIM1; p=') }),
    reason: 'invalid_public_key',
  },
  {
    name: 'the key is on trial',
    mail: () => genuine(),
    proving: () => ({
      zone: bothZones().txt('s1._domainkey.sender.example', mailKey().record.replace('k=rsa', 'k=rsa; t=y')),
    }),
    reason: 'testing_key',
  },
  {
    name: 'the key is not for mail',
    mail: () => genuine(),
    proving: () => ({
      zone: bothZones().txt('s1._domainkey.sender.example', mailKey().record.replace('k=rsa', 'k=rsa; s=tlsrpt')),
    }),
    reason: 'key_not_for_email',
  },
  {
    name: 'the signature has expired',
    mail: () => genuine({ signTime: '2026-11-15T00:00:00Z', expires: '2026-11-16T00:00:00Z' }),
    reason: 'expired',
  },
  {
    name: 'the signature is of tomorrow',
    mail: () => genuine({ signTime: '2026-11-18T00:00:00Z' }),
    reason: 'signed_in_the_future',
  },
  { name: 'eleven signatures ask to be checked', mail: () => many(11), reason: 'too_many_signatures' },
  changed(
    'a signature is ten thousand letters long',
    (mail) => mail.replace('q=dns/txt', `q=dns/txt; z=${'x'.repeat(10_000)}`),
    'signature_too_long',
  ),
  {
    name: 'a subdomain of strangers signs where no policy says that it may',
    mail: () => signMail(draftMail(), { domain: 'guests.sender.example', key: evilKey }),
    proving: () => ({
      zone: senderZone(senderZone(undefined, { policy: undefined }), {
        domain: 'guests.sender.example',
        key: evilKey,
        policy: undefined,
      }),
    }),
    reason: 'dmarc=none',
  },
  {
    name: 'a subdomain signs under strict alignment',
    mail: () => signMail(draftMail(), { domain: 'guests.sender.example', key: evilKey }),
    proving: () => ({
      zone: senderZone(bothZones('p=reject; adkim=s'), {
        domain: 'guests.sender.example',
        key: evilKey,
        policy: undefined,
      }),
    }),
    reason: 'dmarc=fail p=reject',
  },
  {
    name: 'a neighbour under a public suffix signs, and the suffix has a policy',
    mail: () => signMail(draftMail({ from: 'alice@alice.github.io' }), { domain: 'evil.github.io', key: evilKey }),
    proving: () => ({
      zone: senderZone(bothZones(), { domain: 'evil.github.io', key: evilKey, policy: undefined }).txt(
        '_dmarc.github.io',
        'v=DMARC1; p=none',
      ),
    }),
    reason: 'dkim=pass d=evil.github.io',
  },
  {
    name: 'a public suffix signs',
    mail: () => signMail(draftMail({ from: 'alice@sender.co.uk' }), { domain: 'co.uk', key: evilKey }),
    proving: () => ({ zone: senderZone(bothZones(), { domain: 'co.uk', key: evilKey, policy: undefined }) }),
    reason: 'dmarc=none',
  },
  {
    name: 'the envelope passes SPF for the attacker',
    mail: () => draftMail(),
    proving: spf('v=spf1 ip4:192.0.2.66 -all', { mailFrom: 'm@evil.example' }),
    reason: 'spf=pass d=evil.example',
  },
  {
    name: 'the envelope is empty and the greeting is the attacker’s',
    mail: () => draftMail(),
    proving: spf('v=spf1 ip4:192.0.2.66 -all', { mailFrom: '', helo: 'evil.example' }),
    reason: 'spf=pass d=evil.example',
  },
  {
    name: 'the envelope is of a subdomain of the victim that is not there',
    mail: () => draftMail(),
    proving: spf('v=spf1 ip4:192.0.2.66 -all', { mailFrom: 'x@nothing.sender.example' }),
    reason: 'spf=none d=nothing.sender.example',
  },
  {
    name: 'the envelope is a route through the victim',
    mail: () => draftMail(),
    proving: spf('v=spf1 ip4:192.0.2.66 -all', { mailFrom: '<@sender.example,@any.example:m@evil.example>' }),
    reason: 'dmarc=fail p=reject',
  },
  {
    name: 'the victim’s records could not be asked',
    mail: () => evilSigned(draftMail()),
    proving: () => ({ zone: bothZones().fail('_dmarc.sender.example') }),
    reason: 'dns_unknown',
  },
  {
    name: 'the attacker’s own records cannot be asked',
    mail: () => evilSigned(draftMail()),
    proving: () => ({ zone: bothZones().fail('s1._domainkey.evil.example') }),
    reason: 'dmarc=fail p=reject',
  },
  {
    name: 'other filters’ words stand on top',
    mail: async () => onTop('X-DKIM: verified\r\nDMARC-Filter: pass')((await genuine()).replace('Good', 'Bad')),
    reason: 'body_hash_did_not_verify',
  },
]

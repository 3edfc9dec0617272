// Attacks by second fields, by other people's verdicts, by forged chains of relays, and by sending a genuine mail once more.
import { draftMail, mailKey, sealMail, senderZone, signMail } from '../../doubles/signed-mails.ts'
import { type Attack, bothZones, changed, evilKey, evilSigned, genuine, onTop } from './attack.ts'

const passed = 'parley.example; dkim=pass header.d=sender.example; dmarc=pass header.from=sender.example'
const listKey = mailKey('rsa-2048', 'list')
const trusting = () => ({
  zone: senderZone(bothZones(), { domain: 'list.example', key: listKey, policy: undefined }),
  settings: { trustedSealers: ['list.example'] },
})
const sealed =
  (results: string, by: Parameters<typeof sealMail>[2] = { key: listKey }, mail = draftMail()) =>
  () =>
    sealMail(mail, results, by)

export const duplicateAttacks: readonly Attack[] = [
  ['Subject', 'Pay'],
  ['Date', 'Tue, 17 Nov 2026 11:00:00 +0000'],
  ['Message-ID', '<two@sender.example>'],
  ['To', 'other@parley.example'],
  ['MIME-Version', '1.0'],
  ['Content-Type', 'multipart/mixed; boundary=x'],
].map(([name, value]) =>
  changed(`a second ${name} stands on a genuine mail`, onTop(`${name}: ${value}`), 'duplicate_header'),
)

export const verdictAttacks: readonly Attack[] = [
  `Authentication-Results: ${passed}`,
  `Authentication-Results: evil.example; none\r\nAuthentication-Results: ${passed}`,
  `ARC-Authentication-Results: i=1; ${passed}`,
  'Received-SPF: pass (sender.example: 192.0.2.1 is permitted)',
  'X-Original-Authentication-Results: dmarc=pass',
  'Received: from sender.example (192.0.2.1) by parley.example; Tue, 17 Nov 2026 12:00:00 +0000\r\nReturn-Path: <alice@sender.example>',
].map((lines) => ({
  name: `${lines.slice(0, 60)}… is on top`,
  mail: async () => onTop(lines)(await evilSigned(draftMail())),
  reason: 'dmarc=fail p=reject',
}))

export const chainAttacks: readonly Attack[] = [
  {
    name: 'a relay that nobody trusts vouches',
    mail: sealed(passed, { domain: 'evil.example', key: evilKey }),
    proving: trusting,
    reason: 'sealer_not_trusted',
  },
  {
    name: 'the attacker’s key seals as the list',
    mail: sealed(passed, { key: evilKey }),
    proving: trusting,
    reason: 'arc=fail',
  },
  {
    name: 'a sealed mail was changed',
    mail: async () => (await sealed(passed)()).replace('Good', 'Bad'),
    proving: trusting,
    reason: 'arc=fail',
  },
  {
    name: 'what the relay said was changed',
    mail: async () => (await sealed(passed.replace('dmarc=pass', 'dmarc=fail'))()).replace('dmarc=fail', 'dmarc=pass'),
    proving: trusting,
    reason: 'arc=fail',
  },
  {
    name: 'the relay saw it fail',
    mail: sealed(passed.replace('dmarc=pass', 'dmarc=fail')),
    proving: trusting,
    reason: 'no_dmarc_pass_recorded',
  },
  {
    name: 'the relay saw another author',
    mail: sealed(passed.replace('header.from=sender', 'header.from=evil')),
    proving: trusting,
    reason: 'no_dmarc_pass_recorded',
  },
  {
    name: 'the relay quotes a verdict of the attacker’s',
    mail: sealed(
      'list.example; spf=pass smtp.mailfrom="x; dmarc=pass header.from=sender.example"; dmarc=fail header.from=sender.example',
    ),
    proving: trusting,
    reason: 'no_dmarc_pass_recorded',
  },
  {
    name: 'the attacker seals before the list does',
    mail: async () =>
      sealMail(await sealed(passed, { domain: 'evil.example', key: evilKey })(), 'list.example; arc=pass; dmarc=fail', {
        key: listKey,
        cv: 'pass',
      }),
    proving: trusting,
    reason: 'sealer_not_trusted',
  },
  {
    name: 'a seal says that the chain before it failed',
    mail: sealed(passed, { key: listKey, cv: 'fail' }),
    proving: trusting,
    reason: 'arc=fail',
  },
  {
    name: 'the chain has lost its signature',
    mail: async () => (await sealed(passed)()).replace(/ARC-Message-Signature:(?:[^\r]|\r\n[ \t])*\r\n/, ''),
    proving: trusting,
    reason: 'arc=fail',
  },
]

export const replayAttacks: readonly Attack[] = [
  {
    name: 'a genuine mail is sent to an agent it does not name',
    mail: () => genuine(),
    proving: () => ({ envelope: { rcptTo: ['other@parley.example'] } }),
    reason: 'replay_suspected recipient_not_named',
  },
  {
    name: 'one of two agents is not named',
    mail: () => genuine(),
    proving: () => ({ envelope: { rcptTo: ['agent@parley.example', 'other@parley.example'] } }),
    reason: 'replay_suspected recipient_not_named',
  },
  {
    name: 'the agent’s name was put into a To that is not signed',
    mail: async () =>
      (await signMail(draftMail({ to: 'bob@other.example' }), { headers: ['from', 'subject', 'date'] })).replace(
        'bob@other.example',
        'agent@parley.example',
      ),
    reason: 'replay_suspected recipient_not_named',
  },
  {
    name: 'it was signed eight days ago',
    mail: () => genuine(),
    proving: () => ({ receivedAt: '2026-11-25T13:00:00.000Z' }),
    reason: 'signature_too_old',
  },
  {
    name: 'it does not say when it was signed, and was written four months ago',
    mail: () => genuine({ signTime: 'never' }),
    proving: () => ({ receivedAt: '2027-03-17T13:00:00.000Z' }),
    reason: 'date_too_far',
  },
  {
    name: 'neither says when it was signed nor signs its date',
    mail: () => genuine({ signTime: 'never', headers: ['from', 'to', 'subject'] }),
    reason: 'replay_suspected time_not_signed',
  },
  {
    name: 'it was signed eight days ago, and its date is not signed',
    mail: () => genuine({ signTime: '2026-11-09T00:00:00Z', headers: ['from', 'to', 'subject'] }),
    reason: 'signature_too_old',
  },
  {
    name: 'it does not say when it was signed, and is dated in a year',
    mail: () => signMail(draftMail({ head: ['Date: Wed, 17 Nov 2027 12:00:00 +0000'] }), { signTime: 'never' }),
    reason: 'date_too_far',
  },
]

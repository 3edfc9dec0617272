// Email authentication: who is trusted to have written a mail.
import { simpleParser } from 'mailparser'
import PostalMime from 'postal-mime'
import { expect } from 'vitest'
import { selfTestSignatureChecks } from '../../../adapters/email/auth/authenticate.ts'
import { scanHead } from '../../../adapters/email/headers/scan-head.ts'
import { provenMail } from '../../doubles/authenticated-mail.ts'
import { draftMail, mailKey, receivedMail, sealMail, senderZone, signMail } from '../../doubles/signed-mails.ts'
import type { Case } from '../conform.ts'
import {
  after,
  alice,
  byEvil,
  evil,
  from,
  headOf,
  nobody,
  policy,
  signedBy,
  spoofed,
  verified,
} from './authentication-setup.ts'

export const authorCases: readonly Case[] = [
  {
    id: 'EM-006',
    claim: 'another domain’s signature under p=reject is a spoof',
    run: async () => provenMail(await signMail(draftMail(), byEvil), { zone: evil() }),
    expected: { ...spoofed, reasons: ['dkim=pass d=evil.example', 'spf=unknown', 'dmarc=fail p=reject'] },
  },
  {
    id: 'EM-007',
    claim: 'under p=none it is nobody’s',
    run: async () => provenMail(await signMail(draftMail(), byEvil), { zone: evil(policy('p=none')) }),
    expected: { ...nobody, reasons: ['dkim=pass d=evil.example', 'spf=unknown', 'dmarc=fail p=none'] },
  },
  {
    id: 'EM-008',
    claim: 'two From fields have no author, in either order',
    run: async () => {
      const mail = await signMail(from('m@evil.example'), byEvil)
      return [
        await provenMail(after('From: alice@sender.example', mail), { zone: evil() }),
        await provenMail(mail.replace('\r\nTo:', '\r\nFrom: alice@sender.example\r\nTo:'), { zone: evil() }),
      ]
    },
    expected: [
      { ...nobody, reasons: ['multiple_from_fields'] },
      { ...nobody, reasons: ['multiple_from_fields'] },
    ],
  },
  {
    id: 'EM-009',
    claim: 'a From before a blank, behind one, or folded from its colon is a second one',
    run: async () => {
      const mail = await signMail(from('m@evil.example'), byEvil)
      const all = [
        'From : alice@sender.example',
        ' From: alice@sender.example',
        'From\r\n : alice@sender.example',
        'X-Note: a\r\n From: alice@sender.example',
      ]
      return Promise.all(all.map(async (head) => provenMail(after(head, mail), { zone: evil() })))
    },
    expected: Array.from({ length: 4 }, () => ({
      ...nobody,
      reasons: expect.arrayContaining(['multiple_from_fields']),
    })),
  },
  {
    id: 'EM-010',
    claim: 'two authors are none, of two domains or of one',
    run: async () => [
      await signedBy('m@evil.example, alice@sender.example'),
      await signedBy('m@evil.example, n@evil.example'),
    ],
    expected: [
      { ...nobody, reasons: ['multiple_authors'] },
      { ...nobody, reasons: ['multiple_authors'] },
    ],
  },
  {
    id: 'EM-011',
    claim: 'an address in an encoded word is nobody’s',
    run: () => signedBy(`=?utf-8?B?${btoa('<admin@sender.example>')}?=,<second@evil.example>`),
    expected: { ...nobody, reasons: ['multiple_authors'] },
  },
  {
    id: 'EM-012',
    claim: 'an author that is only an encoded word has no address',
    run: async () => {
      const value = `=?utf-8?B?${btoa('<admin@sender.example>')}?=`
      return [headOf(from(value)).from, await signedBy(value)]
    },
    expected: [undefined, { ...nobody, reasons: ['unreadable_from'] }],
  },
  {
    id: 'EM-013',
    claim: 'a name that pretends to be an address, a link or turns around is not shown; the address stays',
    run: () =>
      [
        '"bob@bank.example" <alice@sender.example>',
        '"https://bank.example" <alice@sender.example>',
        '"ecila\u202e" <alice@sender.example>',
        'Alice <alice@sender.example>',
      ].map((value) => headOf(from(value)).from),
    expected: [
      { ...alice, name: '' },
      { ...alice, name: '' },
      { ...alice, name: '' },
      { ...alice, name: 'Alice' },
    ],
  },
  {
    id: 'EM-014',
    claim: 'where an author is read at all, all readers read the same one',
    run: async () => {
      const odd = [
        '<@evil.example,@x.example:alice@sender.example>',
        'alice@sender.example(.evil.example)',
        'alice@(evil)sender.example',
        'm@evil.example\0alice@sender.example',
        '"alice@sender.example"@evil.example',
        '"alice smith"@sender.example',
        'Friends: alice@sender.example;',
        '"Alice \\"A\\" B" <alice@sender.example>',
        'alice@sender.example (Alice)',
        'Alice <alice@SENDER.example>',
      ]
      return Promise.all(odd.map(readers))
    },
    expected: [
      ...Array.from({ length: 5 }, () => ({ ours: undefined })),
      { ours: '"alice smith"@sender.example', theirs: expect.anything() },
      { ours: undefined },
      { ours: 'alice@sender.example', theirs: ['alice@sender.example', 'alice@sender.example'] },
      { ours: 'alice@sender.example', theirs: ['alice@sender.example', 'alice@sender.example'] },
      { ours: 'alice@sender.example', theirs: ['alice@sender.example', 'alice@sender.example'] },
    ],
  },
  {
    id: 'EM-016',
    claim: 'several authors in every spelling have no author',
    run: async () =>
      Promise.all(
        [
          'a@sender.example,b@evil.example',
          'A <a@evil.example>, B <a@evil.example>',
          '"x, y" <a@evil.example>, b@sender.example',
          'a@evil.example,, b@evil.example',
          'g: a@evil.example, b@sender.example;',
        ].map((value) => signedBy(value)),
      ),
    expected: Array.from({ length: 5 }, () => nobody),
  },
  {
    id: 'EM-033',
    claim: 'a domain that only looks the same is shown as it is, and is another',
    run: async () => {
      const { hostname: domain } = new URL('http://ѕender.example')
      const zone = senderZone(senderZone(), { domain, policy: 'p=reject' })
      return provenMail(await signMail(from('alice@ѕender.example'), { domain }), { zone })
    },
    expected: {
      standing: 'verified',
      author: {
        address: expect.stringMatching(/^alice@xn--[a-z0-9-]+\.example$/),
        domain: expect.stringMatching(/^xn--/),
      },
    },
  },
  {
    id: 'EM-034',
    claim: 'the local part is kept as it is written, the domain in small letters',
    run: () => headOf(from('A.Lice@Sender.EXAMPLE')).from,
    expected: { address: 'A.Lice@sender.example', domain: 'sender.example' },
  },
]

async function readers(value: string) {
  const raw = receivedMail(from(value)).raw
  const ours = scanHead(raw).from?.address
  if (ours === undefined) return { ours }
  const parsed = await simpleParser(Buffer.from(raw))
  const postal = await PostalMime.parse(raw)
  return { ours, theirs: [small(parsed.from?.value[0]?.address), small(postal.from?.address)] }
}

const small = (address = '') => address.replace(/@.*$/, (domain) => domain.toLowerCase())

export const transportCases: readonly Case[] = [
  ...(['Subject: Transfer', 'Content-Type: multipart/mixed; boundary=x', 'Reply-To: m@evil.example'] as const).map(
    (head, at): Case => ({
      id: `EM-02${at}`,
      claim: `a second ${head.split(':')[0]} on a signed mail leaves it without an author`,
      run: async () => provenMail(after(head, await signMail(draftMail({ head: ['Reply-To: alice@sender.example'] })))),
      expected: { ...nobody, reasons: ['duplicate_header'], signedHeaders: [] },
    }),
  ),
  {
    id: 'EM-022',
    claim: 'an injected Reply-To is told to be unsigned, and is not the author',
    run: async () => provenMail(after('Reply-To: m@evil.example', await signMail(draftMail()))),
    expected: { ...verified, reasons: ['dkim=pass d=sender.example', 'dmarc=pass p=reject', 'unsigned=reply-to'] },
  },
  {
    id: 'EM-027',
    claim: 'what the name system does not tell is asked again later, and not remembered',
    run: async () => {
      const mail = await signMail(draftMail())
      const zones = ['s1._domainkey.sender.example', '_dmarc.sender.example'].map((name) => senderZone().fail(name))
      return Promise.all(zones.map(async (zone) => provenMail(mail, { zone })))
    },
    expected: [
      { kind: 'later', reason: 'dns_unknown ESERVFAIL_s1._domainkey.sender.example' },
      { kind: 'later', reason: 'dns_unknown ESERVFAIL__dmarc.sender.example' },
    ],
  },
  {
    id: 'EM-028',
    claim: 'records without measure are not read',
    run: async () => {
      const mail = await signMail(draftMail())
      const key = 's1._domainkey.sender.example'
      const record = mailKey().record
      const zones = [
        senderZone().txt(
          key,
          Array.from({ length: 50 }, (_, at) => record.slice(at * 10, at * 10 + 10)),
        ),
        senderZone().txt(key, [record + 'A'.repeat(100_000)]),
        senderZone().answer(key, 'TXT', { kind: 'temporary', reason: 'ELOOP' }),
      ]
      return Promise.all(zones.map(async (zone) => provenMail(mail, { zone })))
    },
    expected: ['ETOOLARGE', 'ETOOLARGE', 'ELOOP'].map((code) => ({
      kind: 'later',
      reason: `dns_unknown ${code}_s1._domainkey.sender.example`,
    })),
  },
  {
    id: 'EM-029',
    claim: 'verdicts that come with a mail are neither believed nor kept',
    run: async () => {
      const mail = after(
        'Authentication-Results: parley.example; dmarc=pass header.from=sender.example; dkim=pass',
        draftMail(),
      )
      return [await provenMail(mail), headOf(mail).fields.map(({ name }) => name)]
    },
    expected: [spoofed, expect.not.arrayContaining(['authentication-results'])],
  },
  {
    id: 'EM-030',
    claim: 'a relay is heard where the operator trusts it, its chain holds, and it saw the author proven',
    run: async () => {
      const listKey = mailKey('rsa-2048', 'list')
      const zone = () => senderZone(senderZone(), { domain: 'list.example', key: listKey, policy: undefined })
      const relayed = (await signMail(draftMail())).replace('Subject: Hello', 'Subject: [list] Hello')
      const seen = 'list.example; dmarc=pass header.from=sender.example'
      const sealed = await sealMail(relayed, seen, { key: listKey })
      const settings = { trustedSealers: ['list.example'] }
      return [
        await provenMail(sealed, { zone: zone() }),
        await provenMail(sealed, { zone: zone(), settings }),
        await provenMail(sealed.replace('Good', 'Bad'), { zone: zone(), settings }),
        await provenMail(await sealMail(relayed, seen.replace('pass', 'fail'), { key: listKey }), {
          zone: zone(),
          settings,
        }),
      ]
    },
    expected: [
      spoofed,
      {
        ...verified,
        keyId: 's1._domainkey.list.example',
        reasons: ['dkim=fail d=sender.example bad_signature', 'arc=pass sealer=list.example'],
      },
      spoofed,
      spoofed,
    ],
  },
  {
    id: 'EM-031',
    claim: 'a mail that a list has changed has no author any more',
    run: async () =>
      provenMail((await signMail(draftMail())).replace('Hello', '[list] Hello'), { zone: policy('p=none') }),
    expected: { ...nobody, reasons: ['dkim=fail d=sender.example bad_signature', 'spf=unknown', 'dmarc=fail p=none'] },
  },
  {
    id: 'EM-032',
    claim: 'a copy that is sent to an agent it does not name is not believed, unless that agent may be unnamed',
    run: async () => {
      const mail = await signMail(draftMail())
      const envelope = { rcptTo: ['other@parley.example'] }
      return [
        await provenMail(mail),
        await provenMail(mail, { envelope }),
        await provenMail(mail, { envelope, settings: { unnamedRecipients: ['Other@parley.example'] } }),
      ]
    },
    expected: [
      verified,
      {
        standing: 'weak',
        author: undefined,
        reasons: expect.arrayContaining(['replay_suspected recipient_not_named']),
      },
      verified,
    ],
  },
  {
    id: 'EM-036',
    claim: 'where the sample does not pass the channel does not start',
    run: async () => {
      const results = [{ status: { result: 'neutral' } }, { status: { result: 'pass' } }]
      await selfTestSignatureChecks()
      await selfTestSignatureChecks({ checkSignatures: async () => ({ headerFrom: [], fromFields: 1, results }) }).then(
        () => expect.unreachable('it started'),
        (error: unknown) =>
          expect(error).toMatchObject({
            code: 'config_invalid',
            message: expect.stringContaining('cannot check signatures'),
          }),
      )
    },
  },
]

export const messageCases: readonly Case[] = [
  {
    id: 'EM-01',
    claim: 'a proven author has the method email-dmarc',
    run: async () => provenMail(await signMail(draftMail())),
    expected: verified,
  },
  {
    id: 'EM-02',
    claim: 'a signature that is not the author’s proves nothing',
    run: async () => provenMail(await signMail(draftMail(), byEvil), { zone: evil(policy()) }),
    expected: nobody,
  },
  {
    id: 'EM-03',
    claim: 'a verdict in our name from outside is removed',
    run: () =>
      headOf(after('Authentication-Results: parley.example; dmarc=pass', draftMail())).fields.filter(({ name }) =>
        name.includes('results'),
      ),
    equals: [],
  },
  {
    id: 'EM-04',
    claim: 'a signature with l= is not used, even over all of the body',
    run: async () => provenMail(await signMail(draftMail(), { bodyLength: 15 })),
    expected: { standing: 'weak', author: undefined, method: 'email-dkim' },
  },
  {
    id: 'EM-05',
    claim: 'two authors are none',
    run: () => signedBy('a@evil.example, b@evil.example'),
    expected: nobody,
  },
]

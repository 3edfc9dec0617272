// Attacks by what stands in From, and by a second From (espoofer's server and client cases among them).
import { bytesOf, draftMail } from '../../doubles/signed-mails.ts'
import { type Attack, evilSigned, fromField } from './attack.ts'

const word = (text: string): string => `=?utf-8?B?${Buffer.from(text).toString('base64')}?=`
const evil = 'm@evil.example'

/** Beside the attacker's own From, in the attacker's signed mail. */
const beside = (name: string, put: (mail: string) => string, reason: string): Attack => ({
  name,
  mail: async () => put(await evilSigned(draftMail({ from: evil }))),
  reason,
})
const above = (lines: string) => (mail: string) => `${lines}\r\n${mail}`
const below = (lines: string) => (mail: string) => mail.replace('\r\nTo:', `\r\n${lines}\r\nTo:`)

export const authorAttacks: readonly Attack[] = [
  fromField('alice@sender.example', 'dmarc=fail p=reject'),
  fromField('"alice@sender.example" <m@evil.example>', 'dkim=pass d=evil.example', evil),
  fromField(`${word('alice@sender.example')} <m@evil.example>`, 'dkim=pass d=evil.example', evil),
  fromField('alice@sender.example <m@evil.example>', 'unreadable_from'),
  fromField('<alice@sender.example> <m@evil.example>', 'unreadable_from'),
  fromField('<m@evil.example> <alice@sender.example>', 'unreadable_from'),
  fromField('<alice@sender.example>m@evil.example', 'unreadable_from'),
  fromField('m@evil.example, alice@sender.example', 'multiple_authors'),
  fromField('alice@sender.example, m@evil.example', 'multiple_authors'),
  fromField('alice@sender.example,<m@evil.example>', 'multiple_authors'),
  fromField('<alice@sender.example>\\,<m@evil.example>', 'multiple_authors'),
  fromField('<@evil.example,@any.example:alice@sender.example>', 'unreadable_from'),
  fromField('<@sender.example:m@evil.example>', 'unreadable_from'),
  fromField(`${word('<alice@sender.example>')},<m@evil.example>`, 'multiple_authors'),
  fromField(`${word('<alice@sender.example>')}`, 'unreadable_from'),
  fromField(`<${word('alice@sender.example')}@evil.example>`, 'unreadable_from'),
  fromField(`${word('alice')}@sender.example`, 'unreadable_from'),
  fromField('<alice@sender.example', 'unreadable_from'),
  fromField('alice@sender.example>', 'unreadable_from'),
  fromField('"alice@sender.example <m@evil.example>', 'unreadable_from'),
  fromField('(alice@sender.example <m@evil.example>', 'unreadable_from'),
  fromField('alice@sender.example(.evil.example)', 'unreadable_from'),
  fromField('alice(@evil.example)@sender.example', 'unreadable_from'),
  fromField('alice@sender.example@evil.example', 'unreadable_from'),
  fromField('"alice@sender.example"@evil.example', 'unreadable_from'),
  fromField('"alice@sender.example\\0"@evil.example', 'unreadable_from'),
  fromField('alice@[sender.example]', 'unreadable_from'),
  fromField('alice@sender.example.', 'unreadable_from'),
  fromField('alice@sender.example;', 'unreadable_from'),
  fromField('Friends: alice@sender.example;', 'unreadable_from'),
  fromField('Friends:;', 'unreadable_from'),
  fromField('alice@sender.example m@evil.example', 'unreadable_from'),
  fromField('alice @ sender.example', 'unreadable_from'),
  fromField('', 'no_from'),
  fromField('undisclosed', 'unreadable_from'),
  fromField(`${'x'.repeat(5000)} <m@evil.example>`, 'unreadable_from'),
  // Looks alike: the address shown is the attacker's own, and no name of the victim.
  fromField('alice@ѕender.example', 'dmarc=none'),
  fromField('alice@sеnder.example', 'dmarc=none'),
  fromField('alice@ｓｅｎｄｅｒ.example', 'unreadable_from'),
  fromField('alice@sender\u3002example', 'unreadable_from'),
  fromField('alice@sen\u00adder.example', 'unreadable_from'),
  fromField('ali\u200bce@sender.example', 'unreadable_from'),
  fromField('alice@sender.example.evil.example', 'dkim=pass d=evil.example', 'alice@sender.example.evil.example'),
  fromField('alice@sender-example.evil.example', 'dkim=pass d=evil.example', 'alice@sender-example.evil.example'),
]

export const fieldAttacks: readonly Attack[] = [
  beside('a second From stands on top', above('From: alice@sender.example'), 'multiple_from_fields'),
  beside('a second From stands below', below('From: alice@sender.example'), 'multiple_from_fields'),
  beside('a second From is written in capitals', above('FROM: alice@sender.example'), 'multiple_from_fields'),
  beside('a From has a blank before its colon', above('From : alice@sender.example'), 'multiple_from_fields'),
  beside('a From has a tab before its colon', below('From\t: alice@sender.example'), 'multiple_from_fields'),
  beside('a From begins with a blank, at the beginning', above(' From: alice@sender.example'), 'multiple_from_fields'),
  beside(
    'a From begins with a tab, behind a field',
    below('X-A: b\r\n\tFrom: alice@sender.example'),
    'multiple_from_fields',
  ),
  beside('a From is folded before its colon', above('From\r\n : alice@sender.example'), 'multiple_from_fields'),
  beside('a From begins with a byte of zero', above('\0From: alice@sender.example'), 'malformed_line'),
  beside(
    'a From begins with a blank of another script',
    above(bytesOf('\u00a0From: alice@sender.example')),
    'malformed_line',
  ),
  beside('a From follows a mark of byte order', above(bytesOf('\ufeffFrom: alice@sender.example')), 'malformed_line'),
  beside('a From has an invisible letter', above(bytesOf('Fr\u200bom: alice@sender.example')), 'malformed_line'),
  beside('a From stands behind a lone carriage return', above('X-A: b\rFrom: alice@sender.example'), 'control_bytes'),
  beside('a From stands behind a lone line feed', above('X-A: b\nFrom: alice@sender.example'), 'multiple_from_fields'),
  beside(
    'a line that is no field stands before a From',
    above('nonsense\r\nFrom: alice@sender.example'),
    'malformed_line',
  ),
  beside(
    'a line of a mailbox file names the victim',
    above('From alice@sender.example Tue Nov 17 12:00:00 2026'),
    'malformed_line',
  ),
  beside(
    'a byte of zero cuts the author in two',
    (mail) => mail.replace('m@evil.example', 'm@evil.example\0alice@sender.example'),
    'control_bytes',
  ),
  beside('Sender is the victim', below('Sender: alice@sender.example'), 'dkim=pass d=evil.example'),
  beside(
    'two Senders name the victim',
    below('Sender: m@evil.example\r\nSender: alice@sender.example'),
    'duplicate_header',
  ),
  beside(
    'Resent-From and X-Original-From are the victim',
    below('Resent-From: alice@sender.example\r\nX-Original-From: alice@sender.example'),
    'dkim=pass d=evil.example',
  ),
].map((attack) => (attack.reason === 'dkim=pass d=evil.example' ? { ...attack, by: evil } : attack))

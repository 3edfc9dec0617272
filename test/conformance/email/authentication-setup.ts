// Outcomes and mails that the authentication cases share.
import { scanHead } from '../../../adapters/email/headers/scan-head.ts'
import { type Proving, provenMail } from '../../doubles/authenticated-mail.ts'
import { draftMail, mailKey, mailZone, receivedMail, senderZone, signMail } from '../../doubles/signed-mails.ts'

export const alice = { address: 'alice@sender.example' }
export const verified = { standing: 'verified', method: 'email-dmarc', author: alice }
export const nobody = { standing: 'none', method: 'none', author: undefined }
export const spoofed = { standing: 'spoofed', method: 'none', author: undefined }
export const policy = (text?: string) => senderZone(mailZone(), { policy: text })
export const evil = (zone = senderZone()) =>
  senderZone(zone, { domain: 'evil.example', key: mailKey('rsa-2048', 'evil'), policy: 'p=none' })
export const byEvil = { domain: 'evil.example', key: mailKey('rsa-2048', 'evil') }
export const after = (head: string, mail: string) => `${head}\r\n${mail}`
export const headOf = (mail: string) => scanHead(receivedMail(mail).raw)
export const from = (value: string) => draftMail({ from: value })
export const signedBy = async (value: string, proving: Proving = {}) =>
  provenMail(await signMail(from(value), byEvil), { zone: evil(), ...proving })

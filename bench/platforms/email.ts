// Mails as mail programs send them: 10 KB, words and the same as a page, each with an id and a signature of its own, by several
// people at several domains.
import { generateKeyPairSync } from 'node:crypto'
import { dkimSign } from 'mailauth/lib/dkim/sign.js'
import { scene } from './http-request.ts'

/** TXT records by name. */
export type Zone = Readonly<Record<string, string>>

export const emailAccount = { domain: 'agents.bench.example', agent: 'bench' } as const

type Signer = { readonly domain: string; readonly privateKey: string; readonly record: string }

const selector = 's1'
const domains = 8
const signers: Signer[] = []

/** Keys are made by the driver only, when they are first asked for. */
function signersOf(): readonly Signer[] {
  while (signers.length < domains) {
    const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
    signers.push({
      domain: `people-${signers.length}.example`,
      privateKey: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
      record: `v=DKIM1; k=rsa; p=${publicKey.export({ type: 'spki', format: 'der' }).toString('base64')}`,
    })
  }
  return signers
}

/** What the name system says of everybody who signs. */
export function emailZone(): Zone {
  const records = signersOf().flatMap(({ domain, record }) => [
    [`${selector}._domainkey.${domain}`, record],
    [`_dmarc.${domain}`, 'v=DMARC1; p=reject'],
    [domain, 'v=spf1 ip4:127.0.0.1 -all'],
  ])
  return Object.fromEntries(records)
}

const signed: Buffer[] = []
const given = new Map<string, number>()

/**
 * Signing costs more than checking, so every subject is sent the same mails in the same order, each mail once. A request is what is
 * said up to DATA, and then the mail.
 */
export async function emailRequests(subject: string, count: number): Promise<readonly Buffer[]> {
  const first = given.get(subject) ?? 0
  given.set(subject, first + count)
  while (signed.length < first + count) signed.push(await signedMail(signed.length))
  return signed.slice(first, first + count)
}

async function signedMail(index: number): Promise<Buffer> {
  const all = signersOf()
  const signer = all[index % all.length]
  if (signer === undefined) throw new Error('nobody signs')
  const { domain, privateKey } = signer
  const from = `person-${scene(index).person}@${domain}`
  const to = `${emailAccount.agent}@${emailAccount.domain}`
  const mail = Buffer.from(draft(index, from, to))
  const signatureData = [{ signingDomain: domain, selector, privateKey }]
  const { signatures } = await dkimSign(mail, { signatureData } as unknown as Parameters<typeof dkimSign>[1])
  const envelope = `MAIL FROM:<${from}>\r\nRCPT TO:<${to}>\r\nDATA\r\n`
  return Buffer.concat([Buffer.from(envelope + signatures), mail, Buffer.from('.\r\n')])
}

const paragraphs = 7

/** No line of it begins with a dot. */
function draft(index: number, from: string, to: string): string {
  const { text } = scene(index)
  const plain = quoted(`${`${text}\r\n\r\n`.repeat(paragraphs)}-- \r\nA person, Lamps and more\r\n`)
  const shown = `<p style="margin:0 0 12px 0;font-family:Arial,Helvetica,sans-serif;font-size:14px;color:#222222;line-height:1.5">${text}</p>`
  const page = quoted(
    `<html><head><meta charset="utf-8"></head><body bgcolor="#ffffff"><div style="max-width:640px;margin:0 auto;padding:16px;background-color:#ffffff">\r\n${`${shown}\r\n`.repeat(paragraphs)}<p>-- <br>A person, <b>Lamps and more</b></p></div></body></html>\r\n`,
  )
  const unique = `${index}.${Date.now()}`
  return [
    `Received: from out.${from.split('@')[1]} ([127.0.0.1]) by mx.bench.example with ESMTPS id ${unique}; ${new Date().toUTCString()}`,
    `From: "A person" <${from}>`,
    `To: <${to}>`,
    `Subject: The order of last week (${index})`,
    `Date: ${new Date().toUTCString().replace('GMT', '+0000')}`,
    `Message-ID: <${unique}@${from.split('@')[1]}>`,
    'MIME-Version: 1.0',
    'User-Agent: A mail program 128.0',
    'Content-Language: en-GB',
    'Content-Type: multipart/alternative; boundary="=_bench_boundary"',
    '',
    'This is a mail in two versions.',
    '--=_bench_boundary',
    ...part('text/plain', plain),
    '--=_bench_boundary',
    ...part('text/html', page),
    '--=_bench_boundary--',
    '',
  ].join('\r\n')
}

function part(type: string, body: string): readonly string[] {
  return [`Content-Type: ${type}; charset=utf-8`, 'Content-Transfer-Encoding: quoted-printable', '', body]
}

/** Quoted-printable in lines of at most 76, as mail programs write it. */
function quoted(text: string): string {
  const lines = Buffer.from(text)
    .toString('latin1')
    .replace(
      /[^\r\n\x20-\x3c\x3e-\x7e]/g,
      (sign) => `=${sign.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
    )
    .split('\r\n')
  return lines.map((line) => (line.match(/.{1,70}(?:=..)?/g) ?? ['']).join('=\r\n')).join('\r\n')
}

// Mails with real signatures, and a zone of the name system that stands for the domains that sign them.
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { sealMessage } from 'mailauth/lib/arc/index.js'
import { dkimSign } from 'mailauth/lib/dkim/sign.js'
import type { Answer, DnsRecord, Lookup, RecordType } from '../../adapters/email/dns.ts'
import type { Envelope, ReceivedMail } from '../../adapters/email/wire/mail.ts'

/** When every mail here is written, signed and received, unless it says otherwise. */
const mailTime = '2026-11-17T12:00:00.000Z'

export type KeyKind = 'rsa-512' | 'rsa-1024' | 'rsa-2048' | 'ed25519'

export type MailKey = {
  readonly privateKey: string
  /** The text of its record in the name system. */
  readonly record: string
}

const keys = new Map<string, MailKey>()

/** One key for each kind and name in a process: making an RSA key takes longer than most tests. */
export function mailKey(kind: KeyKind = 'rsa-2048', name = ''): MailKey {
  const known = keys.get(`${kind} ${name}`)
  if (known !== undefined) return known
  const made = makeKey(kind)
  keys.set(`${kind} ${name}`, made)
  return made
}

function makeKey(kind: KeyKind): MailKey {
  if (kind === 'ed25519') {
    const { privateKey, publicKey } = generateKeyPairSync('ed25519')
    return {
      privateKey: pem(privateKey),
      record: `v=DKIM1; k=ed25519; p=${der(publicKey).subarray(-32).toString('base64')}`,
    }
  }
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: Number(kind.slice(4)) })
  return { privateKey: pem(privateKey), record: `v=DKIM1; k=rsa; p=${der(publicKey).toString('base64')}` }
}

/** A key whose public exponent is as long as its modulus: the two exponents of a usual key, changed for each other. */
export function costlyKey(bits = 2048): MailKey {
  const usual = generateKeyPairSync('rsa', { modulusLength: bits }).privateKey.export({ format: 'jwk' })
  const { d = '', e = '' } = usual
  const key = { ...usual, e: d, d: e, dp: e, dq: e }
  const privateKey = createPrivateKey({ key, format: 'jwk' })
  const record = `v=DKIM1; k=rsa; p=${der(createPublicKey(privateKey)).toString('base64')}`
  return { privateKey: pem(privateKey), record }
}

const pem = (key: KeyObject): string => key.export({ type: 'pkcs8', format: 'pem' }).toString()
const der = (key: KeyObject): Buffer => key.export({ type: 'spki', format: 'der' })

/** A zone: what it does not hold is not there. */
export type MailZone = {
  /** TXT records; a list is one record in chunks. */
  readonly txt: (name: string, ...records: readonly (string | readonly string[])[]) => MailZone
  readonly set: (name: string, type: RecordType, ...records: readonly DnsRecord[]) => MailZone
  /** From now on nobody knows what is there. */
  readonly fail: (name: string, reason?: string) => MailZone
  readonly answer: (name: string, type: RecordType, answer: Answer | (() => Promise<Answer>)) => MailZone
  readonly lookup: Lookup
  /** `TYPE name`, in the order they were asked. */
  readonly asked: string[]
}

const hourMs = 3_600_000

export function mailZone(): MailZone {
  const answers = new Map<string, Answer | (() => Promise<Answer>)>()
  const asked: string[] = []
  const keyOf = (name: string, type: string): string => `${type} ${name.toLowerCase()}`
  const zone: MailZone = {
    asked,
    txt: (name, ...records) =>
      zone.set(name, 'TXT', ...records.map((each) => (typeof each === 'string' ? chunksOf(each) : each))),
    set: (name, type, ...records) => zone.answer(name, type, { kind: 'records', records, ttlMs: hourMs }),
    fail: (name, reason = 'ESERVFAIL') => {
      for (const type of ['TXT', 'A', 'AAAA', 'MX', 'CNAME'] as const)
        zone.answer(name, type, { kind: 'temporary', reason })
      return zone
    },
    answer: (name, type, answer) => {
      answers.set(keyOf(name, type), answer)
      return zone
    },
    lookup: async (name, type) => {
      asked.push(keyOf(name, type))
      const found = answers.get(keyOf(name, type))
      if (found !== undefined) return typeof found === 'function' ? found() : found
      const isNameKnown = [...answers.keys()].some((key) => key.endsWith(` ${name.toLowerCase()}`))
      return { kind: 'none', isNameKnown, ttlMs: hourMs }
    },
  }
  return zone
}

/** As a server cuts long text. */
const chunksOf = (text: string): readonly string[] => text.match(/.{1,255}/gs) ?? ['']

export type Draft = {
  /** Header lines as they stand in the mail, without line ends; they replace the usual ones of the same name. */
  readonly head?: readonly string[]
  readonly from?: string
  readonly to?: string
  readonly subject?: string
  readonly body?: string
}

/** An unsigned mail as a string of bytes (one character each), lines ended by CRLF. So are all mails here until they are received. */
export function draftMail({ head = [], from = 'Alice <alice@sender.example>', to, subject, body }: Draft = {}): string {
  const usual = [
    `From: ${from}`,
    `To: ${to ?? 'agent@parley.example'}`,
    `Subject: ${subject ?? 'Hello'}`,
    `Date: ${new Date(mailTime).toUTCString().replace('GMT', '+0000')}`,
    'Message-ID: <one@sender.example>',
    'MIME-Version: 1.0',
    'Content-Type: text/plain; charset=utf-8',
  ]
  const given = new Set(head.map(nameOf))
  const lines = [...usual.filter((line) => !given.has(nameOf(line))), ...head]
  return bytesOf(`${lines.join('\r\n')}\r\n\r\n${(body ?? 'Good morning.\n').replaceAll(/\r?\n/g, '\r\n')}`)
}

/** Text in UTF-8, one character for each byte. */
export const bytesOf = (text: string): string => Buffer.from(text, 'utf8').toString('latin1')

const nameOf = (line: string): string => line.slice(0, line.indexOf(':')).trim().toLowerCase()

export type Signing = {
  readonly domain?: string
  readonly selector?: string
  readonly key?: MailKey
  readonly algorithm?: 'rsa-sha256' | 'rsa-sha1' | 'ed25519-sha256'
  readonly canonicalization?: string
  /** Header names that are signed; as mailauth chooses where absent. */
  readonly headers?: readonly string[]
  /** `l=`. */
  readonly bodyLength?: number
  /** `never`: without `t=`, as Exim, nodemailer and Exchange Online sign. */
  readonly signTime?: string
  readonly expires?: string
  readonly identity?: string
}

/** The mail with one more DKIM signature on top. */
export async function signMail(mail: string, signing: Signing = {}): Promise<string> {
  const made = await dkimSign(Buffer.from(mail, 'latin1'), {
    // What no t= can say is left out.
    signTime: signing.signTime === 'never' ? new Date(-1000) : new Date(signing.signTime ?? mailTime),
    ...(signing.expires === undefined ? {} : { expires: new Date(signing.expires) }),
    signatureData: [
      {
        signingDomain: signing.domain ?? 'sender.example',
        selector: signing.selector ?? 's1',
        privateKey: (signing.key ?? mailKey()).privateKey,
        ...(signing.algorithm === undefined ? {} : { algorithm: signing.algorithm }),
        ...(signing.canonicalization === undefined ? {} : { canonicalization: signing.canonicalization }),
        ...(signing.headers === undefined ? {} : { headerList: [...signing.headers] }),
        ...(signing.bodyLength === undefined ? {} : { maxBodyLength: signing.bodyLength }),
        ...(signing.identity === undefined ? {} : { identity: signing.identity }),
      },
    ],
  } as Parameters<typeof dkimSign>[1])
  if (made.signatures === '') throw new Error(`not signed: ${JSON.stringify(made.errors)}`)
  return made.signatures + mail
}

/** The mail with one more ARC set on top, in which a relay says what it found. */
export async function sealMail(
  mail: string,
  results: string,
  by: Signing & { readonly cv?: 'none' | 'pass' | 'fail' },
): Promise<string> {
  const headers = await sealMessage(Buffer.from(mail, 'latin1'), {
    signingDomain: by.domain ?? 'list.example',
    selector: by.selector ?? 's1',
    privateKey: (by.key ?? mailKey('rsa-2048', 'list')).privateKey,
    authResults: results,
    cv: by.cv ?? 'none',
    signTime: new Date(by.signTime ?? mailTime),
  })
  return headers.toString('latin1') + mail
}

/** As it reaches the gateway. */
export function receivedMail(mail: string, envelope: Partial<Envelope> = {}): ReceivedMail {
  return {
    way: 'smtp',
    raw: Buffer.from(mail, 'latin1'),
    envelope: { mailFrom: 'alice@sender.example', rcptTo: ['agent@parley.example'], ...envelope },
    receivedAt: mailTime,
  }
}

/** Zone of a domain that signs with `key` under `selector` and publishes `policy` (`undefined`: none). */
export function senderZone(
  zone: MailZone = mailZone(),
  {
    domain = 'sender.example',
    selector = 's1',
    key = mailKey(),
    policy,
  }: { domain?: string; selector?: string; key?: MailKey; policy?: string | undefined } = { policy: 'p=reject' },
): MailZone {
  zone.txt(`${selector}._domainkey.${domain}`, key.record)
  if (policy !== undefined) zone.txt(`_dmarc.${domain}`, `v=DMARC1; ${policy}`)
  return zone
}

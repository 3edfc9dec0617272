// Ada and her five mail programs: each answers in its own way, drops what it does not care for, and quotes as it likes. Every mail is
// signed by her domain, with all fields that her program wrote.
import { draftMail, mailKey, signMail } from '../../doubles/signed-mails.ts'

export const ada = 'ada@people.example'
const agent = 'desk@agents.example'

/** What a program keeps of the mail it answers. */
export type Fetched = {
  readonly messageId: string
  readonly replyTo: string
  readonly subject: string
  readonly text: string
}

export type Letter = { readonly id: string; readonly to: string; readonly mail: string }

export type File = { readonly name: string; readonly mime: string; readonly bytes: Buffer }

type Written = { readonly to: string; readonly head: readonly string[]; readonly body: string }

export type Program = (fetched: Fetched, words: string) => Written

/** Of Outlook: one root of 22 bytes, and five bytes more for each answer. */
const indexOf = (answers: number): string =>
  Buffer.concat([Buffer.alloc(22, 7), ...Array.from({ length: answers }, (_, at) => Buffer.alloc(5, at + 1))]).toString(
    'base64',
  )
const wrapped = (text: string, columns: number): string =>
  text.replaceAll(/\s+/g, ' ').replaceAll(new RegExp(`(.{1,${columns}})(?: |$)`, 'g'), '$1\n')

/** Above, without marks at the lines, without References. */
export const outlook: Program = (fetched, words) => ({
  to: fetched.replyTo,
  head: [
    `In-Reply-To: <${fetched.messageId}>`,
    'Thread-Topic: Lamps',
    `Thread-Index: ${indexOf(1)}`,
    `Subject: RE: ${fetched.subject}`,
  ],
  body: `${words}\n\n________________________________\nFrom: desk <${agent}>\nSent: Tuesday, November 17, 2026 12:00 PM\nTo: Ada <${ada}>\nSubject: ${fetched.subject}\n\n${wrapped(fetched.text, 60)}\n`,
})

/** Names no other mail at all; its address book writes in capitals, and its lines are broken a second time after they were quoted. */
export const german: Program = (fetched, words) => ({
  to: fetched.replyTo.toUpperCase(),
  head: ['Subject: AW: Lampen'],
  body: `${words}\n\nAm Di., 17. Nov. 2026 um 12:00 Uhr schrieb desk <\n${agent}>:\n${wrapped(fetched.text, 70)
    .trim()
    .split('\n')
    .map((line) => `> ${wrapped(line, 30).trim()}`)
    .join('\n')}\n`,
})

/** To the address that everybody knows, under another subject: only Outlook's index is left. */
export const indexOnly: Program = (fetched, words) => ({
  to: agent,
  head: ['Subject: Tout autre chose', `Thread-Index: ${indexOf(3)}`],
  body: `${words}\n\nLe mar. 17 nov. 2026 à 12:00, desk <${agent}>\na écrit :\n\n${fetched.text.replaceAll(/^/gm, '> ')}\n`,
})

/** Quotes first and answers below; an id nobody knows stands before ours, on a line of its own. */
export const below: Program = (fetched, words) => ({
  to: agent,
  head: ['Subject: (no subject)', `References: <somebody@elsewhere.example>\r\n\t<${fetched.messageId}>`],
  body: `On 11/17/2026 12:00 PM, desk wrote:\n${fetched.text.replaceAll(/^/gm, '> ')}\n\n${words}\n`,
})

/** To a mailbox at a provider; a program that does as it should. */
export const toProvider: Program = (fetched, words) => ({
  to: 'desk@provider.example',
  head: ['Subject: Lamps', ...(fetched.messageId === '' ? [] : [`In-Reply-To: <${fetched.messageId}>`])],
  body: `${words}\n`,
})

/** Not an answer: the first mail. */
export const fresh: Program = (_fetched, words) => ({ to: agent, head: ['Subject: Lamps'], body: `${words}\n` })

let letters = 0

export async function write(program: Program, fetched: Fetched, words: string, file?: File): Promise<Letter> {
  const { to, head, body } = program(fetched, words)
  letters += 1
  const id = `ada${letters}.${process.pid}@people.example`
  const now = new Date().toISOString()
  const enclosed = file === undefined ? { head: [], body } : enclose(body, file)
  const lines = [`Date: ${new Date(now).toUTCString()}`, `Message-ID: <${id}>`, ...head, ...enclosed.head]
  const mail = draftMail({ from: `Ada <${ada}>`, to, head: lines, body: enclosed.body })
  const signing = { domain: 'people.example', key: mailKey(), headers: signedFields, signTime: now }
  return { id, to, mail: await signMail(mail, signing) }
}

/** Thread-Index, too, as servers do that sign every field: what is not signed joins nothing without our reply token. */
const signedFields = [
  'From',
  'To',
  'Subject',
  'Date',
  'Message-ID',
  'In-Reply-To',
  'References',
  'Thread-Topic',
  'Thread-Index',
  'MIME-Version',
  'Content-Type',
]

function enclose(body: string, { name, mime, bytes }: File): { head: readonly string[]; body: string } {
  const lines = bytes.toString('base64').replaceAll(/.{76}/g, '$&\n')
  const parts = [
    `Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: 8bit\n\n${body}`,
    `Content-Type: ${mime}\nContent-Transfer-Encoding: base64\nContent-Disposition: attachment;\n filename*=utf-8''${encodeURIComponent(name)}\n\n${lines}\n`,
  ]
  return {
    head: ['Content-Type: multipart/mixed; boundary="b1"'],
    body: `${parts.map((part) => `--b1\n${part}`).join('')}--b1--\n`,
  }
}

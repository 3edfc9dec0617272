// The bytes of one mail, made by nodemailer's composer: structure and encodings are its own, what stands in the header is ours. It may
// open no file and no address; every address is checked before it gets here, and the envelope is never read out of the header.
import { GatewayError } from '../../../src/contract/index.ts'
import { isMessageId, isPlainMailAddress } from '../wire/address.ts'
import type { MailCall, MailPerson } from '../wire/call.ts'
import type { Enclosed } from './attach.ts'
import type { MailBodies } from './body.ts'
import type { MailNames } from './names.ts'
import { mailComposer, nodeStreams } from './node-parts.ts'

export type MailEnvelope = { readonly from: string; readonly to: readonly string[] }

export type MailToCompose = {
  readonly call: MailCall
  readonly names: MailNames
  readonly bodies: MailBodies
  readonly enclosed: readonly Enclosed[]
  readonly headers: Readonly<Record<string, string>>
  readonly at: Date
}

/** True for a call whose every address and id is of the one plain form. */
export function isSendableCall({ from, to, cc, in_reply_to, references }: MailCall): boolean {
  const people = [from, ...to, ...cc]
  const ids = [...references, ...(in_reply_to === null ? [] : [in_reply_to])]
  return to.length > 0 && people.every(({ address }) => isPlainMailAddress(address)) && ids.every(isMessageId)
}

export function outgoingEnvelope({ to, cc }: MailCall, { mailFrom }: MailNames): MailEnvelope {
  return { from: mailFrom, to: [...new Set([...to, ...cc].map(({ address }) => address))] }
}

/** What every mail of ours says of itself (RFC 3834): no automatic responder should answer it. */
export const autoReplyHeaders = {
  'Auto-Submitted': 'auto-replied',
  'X-Auto-Response-Suppress': 'OOF, AutoReply, DR, RN, NRN',
} as const

export async function composeMail({ call, names, bodies, enclosed, headers, at }: MailToCompose): Promise<Uint8Array> {
  if (!isSendableCall(call)) throw new GatewayError('bad_request', '[email] an address reached the composer unchecked')
  const [MailComposer, { Readable }] = await Promise.all([mailComposer(), nodeStreams()])
  const composer = new MailComposer({
    disableFileAccess: true,
    disableUrlAccess: true,
    newline: '\r\n',
    from: composerAddress(call.from),
    to: call.to.map(composerAddress),
    ...(call.cc.length === 0 ? {} : { cc: call.cc.map(composerAddress) }),
    replyTo: composerAddress({ name: call.from.name, address: names.replyTo }),
    subject: toHeaderLine(call.subject),
    messageId: `<${names.messageId}>`,
    date: at,
    ...(call.in_reply_to === null ? {} : { inReplyTo: `<${call.in_reply_to}>` }),
    ...(call.references.length === 0 ? {} : { references: call.references.map((id) => `<${id}>`).join(' ') }),
    headers: { ...autoReplyHeaders, ...headers },
    text: bodies.text,
    ...(bodies.html === '' ? {} : { html: bodies.html }),
    attachments: enclosed.map(({ name, mime, cid, body }) => ({
      filename: headerFileName(name),
      contentType: isMimeType(mime) ? mime : 'application/octet-stream',
      contentDisposition: cid === undefined ? ('attachment' as const) : ('inline' as const),
      contentTransferEncoding: 'base64' as const,
      ...(cid === undefined ? {} : { cid }),
      content: Readable.fromWeb(body),
    })),
  })
  return composer.compile().build()
}

function composerAddress({ name, address }: MailPerson): { readonly name: string; readonly address: string } {
  return { name: toHeaderLine(name).slice(0, 128).toWellFormed(), address }
}

function toHeaderLine(text: string): string {
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]+/g, ' ').trim()
}

/** The last step of a path, and nothing that could end a header. */
function headerFileName(name: string): string {
  const plain =
    toHeaderLine(name)
      .split(/[/\\]/)
      .at(-1)
      ?.replaceAll('"', "'")
      .replace(/[. ]+$/, '') ?? ''
  return plain === '' ? 'file' : plain.slice(0, 150).toWellFormed()
}

function isMimeType(mime: string): boolean {
  return /^[a-z0-9][a-z0-9!#$&^_.+-]{0,126}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}$/i.test(mime)
}

// Composes the bytes of one mail with nodemailer: structure and encodings are its own, what stands in the header is ours. It may
// open no file and no address; every address is checked before it gets here, and the envelope is never read out of the header.

import type { DeliveryResult, FileSource } from '../../../src/contract/index.ts'
import { GatewayError } from '../../../src/lib/index.ts'
import type { Block, Inline } from '../../../src/markdown/index.ts'
import type { DecisionLink } from '../approval-links/links.ts'
import { renderMail } from '../render/body.ts'
import type { EmailSay } from '../sentences.ts'
import { isAsciiMailAddress, isMessageId } from '../wire/address.ts'
import type { MailCall, MailDecision, MailFileCall, MailPerson } from '../wire/call.ts'
import type { MailNames } from './message-ids.ts'
import { importMailComposer, importNodeStream } from './node-modules.ts'

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
export function hasPlainAddressesAndIds({ from, to, cc, in_reply_to, references }: MailCall): boolean {
  const people = [from, ...to, ...cc]
  const ids = [...references, ...(in_reply_to === null ? [] : [in_reply_to])]
  return to.length > 0 && people.every(({ address }) => isAsciiMailAddress(address)) && ids.every(isMessageId)
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
  if (!hasPlainAddressesAndIds(call))
    throw new GatewayError('bad_request', '[email] an address reached the composer unchecked')
  const [MailComposer, { Readable }] = await Promise.all([importMailComposer(), importNodeStream()])
  const composer = new MailComposer({
    disableFileAccess: true,
    disableUrlAccess: true,
    newline: '\r\n',
    from: toComposerAddress(call.from),
    to: call.to.map(toComposerAddress),
    ...(call.cc.length === 0 ? {} : { cc: call.cc.map(toComposerAddress) }),
    replyTo: toComposerAddress({ name: call.from.name, address: names.replyTo }),
    subject: cleanHeaderText(call.subject),
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

function toComposerAddress({ name, address }: MailPerson): { readonly name: string; readonly address: string } {
  return { name: cleanHeaderText(name).slice(0, 128).toWellFormed(), address }
}

function cleanHeaderText(text: string): string {
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]+/g, ' ').trim()
}

/** The last step of a path, and nothing that could end a header. */
function headerFileName(name: string): string {
  const plain =
    cleanHeaderText(name)
      .split(/[/\\]/)
      .at(-1)
      ?.replaceAll('"', "'")
      .replace(/[. ]+$/, '') ?? ''
  return plain === '' ? 'file' : plain.slice(0, 150).toWellFormed()
}

function isMimeType(mime: string): boolean {
  return /^[a-z0-9][a-z0-9!#$&^_.+-]{0,126}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}$/i.test(mime)
}

// As many files as fit go along, the others as links that expire. Bytes flow from where they are kept.

export type Enclosed = MailFileCall & { readonly body: ReadableStream<Uint8Array>; readonly size: number }
type Linked = {
  readonly name: string
  readonly size: number
  readonly url: string | undefined
  readonly until: string
}
export type Enclosures = {
  readonly kind: 'files'
  readonly enclosed: readonly Enclosed[]
  readonly linked: readonly Linked[]
  /** Lets go of bytes that were not taken. */
  readonly end: () => Promise<void>
}

/** Mail is read when people come back to it, so its links last longer than others. */
const linkLifeMs = 7 * 24 * 60 * 60 * 1000

export async function openAttachedFiles(
  wanted: readonly MailFileCall[],
  files: FileSource | undefined,
  room: number,
): Promise<Enclosures | DeliveryResult> {
  const enclosed: Enclosed[] = []
  const linked: Linked[] = []
  const cancelUnreadFiles = async (): Promise<void> =>
    void (await Promise.all(
      enclosed.map(({ body }) => (body.locked ? undefined : body.cancel().catch(() => undefined))),
    ))
  let left = room
  for (const file of wanted) {
    const source = await Promise.resolve(files?.open(file.id)).catch(() => null)
    if (source === null || source === undefined) {
      await cancelUnreadFiles()
      return source === null ? { kind: 'retry', reason: 'file_unavailable' } : { kind: 'refused', reason: 'file_gone' }
    }
    if (source.size <= left) {
      left -= source.size
      enclosed.push({ ...file, body: source.body, size: source.size })
      continue
    }
    await source.body.cancel().catch(() => undefined)
    const link = await Promise.resolve(files?.link?.(file.id, linkLifeMs)).catch(() => undefined)
    linked.push({ name: file.name, size: source.size, url: link?.url, until: link?.expiresAt ?? '' })
  }
  return { kind: 'files', enclosed, linked, end: cancelUnreadFiles }
}

// The bodies hold what the agent says, how to decide, links to large files, and the quote.

type MailBodies = { readonly text: string; readonly html: string }

export function composeBodies(
  say: EmailSay,
  { text, html, quote, decisions }: Pick<MailCall, 'text' | 'html' | 'quote' | 'decisions'>,
  links: readonly DecisionLink[],
  linked: readonly Linked[],
): MailBodies {
  const isOneOfSeveral = decisions.length > 1
  const asked = decisions.map((decision) =>
    approvalInstructionsBlock(
      say,
      decision,
      links.find(({ action_id }) => action_id === decision.action_id)?.url,
      isOneOfSeveral,
    ),
  )
  const tail = [...asked, ...linked.map((file) => oversizedFileNotice(say, file))]
  const extra = renderMail({ type: 'root', children: tail })
  const inner = [htmlInsideBodyTag(html), tail.length === 0 ? '' : htmlInsideBodyTag(extra.html), quote?.html ?? '']
  return {
    text: `${[text, extra.text, quote?.text ?? ''].filter((each) => each.trim() !== '').join('\n\n')}\n`,
    html: html === '' ? '' : `${html.slice(0, bodyTagEnd(html))}${inner.join('')}</body></html>\n`,
  }
}

/** One sentence, with the link at its end where there is one: what stands behind an address is taken for a part of it. */
function approvalInstructionsBlock(
  say: EmailSay,
  { code, summary, expires_at }: MailDecision,
  url: string | undefined,
  isOneOfSeveral: boolean,
): Block {
  const about = isOneOfSeveral ? `${summary === '' ? code : summary}: ` : ''
  const commands = { about, approve: `/approve ${code}`, reject: `/reject ${code}` }
  const how =
    expires_at === null
      ? say('email.decide', commands)
      : say('email.decide_until', { ...commands, time: formatUtcMinute(expires_at) })
  if (url === undefined) return paragraphBlock([{ type: 'text', value: say('email.decide_by_mail', { how }) }])
  return paragraphBlock([
    { type: 'text', value: say('email.decide_in_browser', { how }) },
    { type: 'link', url, children: [{ type: 'text', value: url }] },
  ])
}

function oversizedFileNotice(say: EmailSay, { name, size, url, until }: Linked): Block {
  const words = `${name} (${(size / 1_000_000).toFixed(1)} MB)`
  if (url === undefined) return paragraphBlock([{ type: 'text', value: say('email.file_too_large', { file: words }) }])
  return paragraphBlock([
    { type: 'text', value: say('email.file_too_large_link') },
    { type: 'link', url, children: [{ type: 'text', value: words }] },
    { type: 'text', value: say('email.file_until', { time: formatUtcMinute(until) }) },
  ])
}

function formatUtcMinute(iso: string): string {
  return `${iso.slice(0, 16).replace('T', ' ')} UTC`
}

function paragraphBlock(children: readonly Inline[]): Block {
  return { type: 'paragraph', children }
}

function htmlInsideBodyTag(html: string): string {
  return html === '' ? '' : html.slice(bodyTagEnd(html), html.lastIndexOf('</body>'))
}

function bodyTagEnd(html: string): number {
  return html.indexOf('>', html.indexOf('<body')) + 1
}

// Renders a reply into one mail as data. Pure; what needs a secret, a clock or bytes is made when it is sent.

import {
  isKnownPart,
  type NormalizedResponse,
  type Part,
  parseAddress,
  type Sentence,
} from '../../../src/contract/index.ts'
import { cleanName, type JsonObject } from '../../../src/lib/index.ts'
import {
  type Block,
  escapeHtml,
  type FilePart,
  type Inline,
  plainTree,
  type Root,
  replyFiles,
  replyTree,
} from '../../../src/markdown/index.ts'
import type { EmailSay } from '../sentences.ts'
import { isAsciiMailAddress, isMessageId } from '../wire/address.ts'
import {
  type MailCall,
  type MailDecision,
  type MailFileCall,
  type MailPerson,
  type MailReplyTo,
  replyToSchema,
} from '../wire/call.ts'
import { type MailBody, quoteText, renderMail } from './body.ts'

const maxReferences = 20
const maxFiles = 20

export type RenderedMail = { readonly call: MailCall; readonly primary: boolean }

export function renderMailReply(
  say: EmailSay,
  reply: NormalizedResponse,
  to: JsonObject,
  mayNotify: ReadonlySet<string> = new Set(),
  labelOf: (agent: string) => string | undefined = () => undefined,
): readonly RenderedMail[] {
  const place = replyToSchema.parse(to)
  const sent = replyFiles(reply).filter(isStoredFile).slice(0, maxFiles)
  const decisions = approvalDecisions(reply)
  const kept: Part[] = []
  for (const part of reply.parts)
    if (!sent.some((file) => file === part))
      kept.push(decisions.length === 0 ? part : removeApproveCommandLine(part, decisions))
  const pictures = embedPictures(kept, sent)
  const { text, html } = renderBodies(
    { ...reply, parts: [...pictures.parts] },
    pictures,
    sent.length > 0 ? say('email.see_files') : undefined,
    mayNotify,
  )
  const call: MailCall = {
    op: 'send',
    from: { name: cleanName(labelOf(reply.agent) ?? '') || reply.agent, address: place.agent },
    to: [{ name: place.name, address: place.address }],
    // A link decides for every reader who has it, so that mail goes to the authenticated address alone.
    cc: decisions.length > 0 ? [] : [...ccRecipients(place, mayNotify)],
    subject: replySubject(say, place.reply_to_subject),
    text,
    html,
    quote: replyQuote(say, place),
    in_reply_to: answeredMessageId(place) ?? null,
    references: [...replyReferences(place)],
    thread: place.reply_to_key,
    files: sent.map((file) => filePartToMailFile(file, pictures.cids)),
    decisions: [...decisions],
    decided:
      decisions.length === 0 ? null : { agent: reply.agent, thread_id: reply.thread_id, reply_to: clearReplyQuote(to) },
    hop: place.reply_to_hop + 1,
  }
  return [{ call, primary: true }]
}

/** How to decide is said once, when it is sent: with a link where there can be one. */
function removeApproveCommandLine(part: Part, decisions: readonly MailDecision[]): Part {
  if (!isKnownPart(part) || part.kind !== 'policy') return part
  const asked = decisions.find(({ action_id }) => action_id === part.policy['action_id'])
  if (asked === undefined) return part
  const lines = part.policy.message.split('\n').filter((line) => !line.includes(`/approve ${asked.code}`))
  return { ...part, policy: { ...part.policy, message: lines.join('\n') } }
}

/** Both halves say the same; files that go along are not named in them. */
function renderBodies(
  reply: NormalizedResponse,
  pictures: ReturnType<typeof embedPictures>,
  /** Said where files go along and nothing else is said. */
  filesNotice: Sentence | undefined,
  mayNotify: ReadonlySet<string>,
): { readonly text: string; readonly html: string } {
  const isSilent =
    filesNotice !== undefined && reply.status === 'completed' && reply.parts.every(({ kind }) => kind === 'tool_call')
  return pictures.write(isSilent ? sentenceToTree(filesNotice) : replyTree(reply, { mayNotify }))
}

function sentenceToTree(value: Sentence): Root {
  return { type: 'root', children: [{ type: 'paragraph', children: [{ type: 'text', value }] }] }
}

function isStoredFile(part: Part): part is FilePart {
  return 'attachment' in part && part.attachment !== undefined
}

function filePartToMailFile(file: FilePart, cids: ReadonlyMap<string, string>): MailFileCall {
  const id = file.attachment?.id ?? ''
  const cid = cids.get(id)
  const { name = 'file', mime = 'application/octet-stream' } = file
  return { id, name, mime, ...(cid === undefined ? {} : { cid }) }
}

function answeredMessageId({ reply_to_id: id }: MailReplyTo): string | undefined {
  return typeof id === 'string' && isMessageId(id) ? id : undefined
}

/** Theirs and the one that is answered; of a long chain the first and the latest (RFC 5322, 3.6.4). */
function replyReferences(place: MailReplyTo): readonly string[] {
  const own = answeredMessageId(place)
  const known = place.reply_to_references.filter((id) => isMessageId(id) && id !== own)
  const all = [...new Set(known), ...(own === undefined ? [] : [own])]
  return all.length <= maxReferences ? all : [...all.slice(0, 1), ...all.slice(1 - maxReferences)]
}

/** What was quoted once need not be kept with the question. */
function clearReplyQuote(to: JsonObject): JsonObject {
  return { ...to, reply_to_quote: null }
}

// Approval questions that can be answered by a link; what is asked, and how to answer by mail, stands in the words already. Pure.

const maxDecisions = 8

function approvalDecisions(reply: NormalizedResponse): readonly MailDecision[] {
  const decisions: MailDecision[] = []
  for (const part of reply.parts) {
    if (!isKnownPart(part) || part.kind !== 'policy' || part.policy.kind !== 'approval_required') continue
    const { action_id, code, summary, expires_at, choices } = part.policy
    if (typeof action_id !== 'string' || typeof code !== 'string' || !/^[0-9a-f]{6,36}$/i.test(code)) continue
    if (!Array.isArray(choices) || !choices.includes('approve') || !choices.includes('reject')) continue
    const until = typeof expires_at === 'string' ? expires_at : null
    decisions.push({ action_id, code, summary: typeof summary === 'string' ? summary : '', expires_at: until })
  }
  return decisions.slice(0, maxDecisions)
}

// The quote below a reply: the sender's last mail and no older one, forty lines of it at most. Pure.

const maxLines = 40
const maxLine = 500

function replyQuote(say: EmailSay, { reply_to_quote: quote }: MailReplyTo): MailCall['quote'] {
  if (quote === null || quote === undefined || quote.text.trim() === '') return null
  const lead = attributionLine(say, quote)
  const lines = quote.text.replace(/\r\n?/g, '\n').trimEnd().split('\n')
  const shown = lines.slice(0, maxLines).map((line) => line.slice(0, maxLine).toWellFormed())
  const words = lines.length > maxLines ? [...shown, say('email.quote_cut')].join('\n') : shown.join('\n')
  const blocks: readonly Block[] = [
    { type: 'paragraph', children: [{ type: 'text', value: lead }] },
    { type: 'blockquote', children: plainTree(words).children },
  ]
  return {
    text: `${lead}\n${quoteText(words)}`,
    html: pageBodyHtml(renderMail({ type: 'root', children: blocks }).html),
  }
}

function attributionLine(say: EmailSay, { author, date }: NonNullable<MailReplyTo['reply_to_quote']>): Sentence {
  const who = cleanName(author) || say('email.you')
  const at = date === null || date === undefined || Number.isNaN(Date.parse(date)) ? '' : formatUtcTime(date)
  return at === '' ? say('email.wrote', { who }) : say('email.on_wrote', { time: at, who })
}

function formatUtcTime(date: string): string {
  return `${new Date(date).toISOString().slice(0, 16).replace('T', ' ')} UTC`
}

/** What stands inside the page that the mail face writes. */
function pageBodyHtml(html: string): string {
  const start = html.indexOf('>', html.indexOf('<body')) + 1
  return html.slice(start, html.lastIndexOf('</body>'))
}

// Recipients: the authenticated sender, and beside them only those whom the reply names and may reach. Pure.

const maxCc = 10

/** `mayNotify` is the policy's word; a name without a domain is an agent of ours. */
function ccRecipients(to: MailReplyTo, mayNotify: ReadonlySet<string>): readonly MailPerson[] {
  const ours = to.agent.slice(to.agent.indexOf('@') + 1)
  const taken = new Set([to.address.toLowerCase(), to.agent.toLowerCase()])
  const copies: MailPerson[] = []
  for (const name of mayNotify) {
    const bare = name.replace(/^@/, '')
    const parsed = parseAddress(bare.includes('@') ? bare : `${bare}@${ours}`)
    if (parsed === undefined) continue
    const address = `${parsed.local}@${parsed.domain}`
    if (taken.has(address.toLowerCase()) || !isAsciiMailAddress(address) || copies.length >= maxCc) continue
    taken.add(address.toLowerCase())
    // Names are compared in small letters; a mailbox is written to as its owner writes it.
    copies.push(to.cc.find((each) => each.address.toLowerCase() === address.toLowerCase()) ?? { name: '', address })
  }
  return copies
}

// The subject is what the thread is about, without the `Re:` that mail programs of many languages put before it. Pure.

const maxSubject = 200
/** Marks of answers and forwards, in small letters, as they stand before a colon. */
const replyMarks: ReadonlySet<string> = new Set([
  're',
  'fwd',
  'fw',
  'aw',
  'wg',
  'sv',
  'vs',
  'antw',
  'doorst',
  'odp',
  'pd',
  'rv',
  'enc',
  'tr',
  'ynt',
  'ilt',
  'r',
  'rif',
  '回复',
  '答复',
  '转发',
  '回覆',
])
// A mark may count: `Re[2]:`. Nothing here repeats over itself, so a long subject costs its length.
const markPattern = /^\s*([\p{L}]{1,6})(?:\[\d{1,3}\])?\s{0,3}[:：]/u

/** `AW: Re: WG: 回复: Foo` is about Foo. */
export function subjectWithoutReplyMarks(subject: string): string {
  let rest = cleanName(subject)
  for (let mark = markPattern.exec(rest); mark !== null; mark = markPattern.exec(rest)) {
    if (!replyMarks.has((mark[1] ?? '').toLowerCase())) break
    rest = rest.slice(mark[0].length)
  }
  return rest.trim()
}

/** One line, at most 200 characters, never empty. */
export function replySubject(say: EmailSay, subject: string): string {
  const base = subjectWithoutReplyMarks(subject)
  const whole = `Re: ${base === '' ? say('email.no_subject') : base}`
  return whole.length <= maxSubject ? whole : `${cutSubject(whole, maxSubject - 1)}…`
}

function cutSubject(text: string, length: number): string {
  return text
    .slice(0, length)
    .toWellFormed()
    .replace(/\ufffd$/, '')
    .trimEnd()
}

// Inline pictures: `![a chart](chart.png)` beside a file of that name stands in the mail itself. Pure.

/** Kinds that every mail program shows. */
const shown: ReadonlySet<string> = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp'])
/** An address that leads nowhere, and that the tree takes for one of the web. */
const stand = 'https://cid.invalid/'
const reference = /!\[([^\][\n]{0,500})\]\(([^()\s]{1,300})\)/g

export type Pictured = {
  readonly parts: readonly Part[]
  /** Content ids by attachment id, of the files that the words refer to. */
  readonly cids: ReadonlyMap<string, string>
  /** Both halves: one shows the pictures, the other names them. */
  readonly write: (tree: Root) => MailBody
}

function embedPictures(parts: readonly Part[], files: readonly FilePart[]): Pictured {
  const candidates = files.filter(({ mime = '' }) => shown.has(mime.toLowerCase()))
  const cids = new Map<string, string>()
  const originals: string[] = []
  const findPicture = (ref: string): FilePart | undefined =>
    candidates.find(
      ({ name, attachment }) => ref === name || ref === `cid:${name}` || ref === `attachment:${attachment?.id}`,
    )
  const markPictures = (part: Part): Part => {
    if (!isKnownPart(part) || part.kind !== 'text' || part.mime !== 'text/markdown') return part
    const content = part.content.replace(reference, (whole: string, label: string, ref: string) => {
      const id = findPicture(decodePictureReference(ref))?.attachment?.id
      if (id === undefined) return whole
      if (!cids.has(id)) {
        cids.set(id, `picture${cids.size}.${id}@parley.invalid`)
        originals.push(ref)
      }
      return `![${label}](${stand}${[...cids.keys()].indexOf(id)})`
    })
    return { ...part, content }
  }
  return {
    parts: candidates.length === 0 ? parts : parts.map(markPictures),
    cids,
    write(tree) {
      const body = renderMail(tree)
      // Most mails show no picture: both halves are as they stand.
      if (!body.html.includes(stand)) return body
      const words = renderMail({ ...tree, children: tree.children.map(blockWithoutPictures) }).text
      const html = insertImages(body.html, [...cids.values()])
      return {
        text: restorePictureReferences(words, originals),
        html: restorePictureReferences(html, originals.map(escapeHtml)),
      }
    },
  }
}

function decodePictureReference(ref: string): string {
  try {
    return decodeURIComponent(ref)
  } catch {
    return ref
  }
}

const written = /<a href="https:\/\/cid\.invalid\/(\d{1,3})" rel="noopener noreferrer">([^<]*)<\/a>/g

function insertImages(html: string, cids: readonly string[]): string {
  return html.replace(written, (_, at: string, label: string) => {
    const cid = cids[Number(at)]
    const alt = label.startsWith(stand) ? '' : label
    return cid === undefined ? label : `<img src="cid:${cid}" alt="${alt}" style="max-width:100%;height:auto">`
  })
}

/** In code the reference stays what was written. */
function restorePictureReferences(written: string, originals: readonly string[]): string {
  return written.replace(/https:\/\/cid\.invalid\/(\d{1,3})/g, (whole, at: string) => originals[Number(at)] ?? whole)
}

function blockWithoutPictures(block: Block): Block {
  switch (block.type) {
    case 'paragraph':
    case 'heading':
      return { ...block, children: block.children.map(inlineWithoutPictures) }
    case 'blockquote':
      return { ...block, children: block.children.map(blockWithoutPictures) }
    case 'list':
      return {
        ...block,
        children: block.children.map((item) => ({ ...item, children: item.children.map(blockWithoutPictures) })),
      }
    case 'table':
      return {
        ...block,
        children: block.children.map((row) => ({
          ...row,
          children: row.children.map((cell) => ({ ...cell, children: cell.children.map(inlineWithoutPictures) })),
        })),
      }
    case 'code':
    case 'thematicBreak':
      return block
    default:
      return block satisfies never
  }
}

function inlineWithoutPictures(node: Inline): Inline {
  if (node.type === 'link' && node.url.startsWith(stand)) {
    const [label] = node.children
    const words = label?.type === 'text' && !label.value.startsWith(stand) ? `: ${label.value}` : ''
    return { type: 'text', value: `[picture${words}]` }
  }
  if (node.type === 'strong' || node.type === 'emphasis' || node.type === 'delete')
    return { ...node, children: node.children.map(inlineWithoutPictures) }
  return node
}

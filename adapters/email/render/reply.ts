// Hop 8: a reply to one mail as data. Pure; what needs a secret, a clock or bytes is made when it is sent.
import {
  cleanName,
  isKnownPart,
  type JsonObject,
  type NormalizedResponse,
  type Part,
} from '../../../src/contract/index.ts'
import { type FilePart, type Root, replyFiles, replyTree } from '../../../src/markdown/index.ts'
import { isMessageId } from '../wire/address.ts'
import type { MailCall, MailDecision, MailFileCall } from '../wire/call.ts'
import { type MailReplyTo, replyToSchema } from '../wire/reply-to.ts'
import { approvalDecisions } from './decisions.ts'
import { placePictures } from './pictures.ts'
import { replyQuote } from './quote.ts'
import { copyRecipients } from './recipients.ts'
import { replySubject } from './subject.ts'

const maxReferences = 20
const maxFiles = 20

export type RenderedMail = { readonly call: MailCall; readonly primary: boolean }

export function renderMailReply(
  reply: NormalizedResponse,
  to: JsonObject,
  mayNotify: ReadonlySet<string> = new Set(),
  labelOf: (agent: string) => string | undefined = () => undefined,
): readonly RenderedMail[] {
  const place = replyToSchema.parse(to)
  const sent = replyFiles(reply).filter(isStoredFile).slice(0, maxFiles)
  const decisions = approvalDecisions(reply)
  const kept = reply.parts
    .filter((part) => !sent.some((file) => file === part))
    .map((part) => withoutReplyLine(part, decisions))
  const pictures = placePictures(kept, sent)
  const { text, html } = renderBodies({ ...reply, parts: [...pictures.parts] }, pictures, sent.length > 0, mayNotify)
  const call: MailCall = {
    op: 'send',
    from: { name: cleanName(labelOf(reply.agent) ?? '') || reply.agent, address: place.agent },
    to: [{ name: place.name, address: place.address }],
    // A link decides for every reader who has it, so that mail goes to the authenticated address alone.
    cc: decisions.length > 0 ? [] : [...copyRecipients(place, mayNotify)],
    subject: replySubject(place.reply_to_subject),
    text,
    html,
    quote: replyQuote(place),
    in_reply_to: answeredMessageId(place) ?? null,
    references: [...replyReferences(place)],
    thread: place.reply_to_key,
    files: sent.map((file) => mailFileCall(file, pictures.cids)),
    decisions: [...decisions],
    decided:
      decisions.length === 0 ? null : { agent: reply.agent, thread_id: reply.thread_id, reply_to: withoutQuote(to) },
    hop: place.reply_to_hop + 1,
  }
  return [{ call, primary: true }]
}

/** How to decide is said once, when it is sent: with a link where there can be one. */
function withoutReplyLine(part: Part, decisions: readonly MailDecision[]): Part {
  if (!isKnownPart(part) || part.kind !== 'policy') return part
  const asked = decisions.find(({ action_id }) => action_id === part.policy['action_id'])
  if (asked === undefined) return part
  const lines = part.policy.message.split('\n').filter((line) => !line.includes(`/approve ${asked.code}`))
  return { ...part, policy: { ...part.policy, message: lines.join('\n') } }
}

/** Both halves say the same; files that go along are not named in them. */
function renderBodies(
  reply: NormalizedResponse,
  pictures: ReturnType<typeof placePictures>,
  hasFiles: boolean,
  mayNotify: ReadonlySet<string>,
): { readonly text: string; readonly html: string } {
  const isSilent = hasFiles && reply.status === 'completed' && reply.parts.every(({ kind }) => kind === 'tool_call')
  const tree = isSilent ? filesOnly : replyTree(reply, { mayNotify })
  return pictures.write(tree)
}

const filesOnly: Root = {
  type: 'root',
  children: [{ type: 'paragraph', children: [{ type: 'text', value: 'See the attached files.' }] }],
}

function isStoredFile(part: Part): part is FilePart {
  return 'attachment' in part && part.attachment !== undefined
}

function mailFileCall(file: FilePart, cids: ReadonlyMap<string, string>): MailFileCall {
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
function withoutQuote(to: JsonObject): JsonObject {
  return { ...to, reply_to_quote: null }
}

// Hop 3: what a message says, in parts: the person's words, their files, and what they quote, which is never an order. Pure.
import { cleanName, type KnownPart, textPart } from '../../../src/contract/index.ts'
import { fileParts } from '../files/read.ts'
import { attachmentSchema, type SlackMessage } from '../wire/event.ts'
import { decodeText, type NamedUser } from './decode-text.ts'
import { hasTable, readAnyBlocks, readRichText } from './read-blocks.ts'

export type MessageParts = { readonly parts: readonly KnownPart[]; readonly named: readonly NamedUser[] }

type Spoken = Pick<SlackMessage, 'text' | 'blocks' | 'files' | 'attachments' | 'subtype'>

export function readMessageParts(message: Spoken, account: string, botUserId: string | undefined): MessageParts {
  const blocks = message.blocks ?? []
  const { text, named } = readRichText(blocks) ?? decodeText(message.text ?? '')
  const words = withoutBotMention(text, botUserId).trim()
  const spoken = message.subtype === 'me_message' && words !== '' ? `[action] ${words}` : words
  const tables = hasTable(blocks) ? [readAnyBlocks(blocks.filter((block) => hasTable([block])))] : []
  const quoted = (message.attachments ?? []).flatMap((attachment) => quotedAttachment(attachment) ?? [])
  const texts = [spoken, ...tables, ...quoted].filter((each) => each !== '')
  return { parts: [...fileParts(message.files ?? [], account), ...texts.map((each) => textPart(each))], named }
}

const bareCall = /^\s*@([A-Z0-9]+)\b[\s,:]*/
const labelledCall = /^\s*@[^\n()]{1,80} \(([A-Z0-9]+)\)[\s,:]*/

/** The mention that calls us is no part of what is asked; further ones stay. */
function withoutBotMention(text: string, botUserId: string | undefined): string {
  if (botUserId === undefined) return text
  const call = [bareCall, labelledCall].find((pattern) => pattern.exec(text)?.[1] === botUserId)
  const rest = call === undefined ? text : text.replace(call, '')
  return rest.trim() === '' ? text : rest
}

/** Shared messages and pasted tables. Previews of links are Slack's words, not the sender's, and are left out. */
function quotedAttachment(value: unknown): string | undefined {
  const { data } = attachmentSchema.safeParse(value)
  if (data === undefined) return undefined
  const blocks = [...(data.blocks ?? []), ...innerBlocks(data.message_blocks ?? [])]
  const isShare = data.is_share === true || data.is_msg_unfurl === true
  if (!isShare && hasTable(blocks)) return readAnyBlocks(blocks)
  if (!isShare && data.from_url !== undefined) return undefined
  const plain = [data.pretext, data.title, data.text ?? data.fallback].filter(
    (text) => text !== undefined && text !== '',
  )
  const words = readAnyBlocks(blocks) || decodeText(plain.join('\n')).text
  if (words.trim() === '') return undefined
  const author = cleanName(data.author_name ?? '')
  const head = isShare ? `[shared message${author === '' ? '' : ` from ${author}`}]` : '[attachment]'
  return `${head}\n${words.replace(/^/gm, '> ')}`
}

function innerBlocks(entries: readonly unknown[]): readonly unknown[] {
  return entries.flatMap((entry) => {
    const message = typeof entry === 'object' && entry !== null && 'message' in entry ? entry.message : undefined
    const blocks = typeof message === 'object' && message !== null && 'blocks' in message ? message.blocks : undefined
    return Array.isArray(blocks) ? blocks : []
  })
}

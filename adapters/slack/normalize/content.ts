// What a message says: the person's words, their files, and what they quote, which is never an order. People write rich text, which
// tells letters from mentions; mrkdwn, tables and cards are read too. Pure.
import { type KnownPart, textPart } from '../../../src/contract/index.ts'
import { cleanName, cleanText } from '../../../src/lib/index.ts'
import { attachmentSchema, fileSchema, type SlackFile, type SlackMessage } from '../wire.ts'

export type MessageParts = { readonly parts: readonly KnownPart[]; readonly named: readonly NamedUser[] }

type Spoken = Pick<SlackMessage, 'text' | 'blocks' | 'files' | 'attachments' | 'subtype'>

export function readMessageParts(message: Spoken, account: string, botUserId: string | undefined): MessageParts {
  const blocks = message.blocks ?? []
  const rich = readRichText(blocks)
  const { text, named } = rich ?? decodeSlackText(message.text ?? '')
  const words = withoutBotMention(text, botUserId).trim()
  const spoken = message.subtype === 'me_message' && words !== '' ? `[action] ${words}` : words
  const texts = [spoken]
  const tables = rich === undefined ? blocks.filter(isTable) : []
  if (tables.length > 0) texts.push(slackBlocksToText(tables))
  for (const attachment of message.attachments ?? []) texts.push(quotedAttachmentText(attachment) ?? '')
  const parts: KnownPart[] = []
  for (const file of message.files ?? []) {
    const { data } = fileSchema.safeParse(file)
    if (data !== undefined) parts.push(slackFilePart(data, account))
  }
  for (const each of texts) if (each !== '') parts.push(textPart(each))
  return { parts, named }
}

const bareCall = /^\s*@([A-Z0-9]+)\b[\s,:]*/
const labelledCall = /^\s*@[^\n()]{1,80} \(([A-Z0-9]+)\)[\s,:]*/

/** The mention that calls us is no part of what is asked; further ones stay. */
function withoutBotMention(text: string, botUserId: string | undefined): string {
  if (botUserId === undefined) return text
  for (const pattern of [bareCall, labelledCall]) {
    const call = pattern.exec(text)
    if (call?.[1] !== botUserId) continue
    const rest = text.slice(call.index + call[0].length)
    return rest.trim() === '' ? text : rest
  }
  return text
}

/** Shared messages and pasted tables. Previews of links are Slack's words, not the sender's, and are left out. */
function quotedAttachmentText(value: unknown): string | undefined {
  const { data } = attachmentSchema.safeParse(value)
  if (data === undefined) return undefined
  const blocks = [...(data.blocks ?? []), ...listInnerBlocks(data.message_blocks ?? [])]
  const isShare = data.is_share === true || data.is_msg_unfurl === true
  if (!isShare && blocks.some(isTable)) return slackBlocksToText(blocks)
  if (!isShare && data.from_url !== undefined) return undefined
  const plain = [data.pretext, data.title, data.text ?? data.fallback].filter(
    (text) => text !== undefined && text !== '',
  )
  const words = slackBlocksToText(blocks) || decodeSlackText(plain.join('\n')).text
  if (words.trim() === '') return undefined
  const author = cleanName(data.author_name ?? '')
  const head = isShare ? `[shared message${author === '' ? '' : ` from ${author}`}]` : '[attachment]'
  return `${head}\n${words.replace(/^/gm, '> ')}`
}

function listInnerBlocks(entries: readonly unknown[]): readonly unknown[] {
  return entries.flatMap((entry) => {
    const message = typeof entry === 'object' && entry !== null && 'message' in entry ? entry.message : undefined
    const blocks = typeof message === 'object' && message !== null && 'blocks' in message ? message.blocks : undefined
    return Array.isArray(blocks) ? blocks : []
  })
}

// Files are described as far as Slack says what they are. Their bytes stay where they are. Pure.

/** Deleted, beyond the plan's limit, or not shown to us: nothing can be asked for. */
const goneModes: ReadonlySet<string> = new Set(['tombstone', 'hidden_by_limit'])

function slackFilePart(file: SlackFile, account: string): KnownPart {
  const name = cleanText(file.name ?? '').slice(0, 255)
  if (goneModes.has(file.mode ?? '')) return textPart(`[file: ${name || file.id}, no longer there]`)
  // It lies on another service, and our token must not go there.
  if (file.is_external === true || file.mode === 'external')
    return textPart(`[file: ${name || file.id}, kept elsewhere]`)
  const isStub = file.file_access === 'check_file_info'
  const url = isStub ? undefined : (file.url_private_download ?? file.url_private)
  const mime = file.mimetype
  return {
    kind: 'file',
    bytes_ref: {
      kind: 'channel',
      ref: {
        account,
        file_id: file.id,
        ...(url === undefined ? {} : { url }),
        ...(mime === undefined ? {} : { mime }),
      },
    },
    ...(mime === undefined ? {} : { mime }),
    ...(name === '' ? {} : { name }),
    ...(file.size === undefined ? {} : { size: file.size }),
  }
}

// The words of blocks.

type Fields = Readonly<Record<string, unknown>>

/** The words of a person's own message. Undefined: it has other blocks than rich text, or none that say anything. */
function readRichText(blocks: readonly unknown[]): Decoded | undefined {
  const named: NamedUser[] = []
  const texts: string[] = []
  for (const given of blocks) {
    const block = fieldsOrEmpty(given)
    if (block['type'] !== 'rich_text') return undefined
    texts.push(richTextBlockToText(block, named))
  }
  const text = texts.join('\n')
  return text.trim() === '' ? undefined : { text, named }
}

/** The words of any blocks, with what cannot be read named by its own fallback. Who is named in them is not called. */
function slackBlocksToText(blocks: readonly unknown[]): string {
  return blocks
    .map((block) => slackBlockToText(fieldsOrEmpty(block)))
    .filter((text) => text.trim() !== '')
    .join('\n')
}

function isTable(block: unknown): boolean {
  const { type } = fieldsOrEmpty(block)
  return type === 'table' || type === 'data_table'
}

function slackBlockToText(block: Fields): string {
  if (block['type'] === 'rich_text') return richTextBlockToText(block, [])
  if (isTable(block)) return slackTableText(block)
  const inner = arrayOrEmpty(fieldsOrEmpty(block['message'])['blocks'])
  if (inner.length > 0) return slackBlocksToText(inner)
  const said = [block['text'], ...arrayOrEmpty(block['fields']), ...arrayOrEmpty(block['elements'])].map(
    textObjectToText,
  )
  const words = said.filter((text) => text !== '').join('\n')
  return words === '' ? (textOrUndefined(block['fallback']) ?? textOrUndefined(block['alt_text']) ?? '') : words
}

/** A text, or an object of text. */
function textObjectToText(value: unknown): string {
  const plain =
    textOrUndefined(value) ??
    textOrUndefined(fieldsOrEmpty(value)['text']) ??
    textOrUndefined(fieldsOrEmpty(fieldsOrEmpty(value)['text'])['text'])
  return plain === undefined ? '' : decodeSlackText(plain).text
}

function slackTableText(block: Fields): string {
  const rows = arrayOrEmpty(block['rows']).map((row) => {
    const cells = Array.isArray(row) ? row : arrayOrEmpty(fieldsOrEmpty(row)['cells'])
    return `| ${cells.map((cell) => tableCellText(fieldsOrEmpty(cell)).replace(/\s+/g, ' ').trim()).join(' | ')} |`
  })
  return rows.join('\n')
}

function tableCellText(cell: Fields): string {
  return cell['type'] === 'rich_text' ? richTextBlockToText(cell, []) : (textOrUndefined(cell['text']) ?? '')
}

/** The words of a rich text block; who it names is added to `named`. */
function richTextBlockToText(block: Fields, named: NamedUser[]): string {
  let text = ''
  for (const given of arrayOrEmpty(block['elements'])) {
    const element = fieldsOrEmpty(given)
    switch (element['type']) {
      case 'rich_text_list':
        text += richListText(element, named)
        break
      case 'rich_text_quote':
        text += `${inlineText(element, named).replace(/^/gm, '> ')}\n`
        break
      case 'rich_text_preformatted':
        text += `\`\`\`\n${inlineText(element, named)}\n\`\`\`\n`
        break
      default:
        text += inlineText(element, named)
    }
  }
  return text.replace(/\n$/, '')
}

function richListText(block: Fields, named: NamedUser[]): string {
  const indent = '  '.repeat(Math.min(Math.max(numberOrZero(block['indent']), 0), 8))
  const first = numberOrZero(block['offset']) + 1
  const lines = arrayOrEmpty(block['elements']).map((item, index) => {
    const mark = block['style'] === 'ordered' ? `${first + index}.` : '-'
    return `${indent}${mark} ${inlineText(fieldsOrEmpty(item), named)}\n`
  })
  return lines.join('')
}

function inlineText(block: Fields, named: NamedUser[]): string {
  let words = ''
  for (const given of arrayOrEmpty(block['elements'])) {
    const element = fieldsOrEmpty(given)
    const text = textOrUndefined(element['text']) ?? ''
    switch (element['type']) {
      case 'text':
        words += fieldsOrEmpty(element['style'])['code'] === true ? `\`${text}\`` : text
        break
      case 'link':
        words += formatLink(textOrUndefined(element['url']) ?? '', text)
        break
      case 'user': {
        const userId = textOrUndefined(element['user_id']) ?? ''
        const mention = formatUserMention(userId)
        if (/^[UW][A-Z0-9]+$/.test(userId)) named.push({ text: mention, userId })
        words += mention
        break
      }
      case 'usergroup':
        words += formatUserMention(textOrUndefined(element['usergroup_id']) ?? '')
        break
      case 'channel':
        words += formatChannelMention(textOrUndefined(element['channel_id']) ?? '')
        break
      case 'broadcast':
        words += `@${textOrUndefined(element['range']) ?? ''}`
        break
      case 'emoji':
        words += emojiText(element)
        break
      case 'date':
        words += textOrUndefined(element['fallback']) ?? ''
        break
      default:
        words += text || (textOrUndefined(element['fallback']) ?? '')
    }
  }
  return words
}

function emojiText(element: Fields): string {
  const points = (textOrUndefined(element['unicode']) ?? '').split('-').map((hex) => Number.parseInt(hex, 16))
  const isKnown = points.every((point) => point > 0 && point <= 0x10ffff)
  return isKnown ? String.fromCodePoint(...points) : `:${textOrUndefined(element['name']) ?? ''}:`
}

function fieldsOrEmpty(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {}
}

function arrayOrEmpty(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

function textOrUndefined(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

function numberOrZero(value: unknown): number {
  return typeof value === 'number' && Number.isSafeInteger(value) ? value : 0
}

// Slack's mrkdwn has tokens in angle brackets and three entities, each decoded once. Pure.

/** A person or bot that a text names, by the platform's own id. */
export type NamedUser = { readonly text: string; readonly userId: string }
type Decoded = { readonly text: string; readonly named: readonly NamedUser[] }

const token = /<([^<>\n]*)>/g

export function decodeSlackText(wire: string): Decoded {
  const named: NamedUser[] = []
  let text = ''
  let end = 0
  for (const match of wire.matchAll(token)) {
    const shown = decodeSlackToken(match[1] ?? '', named)
    if (shown === undefined) continue
    text += unescapeSlackText(wire.slice(end, match.index)) + shown
    end = match.index + match[0].length
  }
  return { text: text + unescapeSlackText(wire.slice(end)), named }
}

/** One pass, so that `&amp;lt;` is the letters `&lt;`. */
function unescapeSlackText(text: string): string {
  return text.replace(/&(amp|lt|gt);/g, (_, name: string) => (name === 'amp' ? '&' : name === 'lt' ? '<' : '>'))
}

/** Ids stay beside names, so that tools can use them. */
function formatUserMention(userId: string, label = ''): string {
  return label === '' ? `@${userId}` : `@${label.replace(/^@/, '')} (${userId})`
}

function formatChannelMention(channelId: string, label = ''): string {
  return label === '' ? `#${channelId}` : `#${label.replace(/^#/, '')} (${channelId})`
}

function formatLink(url: string, label = ''): string {
  const isSame = label === '' || label === url || url === `mailto:${label}` || url === `tel:${label}`
  return isSame ? label || url : `${label} (${url})`
}

function decodeSlackToken(content: string, named: NamedUser[]): string | undefined {
  const bar = content.indexOf('|')
  const target = bar === -1 ? content : content.slice(0, bar)
  const label = bar === -1 ? '' : unescapeSlackText(content.slice(bar + 1))
  const user = /^@([UW][A-Z0-9]+)$/.exec(target)?.[1]
  if (user !== undefined) {
    const text = formatUserMention(user, label)
    named.push({ text, userId: user })
    return text
  }
  const channel = /^#([A-Z0-9]+)$/.exec(target)?.[1]
  if (channel !== undefined) return formatChannelMention(channel, label)
  if (target.startsWith('!')) return decodeSpecialMention(target.slice(1), label)
  return /^[a-z][a-z0-9+.-]*:/i.test(target) ? formatLink(unescapeSlackText(target), label) : undefined
}

function decodeSpecialMention(special: string, label: string): string {
  const [kind = '', value = ''] = special.split('^')
  if (kind === 'subteam') return formatUserMention(value, label)
  return kind === 'date' ? label : `@${kind}`
}

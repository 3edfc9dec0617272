// Text of blocks and of mrkdwn: what people write comes as rich text, which tells letters from mentions; tables and cards are read
// too. Pure.

type Fields = Readonly<Record<string, unknown>>

/** The words of a person's own message. Undefined: it has other blocks than rich text, or none that say anything. */
export function readRichText(blocks: readonly unknown[]): Decoded | undefined {
  const named: NamedUser[] = []
  const texts: string[] = []
  for (const given of blocks) {
    const block = fieldsOrEmpty(given)
    if (block['type'] !== 'rich_text') return undefined
    texts.push(richText(block, named))
  }
  const text = texts.join('\n')
  return text.trim() === '' ? undefined : { text, named }
}

/** The words of any blocks, with what cannot be read named by its own fallback. Who is named in them is not called. */
export function readAnyBlocks(blocks: readonly unknown[]): string {
  return blocks
    .map((block) => anyBlockText(fieldsOrEmpty(block)))
    .filter((text) => text.trim() !== '')
    .join('\n')
}

export function isTable(block: unknown): boolean {
  const { type } = fieldsOrEmpty(block)
  return type === 'table' || type === 'data_table'
}

function anyBlockText(block: Fields): string {
  if (block['type'] === 'rich_text') return richText(block, [])
  if (isTable(block)) return slackTableText(block)
  const inner = arrayOrEmpty(fieldsOrEmpty(block['message'])['blocks'])
  if (inner.length > 0) return readAnyBlocks(inner)
  const said = [block['text'], ...arrayOrEmpty(block['fields']), ...arrayOrEmpty(block['elements'])].map(
    textObjectWords,
  )
  const words = said.filter((text) => text !== '').join('\n')
  return words === '' ? (textOrUndefined(block['fallback']) ?? textOrUndefined(block['alt_text']) ?? '') : words
}

/** A text, or an object of text. */
function textObjectWords(value: unknown): string {
  const plain =
    textOrUndefined(value) ??
    textOrUndefined(fieldsOrEmpty(value)['text']) ??
    textOrUndefined(fieldsOrEmpty(fieldsOrEmpty(value)['text'])['text'])
  return plain === undefined ? '' : decodeText(plain).text
}

function slackTableText(block: Fields): string {
  const rows = arrayOrEmpty(block['rows']).map((row) => {
    const cells = Array.isArray(row) ? row : arrayOrEmpty(fieldsOrEmpty(row)['cells'])
    return `| ${cells.map((cell) => tableCellText(fieldsOrEmpty(cell)).replace(/\s+/g, ' ').trim()).join(' | ')} |`
  })
  return rows.join('\n')
}

function tableCellText(cell: Fields): string {
  return cell['type'] === 'rich_text' ? richText(cell, []) : (textOrUndefined(cell['text']) ?? '')
}

/** The words of a rich text block; who it names is added to `named`. */
function richText(block: Fields, named: NamedUser[]): string {
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

export function decodeText(wire: string): Decoded {
  const named: NamedUser[] = []
  let text = ''
  let end = 0
  for (const match of wire.matchAll(token)) {
    const shown = decodeToken(match[1] ?? '', named)
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

function decodeToken(content: string, named: NamedUser[]): string | undefined {
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

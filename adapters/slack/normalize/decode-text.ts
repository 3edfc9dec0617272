// Slack's wire form of text to words: tokens in angle brackets, three entities, each decoded once. Pure.

/** A person or bot that a text names, by the platform's own id. */
export type NamedUser = { readonly text: string; readonly userId: string }
export type Decoded = { readonly text: string; readonly named: readonly NamedUser[] }

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
export function formatUserMention(userId: string, label = ''): string {
  return label === '' ? `@${userId}` : `@${label.replace(/^@/, '')} (${userId})`
}

export function formatChannelMention(channelId: string, label = ''): string {
  return label === '' ? `#${channelId}` : `#${label.replace(/^#/, '')} (${channelId})`
}

export function formatLink(url: string, label = ''): string {
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

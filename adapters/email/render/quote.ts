// What an answer answers, below it: the last mail of the sender's and no older one, forty lines of it at most. Pure.
import { cleanName } from '../../../src/contract/index.ts'
import { type Block, plainTree, quoteText, renderMail } from '../../../src/markdown/index.ts'
import type { MailCall } from '../wire/call.ts'
import type { MailReplyTo } from '../wire/reply-to.ts'

const maxLines = 40
const maxLine = 500

export function replyQuote({ reply_to_quote: quote }: MailReplyTo): MailCall['quote'] {
  if (quote === null || quote === undefined || quote.text.trim() === '') return null
  const lead = attributionLine(quote)
  const lines = quote.text.replace(/\r\n?/g, '\n').trimEnd().split('\n')
  const shown = lines.slice(0, maxLines).map((line) => line.slice(0, maxLine).toWellFormed())
  const words = lines.length > maxLines ? [...shown, '[…]'].join('\n') : shown.join('\n')
  const blocks: readonly Block[] = [
    { type: 'paragraph', children: [{ type: 'text', value: lead }] },
    { type: 'blockquote', children: plainTree(words).children },
  ]
  return {
    text: `${lead}\n${quoteText(shown.join('\n') + (lines.length > maxLines ? '\n[…]' : ''))}`,
    html: pageBodyHtml(renderMail({ type: 'root', children: blocks }).html),
  }
}

function attributionLine({ author, date }: NonNullable<MailReplyTo['reply_to_quote']>): string {
  const who = cleanName(author)
  const at = date === null || date === undefined || Number.isNaN(Date.parse(date)) ? '' : formatUtcTime(date)
  return `${at === '' ? '' : `On ${at}, `}${who === '' ? 'you' : who} wrote:`
}

function formatUtcTime(date: string): string {
  return `${new Date(date).toISOString().slice(0, 16).replace('T', ' ')} UTC`
}

/** What stands inside the page that the mail face writes. */
function pageBodyHtml(html: string): string {
  const start = html.indexOf('>', html.indexOf('<body')) + 1
  return html.slice(start, html.lastIndexOf('</body>'))
}

// Where a mail program's own markup says that the mail which is answered begins. In HTML that is surer than any words.
import type { HtmlTextOptions } from '../../../src/markdown/index.ts'

/** No text has it: control characters are taken out of what people write. */
export const quoteMark = '\u0001'

const ids = new Set(['divrplyfwdmsg', 'appendonsend', 'mail-editor-reference-message-container', 'orimsghtmlseperator'])
const classes = new Set([
  'gmail_quote',
  'gmail_quote_container',
  'yahoo_quoted',
  'moz-cite-prefix',
  'protonmail_quote',
  'zmail_extra',
  'ms-outlook-mobile-reference-message',
  'tutanota_quote',
  'mail_quote',
  'ydpyahoo_quoted',
  'front-blockquote',
])

export const markQuote: NonNullable<HtmlTextOptions['mark']> = (name, attributes) => {
  if (name !== 'div' && name !== 'blockquote' && name !== 'hr') return undefined
  const id = attributes.get('id')?.trim().toLowerCase().replace(/^x_/, '') ?? ''
  if (ids.has(id)) return quoteMark
  const named = attributes.get('class')?.toLowerCase().split(/\s+/, 20) ?? []
  // A quote inside of a quote is marked by its lines already.
  return name === 'div' && named.some((each) => classes.has(each.replace(/^x_/, ''))) ? quoteMark : undefined
}

export function withoutQuoteMarks(text: string): string {
  if (!text.includes(quoteMark)) return text
  return text
    .split('\n')
    .filter((line) => !line.includes(quoteMark))
    .join('\n')
    .trim()
}

// The text and HTML bodies of a mail as they go out: what the agent says, how to decide, links to large files, and the quote.
import { type Block, type Inline, renderMail } from '../../../src/markdown/index.ts'
import type { MailCall, MailDecision } from '../wire/call.ts'
import type { Linked } from './attach.ts'
import type { DecisionLink } from './links.ts'

export type MailBodies = { readonly text: string; readonly html: string }

export function composeBodies(
  { text, html, quote, decisions }: Pick<MailCall, 'text' | 'html' | 'quote' | 'decisions'>,
  links: readonly DecisionLink[],
  linked: readonly Linked[],
): MailBodies {
  const isOneOfSeveral = decisions.length > 1
  const asked = decisions.map((decision) =>
    decisionBlock(decision, links.find(({ action_id }) => action_id === decision.action_id)?.url, isOneOfSeveral),
  )
  const tail = [...asked, ...linked.map(fileBlock)]
  const extra = renderMail({ type: 'root', children: tail })
  const inner = [innerPageHtml(html), tail.length === 0 ? '' : innerPageHtml(extra.html), quote?.html ?? '']
  return {
    text: `${[text, extra.text, quote?.text ?? ''].filter((each) => each.trim() !== '').join('\n\n')}\n`,
    html: html === '' ? '' : `${html.slice(0, bodyTagEnd(html))}${inner.join('')}</body></html>\n`,
  }
}

/** One sentence, with the link at its end where there is one: what stands behind an address is taken for a part of it. */
function decisionBlock(
  { code, summary, expires_at }: MailDecision,
  url: string | undefined,
  isOneOfSeveral: boolean,
): Block {
  const about = isOneOfSeveral ? `${summary === '' ? code : summary}: ` : ''
  const until = expires_at === null ? 'Reply' : `Until ${expires_at.slice(0, 16).replace('T', ' ')} UTC, reply`
  const how = `${about}${until} with /approve ${code} or /reject ${code} as the first line`
  if (url === undefined) return paragraphBlock([{ type: 'text', value: `${how}.` }])
  return paragraphBlock([
    { type: 'text', value: `${how}, or decide in your browser: ` },
    { type: 'link', url, children: [{ type: 'text', value: url }] },
  ])
}

function fileBlock({ name, size, url, until }: Linked): Block {
  const words = `${name} (${(size / 1_000_000).toFixed(1)} MB)`
  if (url === undefined) return paragraphBlock([{ type: 'text', value: `${words} is too large for a mail.` }])
  return paragraphBlock([
    { type: 'text', value: 'Too large for a mail: ' },
    { type: 'link', url, children: [{ type: 'text', value: words }] },
    { type: 'text', value: ` until ${until.slice(0, 16).replace('T', ' ')} UTC` },
  ])
}

function paragraphBlock(children: readonly Inline[]): Block {
  return { type: 'paragraph', children }
}

function innerPageHtml(html: string): string {
  return html === '' ? '' : html.slice(bodyTagEnd(html), html.lastIndexOf('</body>'))
}

function bodyTagEnd(html: string): number {
  return html.indexOf('>', html.indexOf('<body')) + 1
}

// The tree as the two halves of a mail: HTML for clients that show it, text for all others.
import type { Root } from '../tree.ts'
import { mailHtml } from './mail-html.ts'
import { mailText } from './mail-text.ts'

export type MailBody = { readonly html: string; readonly text: string }

/** Both empty where there is nothing to say. */
export function renderMail(root: Root, options: { readonly lang?: string } = {}): MailBody {
  const text = mailText(root)
  return text.trim() === '' ? { html: '', text: '' } : { html: mailHtml(root, options.lang), text }
}

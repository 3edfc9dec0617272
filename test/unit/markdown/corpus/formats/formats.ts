// Every face as a reader and a platform see it.
import { blocks, markdownText, mrkdwn } from './chat-formats.ts'
import { entities } from './entities-format.ts'
import { mailHtml, mailText, note } from './html-formats.ts'
import { markdown, plain } from './markdown-formats.ts'
import type { Face } from './shown.ts'

export const faces: Readonly<Record<string, Face>> = {
  blocks,
  mrkdwn,
  markdownText,
  entities,
  mailHtml,
  mailText,
  note,
  markdown,
  plain,
}

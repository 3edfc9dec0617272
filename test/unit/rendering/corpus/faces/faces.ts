// Every face as a reader and a platform see it.
import { blocks, markdownText, mrkdwn } from './chat-faces.ts'
import { entities } from './entities-face.ts'
import { mailHtml, mailText, note } from './html-faces.ts'
import { markdown, plain } from './markdown-faces.ts'
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

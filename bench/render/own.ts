// Our renderers, each from Markdown to what its channel would send, and all of them from one tree.

import { renderNoteThread } from '../../adapters/activitypub/render/note.ts'
import { renderMail } from '../../adapters/email/render/body.ts'
import { renderBlocks } from '../../adapters/slack/render/blocks.ts'
import { renderMrkdwn } from '../../adapters/slack/render/mrkdwn.ts'
import { renderEntityPieces } from '../../adapters/telegram/render/entities.ts'
import { parseMarkdown, type Root, renderMarkdown } from '../../src/markdown/index.ts'

export type Renderer = (markdown: string) => unknown

const entityLimits = { limit: 4_096, maxRanges: 100, maxBytes: 32_768 }

const faces: Readonly<Record<string, (root: Root) => unknown>> = {
  blocks: (root) => renderBlocks(root),
  entities: (root) => renderEntityPieces(root, entityLimits),
  mail: (root) => renderMail(root),
  note: (root) => renderNoteThread(root),
  markdown: (root) => renderMarkdown(root, 12_000),
}

export const own: Readonly<Record<string, Renderer>> = {
  parse: (markdown) => parseMarkdown(markdown),
  mrkdwn: (markdown) => renderMrkdwn(parseMarkdown(markdown), 3_000),
  ...Object.fromEntries(
    Object.entries(faces).map(([name, face]) => [name, (markdown: string) => face(parseMarkdown(markdown))]),
  ),
  'five-faces': (markdown) => {
    const root = parseMarkdown(markdown)
    return Object.values(faces).map((face) => face(root))
  },
}

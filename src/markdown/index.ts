// The public entry of rendering: what adapters may use to turn a reply into text their channel accepts. A reply becomes one tree, the tree
// is cut into pieces a platform takes, and each platform has its face. By folder:

// The tree in pieces a platform accepts
export { chunkTree } from './chunk.ts'
export type { Fit } from './chunk-size.ts'
export { chunkText } from './chunk-text.ts'
// The tree as a mail
export { type MailBody, quoteText, renderMail } from './formats/email-body.ts'
// The tree as posts of small, safe HTML
export { type Note, type NoteOptions, noteLength, renderNote } from './formats/fediverse-note.ts'
export { type BlocksMessage, policyBlocks, renderBlocks } from './formats/slack-blocks.ts'
export { renderMarkdownText } from './formats/slack-markdown-text.ts'
export { renderMrkdwn } from './formats/slack-mrkdwn.ts'
// The tree as blocks of a chat platform, with its old markup and its buttons
export type { BlocksOptions } from './formats/slack-options.ts'
// The tree as text with ranges
export {
  type EntityChunk,
  type EntityLimits,
  entitiesHtml,
  entityChunks,
  renderEntities,
} from './formats/telegram-entities.ts'
// Words inside HTML that we write ourselves
export { escapeHtml } from './html.ts'
// HTML from outside as text
export { type HtmlTextOptions, htmlToText } from './html-to-text/html-to-text.ts'
export { withoutInvisible } from './html-to-text/invisible-characters.ts'
// Markdown to the tree, at once or when it is asked for, as it was written, and the tree as Markdown
export { createLazyTree, parseMarkdown } from './parse.ts'
// The tree as plain text
// A reply as it was written, as text or as a tree
export { partsText, plainText, renderPlain } from './plain-text.ts'
export { plainTree } from './plain-tree.ts'
export type { FilePart } from './reply-tree.ts'
export { type ReplyTreeOptions, replyFiles, replyTree } from './reply-tree.ts'
// HTML from outside as a safe subset
export { safeHtml } from './safe-html.ts'
export { safeMarkdown } from './safe-markdown.ts'
// A text that is still growing
export { type SealedChunks, sealChunks, streamTree } from './stream.ts'
export type { Entity, EntityPiece } from './styled-text.ts'
// The tree itself
export type * from './tree.ts'
export { renderMarkdown, writeMarkdown } from './write.ts'

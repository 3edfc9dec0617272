// The public entry of rendering: what adapters may use to turn a reply into text their channel accepts. A reply becomes one tree, the tree
// is cut into pieces a platform takes, and each platform has its face. By folder:

// The tree as blocks of a chat platform, with its old markup and its buttons
export type { BlocksOptions } from './blocks/options.ts'
export { policyBlocks } from './blocks/policy-blocks.ts'
export { type BlocksMessage, renderBlocks } from './blocks/render-blocks.ts'
export { renderMarkdownText } from './blocks/render-markdown-text.ts'
export { renderMrkdwn } from './blocks/render-mrkdwn.ts'
// The tree in pieces a platform accepts
export { chunkTree } from './chunk/chunk-tree.ts'
export type { Fit } from './chunk/fit.ts'
export { chunkText } from './chunk-text.ts'
// The tree as text with ranges
export { entitiesHtml } from './entities/entities-html.ts'
export type { Entity, EntityPiece } from './entities/entity.ts'
export { type EntityChunk, type EntityLimits, entityChunks, renderEntities } from './entities/render-entities.ts'
// Words inside HTML that we write ourselves
export { escapeHtml } from './html/escape-html.ts'
// HTML from outside as text
export { type HtmlTextOptions, htmlToText } from './html-text/html-to-text.ts'
export { withoutInvisible } from './html-text/invisible-characters.ts'
// The tree as a mail
export { quoteText } from './mail/quote-text.ts'
export { type MailBody, renderMail } from './mail/render-mail.ts'
// Markdown to the tree, at once or when it is asked for, as it was written, and the tree as Markdown
export { createLazyTree } from './markdown/lazy-tree.ts'
export { parseMarkdown } from './markdown/parse-markdown.ts'
export { safeMarkdown } from './markdown/safe-markdown.ts'
export { renderMarkdown, writeMarkdown } from './markdown/write-markdown.ts'
// The tree as posts of small, safe HTML
export { noteLength } from './note/note-length.ts'
export { type Note, type NoteOptions, renderNote } from './note/render-note.ts'
export type { FilePart } from './part-line.ts'
// The tree as plain text
export { renderPlain } from './plain/render-plain.ts'
// A reply as it was written, as text or as a tree
export { partsText, plainText } from './plain-text.ts'
export { plainTree } from './plain-tree.ts'
export { type ReplyTreeOptions, replyFiles, replyTree } from './reply-tree.ts'
// HTML from outside as a safe subset
export { safeHtml } from './safe-html.ts'
// A text that is still growing
export { type SealedChunks, sealChunks } from './stream/seal-chunks.ts'
export { streamTree } from './stream/stream-tree.ts'
// The tree itself
export type * from './tree.ts'

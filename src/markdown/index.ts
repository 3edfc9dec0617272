// The public entry of markdown: what adapters may use to turn a reply into text their channel accepts. A reply becomes one tree,
// the tree is cut into pieces a platform takes, and each platform has its renderer.

// The tree in pieces a platform accepts
export type { FilePart } from '../contract/parts.ts'
export { chunkTree, type Fit, sumOfBlocks } from './chunk.ts'
export { chunkText, cutPoint } from './chunk-text.ts'
// The tree as HTML of few tags, and words inside HTML that we write ourselves
// HTML and Markdown from outside as a safe subset
export { blocksHtml, element, escapeHtml, type HtmlFace, inlineHtml, safeHtml } from './html.ts'
// HTML from outside as text
export { type HtmlTextOptions, htmlToText } from './html-to-text/html-to-text.ts'
export { withoutInvisible } from './html-to-text/invisible-characters.ts'
// An address a reader may be sent to
export { safeUrl } from './links.ts'
// Markdown to the tree, at once or when it is asked for
export { createLazyTree, parseMarkdown } from './parse.ts'
export { plainTree } from './plain-tree.ts'
// A reply as plain text, as it was written or from the tree
// A reply as one tree
export {
  type Policy,
  partsText,
  plainText,
  policyAction,
  policyText,
  type ReplyTreeOptions,
  renderPlain,
  replyFiles,
  replyTree,
} from './reply-tree.ts'
export { safeMarkdown } from './safe-markdown.ts'
// A text that is still growing
export { type SealedChunks, sealChunks, streamTree } from './stream.ts'
// The tree as a text and the ranges over it
export { type Draft, type Range, writeBlocks } from './styled-text.ts'
// Tables where a platform has none
export { alignedTable, displayWidth, tableAsCode, tableAsList } from './table.ts'
// The tree itself
export type * from './tree.ts'
// Words of inline nodes without formatting, and whether there is anything to read
export { inlineText, isBlank, lineText } from './tree.ts'
// The tree as Markdown
export { renderMarkdown, writeMarkdown } from './write.ts'

// The rendering door: what adapters may use to turn a reply into text their channel accepts.

// The tree in pieces a platform accepts
export { chunkTree } from './chunk/chunk-tree.ts'
export type { Fit } from './chunk/fit.ts'
// Plain text and HTML from outside
export { chunkText } from './chunk-text.ts'
export { createLazyTree } from './markdown/lazy-tree.ts'
// Text to the one tree
export { parseMarkdown } from './markdown/parse-markdown.ts'
export { partsText, plainText } from './plain-text.ts'
export { plainTree } from './plain-tree.ts'
export { safeHtml } from './safe-html.ts'
export type * from './tree.ts'

// The rendering door: what adapters may use to turn a reply into text their channel accepts.

export { chunkTree } from './chunk/chunk-tree.ts'
export type { Fit } from './chunk/fit.ts'
export { chunkText } from './chunk-text.ts'
export { partsText, plainText } from './plain-text.ts'
export { safeHtml } from './safe-html.ts'

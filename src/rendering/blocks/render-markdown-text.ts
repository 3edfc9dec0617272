// The tree for the platform's own Markdown field: standard Markdown in which no token of the platform is live.
import { chunkTree } from '../chunk/chunk-tree.ts'
import { writeMarkdown } from '../markdown/write-markdown.ts'
import { sumOfBlocks } from '../sum-of-blocks.ts'
import type { Block, Root } from '../tree.ts'
import { limits } from './limits.ts'
import { inertBroadcasts } from './mrkdwn-escape.ts'
import { liveTokens, withTokens } from './native-tokens.ts'
import type { BlocksOptions } from './options.ts'

export function renderMarkdownText(
  root: Root,
  limit: number = limits.message,
  options: BlocksOptions = {},
): readonly string[] {
  const write = (blocks: readonly Block[]) =>
    withTokens(neutralizeTokens(writeMarkdown({ type: 'root', children: blocks })))
  const sizeOf = sumOfBlocks((block) => write([block]).length + seam)
  return chunkTree(liveTokens(root, options), { limit: limit + seam, sizeOf })
    .map(({ children }) => write(children))
    .filter((text) => text.trim() !== '')
}

const seam = '\n\n'.length
const zeroWidth = '\u200b'
const token = /(\\?)<(?=!(?:channel|here|everyone|group|subteam\^|date\^)|[@#][A-Za-z0-9])/gi
const room = /(?<!\\)&#64;(?=(?:all|channel|everyone|here)\b)/gi

/**
 * The platform may look for its tokens before it reads the Markdown, so a backslash is not enough: in words `<` is written as
 * it asks for. In code, where that would be seen, and in `@channel` a zero-width space breaks the token.
 */
function neutralizeTokens(markdown: string): string {
  const words = markdown
    .replace(token, (_, backslash: string) => (backslash === '' ? `<${zeroWidth}` : '&lt;'))
    .replace(room, '@')
  return inertBroadcasts(words)
}

// The tree for the platform's own Markdown field: standard Markdown in which no token of the platform is live.
import { chunkTree } from '../chunk.ts'
import { sumOfBlocks } from '../chunk-size.ts'
import type { Block, Inline, Root } from '../tree.ts'
import { writeMarkdown } from '../write.ts'
import { inertBroadcasts } from './slack-mrkdwn.ts'
import { type BlocksOptions, limits, resolveUserId, splitBroadcasts } from './slack-options.ts'

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

// Tokens that are meant to be live pass through the Markdown writer as private-use characters that no text contains, and come out as tokens.

// From the private use area; in any text of the tree they are taken out first.
const user = '\ue000'
const everybody = '\ue001'
const end = '\ue002'
const reserved = /[\ue000-\ue002]/g
const written = /(\ue000|\ue001|&#5734[45];)([A-Za-z0-9]+)(?:\ue002|&#57346;)/g

function liveTokens(root: Root, options: BlocksOptions): Root {
  return { type: 'root', children: root.children.map((block) => tokensInBlock(block, options)) }
}

function withTokens(markdown: string): string {
  return markdown.replace(written, (_, mark: string, id: string) =>
    mark === user || mark === '&#57344;' ? `<@${id}>` : `<!${id}>`,
  )
}

function tokensInBlock(block: Block, options: BlocksOptions): Block {
  switch (block.type) {
    case 'paragraph':
    case 'heading':
      return { ...block, children: inInlines(block.children, options) }
    case 'blockquote':
      return { ...block, children: block.children.map((child) => tokensInBlock(child, options)) }
    case 'list': {
      const inItem = (child: Block) => tokensInBlock(child, options)
      return { ...block, children: block.children.map((item) => ({ ...item, children: item.children.map(inItem) })) }
    }
    case 'code':
      return { ...block, value: block.value.replace(reserved, '') }
    case 'table': {
      const rows = block.children.map((row) => ({
        ...row,
        children: row.children.map((cell) => ({ ...cell, children: inInlines(cell.children, options) })),
      }))
      return { ...block, children: rows }
    }
    case 'thematicBreak':
      return block
    default:
      return block satisfies never
  }
}

function inInlines(children: readonly Inline[], options: BlocksOptions): readonly Inline[] {
  return children.map((node) => tokensInInline(node, options))
}

function tokensInInline(node: Inline, options: BlocksOptions): Inline {
  switch (node.type) {
    case 'text':
      return { type: 'text', value: withBroadcasts(node.value.replace(reserved, ''), options) }
    case 'inlineCode':
      return { type: 'inlineCode', value: node.value.replace(reserved, '') }
    case 'strong':
    case 'emphasis':
    case 'delete':
      return { ...node, children: inInlines(node.children, options) }
    case 'link':
      // A label notifies no user.
      return { ...node, children: inInlines(node.children, {}) }
    case 'break':
      return node
    case 'mention': {
      const id = resolveUserId(node.name, options)
      return { type: 'text', value: id === undefined ? node.name.replace(reserved, '') : user + id + end }
    }
    default:
      return node satisfies never
  }
}

function withBroadcasts(text: string, options: BlocksOptions): string {
  const pieces = splitBroadcasts(text, options)
  return pieces.map((piece, index) => (index % 2 === 0 ? piece : everybody + piece + end)).join('')
}

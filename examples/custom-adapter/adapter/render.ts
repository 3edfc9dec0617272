// A reply as messages in the platform's own Markdown. Pure.
import {
  type Block,
  chunkTree,
  type Inline,
  type JsonObject,
  type List,
  type NormalizedResponse,
  replyTree,
  sumOfBlocks,
  tableAsCode,
} from 'parley-gateway'
import { type Call, maxContent, replyToSchema } from './wire.ts'

const seam = '\n\n'

export function renderReply(
  reply: NormalizedResponse,
  to: JsonObject,
): readonly { readonly call: Call; readonly primary: boolean }[] {
  const { reply_to_token: token } = replyToSchema.parse(to)
  const sizeOf = sumOfBlocks((block) => blockText(block).length + seam.length)
  return (
    chunkTree(replyTree(reply), { limit: maxContent, sizeOf })
      .map(({ children }) => blocksText(children))
      .filter((content) => content.trim() !== '')
      // No name in a reply notifies a person, whatever it looks like.
      .map((content) => ({ call: { token, body: { content, allowed_mentions: { parse: [] } } }, primary: true }))
  )
}

function blocksText(blocks: readonly Block[]): string {
  return blocks
    .map(blockText)
    .filter((text) => text !== '')
    .join(seam)
}

function blockText(block: Block): string {
  switch (block.type) {
    case 'paragraph':
      return inlineText(block.children)
    case 'heading':
      // Three sizes are all there are.
      return `${'#'.repeat(Math.min(block.depth, 3))} ${inlineText(block.children).replaceAll('\n', ' ')}`
    case 'blockquote':
      return blocksText(block.children).replace(/^/gm, '> ')
    case 'list':
      return listText(block)
    case 'code':
      // A fence inside would end this one.
      return `\`\`\`${block.lang ?? ''}\n${block.value.replace(/`(?=``)/g, '`\u200b')}\n\`\`\``
    case 'table':
      return tableAsCode(block).map(blockText).join('\n')
    case 'thematicBreak':
      return '—'
    default:
      return block satisfies never
  }
}

function listText({ ordered, start, children }: List): string {
  return children
    .map(({ checked, children: blocks }, index) => {
      const task = checked === null ? '' : checked ? '☑ ' : '☐ '
      const text = blocks
        .map(blockText)
        .filter((each) => each !== '')
        .join('\n')
      return `${ordered ? `${start + index}.` : '-'} ${task}${text.replaceAll('\n', '\n  ')}`
    })
    .join('\n')
}

function inlineText(nodes: readonly Inline[]): string {
  return nodes.map(nodeText).join('')
}

function nodeText(node: Inline): string {
  switch (node.type) {
    case 'text':
      return escapeText(node.value)
    case 'mention':
      return escapeText(node.name)
    case 'strong':
      return `**${inlineText(node.children)}**`
    case 'emphasis':
      return `*${inlineText(node.children)}*`
    case 'delete':
      return `~~${inlineText(node.children)}~~`
    case 'inlineCode':
      return `\`\`${node.value.replaceAll('`', 'ˋ')}\`\``
    case 'break':
      return '\n'
    case 'link':
      return `[${inlineText(node.children)}](<${node.url.replaceAll('>', '%3E')}>)`
    default:
      return node satisfies never
  }
}

/** Words stay words: every sign that could begin a mark, a quote, a heading, a list or a mention has a backslash. */
function escapeText(text: string): string {
  return text.replace(/[\\*_~`|<>[\]()#@:-]/g, '\\$&')
}

// The tree as Slack's two markups: mrkdwn, for fields that accept nothing else, and the Markdown of the field `markdown_text`.
import {
  type Block,
  chunkTree,
  type Inline,
  inlineText,
  type List,
  type Root,
  sumOfBlocks,
  tableAsCode,
  writeMarkdown,
} from '../../../src/markdown/index.ts'
import { limits } from '../wire.ts'

// What a caller may allow beyond plain words, and how an id of a Slack user is recognised.

export type MentionOptions = {
  /** The platform's id of a user who may be notified; without one the name is only text. */
  readonly userIdOf?: (name: string) => string | undefined
  /** The conversation has granted that `<!channel>` and its like notify all members. */
  readonly broadcasts?: boolean
}

const nativeId = /^[A-Za-z0-9]{1,64}$/

/** An id that could end its own token is no id. */
export function resolveUserId(name: string, options: MentionOptions): string | undefined {
  const id = options.userIdOf?.(name)
  return id !== undefined && nativeId.test(id) ? id : undefined
}

/** Texts and granted broadcasts in turn: odd places hold the range. */
export function splitBroadcasts(text: string, options: MentionOptions): readonly string[] {
  return options.broadcasts === true ? text.split(/<!(channel|here|everyone)>/) : [text]
}

// The tree as mrkdwn.

const seam = '\n\n'

export function renderMrkdwn(root: Root, limit: number, options: MentionOptions = {}): readonly string[] {
  const sizeOf = sumOfBlocks((block) => blockToMrkdwn(block, options).length + seam.length)
  return chunkTree(root, { limit: limit + seam.length, sizeOf })
    .map((piece) => mrkdwnText(piece.children, options))
    .filter((text) => text.trim() !== '')
}

/** In one piece. */
export function mrkdwnText(blocks: readonly Block[], options: MentionOptions, between = seam): string {
  const texts: string[] = []
  for (const block of blocks) {
    const text = blockToMrkdwn(block, options)
    if (text !== '') texts.push(text)
  }
  return texts.join(between)
}

function blockToMrkdwn(block: Block, options: MentionOptions): string {
  switch (block.type) {
    case 'paragraph':
      return inlineToMrkdwn(block.children, options)
    case 'heading':
      return wrapInMark('*', block.children, options, nothingAround)
    case 'blockquote':
      // Only one level is read, and only one mark on a line.
      return mrkdwnText(block.children, options)
        .split('\n')
        .map((line) => (line.startsWith('> ') ? line : `> ${line}`))
        .join('\n')
    case 'list':
      return listToMrkdwn(block, options)
    case 'code': {
      // A fence inside would end ours.
      const inside = escapeSlackEntities(defuseBroadcasts(block.value)).replace(/`(?=``)/g, '`\u200b')
      return `\`\`\`\n${inside}\n\`\`\``
    }
    case 'table':
      return tableAsCode(block)
        .map((part) => blockToMrkdwn(part, options))
        .join('\n')
    case 'thematicBreak':
      return '———'
    default:
      return block satisfies never
  }
}

function listToMrkdwn({ ordered, start, children }: List, options: MentionOptions): string {
  const items = children.map(({ checked, children: inside }, index) => {
    const marker = ordered ? `${start + index}.` : '•'
    const task = checked === null ? '' : checked ? '☑ ' : '☐ '
    return `${marker} ${task}${mrkdwnText(inside, options, '\n').replaceAll('\n', '\n    ')}`
  })
  return items.join('\n')
}

// Words that must stay words in mrkdwn.

const zeroWidth = '\u200b'

/** In this order, in all text and in code as well. */
function escapeSlackEntities(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

/** Also keeps words that look like marks, quotes or broadcasts from being read as such. */
function escapeMrkdwnText(text: string): string {
  // Without any of these it says nothing but its words.
  if (!/[&<>`*_~@]/.test(text)) return text
  const words = withoutBackticks(text)
  const plain = /[*_~]/.test(words) ? words.split('\n').map(breakMarksInLine).join('\n') : words
  return escapeSlackEntities(defuseBroadcasts(plain)).replace(/^&gt;/gm, `${zeroWidth}&gt;`)
}

/** The markup cannot show this character inside code or beside it; the other one looks the same. */
function withoutBackticks(text: string): string {
  return text.replaceAll('`', 'ˋ')
}

/** `@channel` and its like notify where an app asks Slack to link names. */
function defuseBroadcasts(text: string): string {
  return text.replace(/(?<![A-Za-z0-9])@(?=(?:channel|here|everyone)\b)/gi, `@${zeroWidth}`)
}

const marks = ['*', '_', '~'] as const
const opening = {
  '*': /(?<![\p{L}\p{N}*])\*(?=[^\s*])/gu,
  _: /(?<![\p{L}\p{N}_])_(?=[^\s_])/gu,
  '~': /(?<![\p{L}\p{N}~])~(?=[^\s~])/gu,
}

/** A zero-width space only behind a mark that would open something: another one follows it on the same line. */
function breakMarksInLine(line: string): string {
  return marks.reduce((result, mark) => {
    const last = result.lastIndexOf(mark)
    return result.replace(opening[mark], (_, at: number) => (at < last ? `${mark}${zeroWidth}` : mark))
  }, line)
}

// Inline nodes in mrkdwn, which has no escape for its own marks and wants them at the edges of words.

type Mark = '*' | '_' | '~'

/** `marks` are open around the nodes; `before` and `after` are the characters next to them. */
type Around = { readonly marks: string; readonly before: string; readonly after: string }

const nothingAround: Around = { marks: '', before: '', after: '' }

function inlineToMrkdwn(children: readonly Inline[], options: MentionOptions, around = nothingAround): string {
  let text = ''
  for (const [index, node] of children.entries()) {
    const next = children[index + 1]
    const here: Around = {
      marks: around.marks,
      before: text === '' ? around.before : text.slice(-1),
      after: next === undefined ? around.after : inlineText([next]).slice(0, 1),
    }
    switch (node.type) {
      case 'text':
        for (const [at, piece] of splitBroadcasts(node.value, options).entries())
          text += at % 2 === 0 ? escapeMrkdwnText(piece) : `<!${piece}>`
        break
      case 'strong':
        text += wrapInMark('*', node.children, options, here)
        break
      case 'emphasis':
        text += wrapInMark('_', node.children, options, here)
        break
      case 'delete':
        text += wrapInMark('~', node.children, options, here)
        break
      case 'inlineCode': {
        const code = escapeSlackEntities(defuseBroadcasts(withoutBackticks(node.value)))
        text += node.value.trim() === '' ? node.value : `\`${code}\``
        break
      }
      case 'break':
        text += '\n'
        break
      case 'link':
        text += mrkdwnLink(node.url, inlineText(node.children))
        break
      case 'mention': {
        const id = resolveUserId(node.name, options)
        text += id === undefined ? escapeMrkdwnText(node.name) : `<@${id}>`
        break
      }
      default:
        node satisfies never
    }
  }
  return text
}

const edge = /^[\s.,;:!?'"()[\]{}/…–—*_~-]?$/

/** Marks only where the platform would read them as marks; elsewhere the words stay plain. */
function wrapInMark(mark: Mark, children: readonly Inline[], options: MentionOptions, around: Around): string {
  // `**Label:**text` as models write it: with a space the mark is one again.
  if (around.after !== '' && /:$/.test(inlineText(children)) && !edge.test(around.after)) {
    return `${wrapInMark(mark, children, options, { ...around, after: ' ' })} `
  }
  if (around.marks.includes(mark) || !isReadAsMark(mark, inlineText(children), around)) {
    return inlineToMrkdwn(children, options, around)
  }
  const inner = inlineToMrkdwn(children, options, { marks: around.marks + mark, before: mark, after: mark })
  const lead = inner.slice(0, inner.length - inner.trimStart().length)
  const tail = inner.slice(inner.trimEnd().length)
  return `${lead}${mark}${inner.trim()}${mark}${tail}`
}

function isReadAsMark(mark: Mark, text: string, around: Around): boolean {
  const words = text.trim()
  if (words === '' || words.includes('\n') || words.includes(mark)) return false
  const before = text.startsWith(words) ? around.before : ' '
  const after = text.endsWith(words) ? around.after : ' '
  return edge.test(before) && edge.test(after)
}

function mrkdwnLink(url: string, label: string): string {
  if (url.length > limits.url) return escapeMrkdwnText(label)
  const address = url.replaceAll('|', '%7C').replaceAll('<', '%3C').replaceAll('>', '%3E').replaceAll('&', '&amp;')
  const words = label.replace(/\s+/g, ' ').trim()
  return words === '' || words === url
    ? `<${address}>`
    : `<${address}|${escapeSlackEntities(words.replaceAll('|', '¦'))}>`
}

// The tree for the Markdown field: standard Markdown in which no token of Slack is live.

export function renderMarkdownText(
  root: Root,
  limit: number = limits.message,
  options: MentionOptions = {},
): readonly string[] {
  const writeMarkdownWithTokens = (blocks: readonly Block[]) =>
    restoreTokens(neutralizeTokens(writeMarkdown({ type: 'root', children: blocks })))
  const sizeOf = sumOfBlocks((block) => writeMarkdownWithTokens([block]).length + seam.length)
  return chunkTree(markTokensInTree(root, options), { limit: limit + seam.length, sizeOf })
    .map(({ children }) => writeMarkdownWithTokens(children))
    .filter((text) => text.trim() !== '')
}

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
  return defuseBroadcasts(words)
}

// Tokens that are meant to be live pass through the Markdown writer as private-use characters that no text contains, and come out as tokens.

// From the private use area; in any text of the tree they are taken out first.
const user = '\ue000'
const everybody = '\ue001'
const end = '\ue002'
const reserved = /[\ue000-\ue002]/g
const written = /(\ue000|\ue001|&#5734[45];)([A-Za-z0-9]+)(?:\ue002|&#57346;)/g

function markTokensInTree(root: Root, options: MentionOptions): Root {
  return { type: 'root', children: root.children.map((block) => markTokensInBlock(block, options)) }
}

function restoreTokens(markdown: string): string {
  return markdown.replace(written, (_, mark: string, id: string) =>
    mark === user || mark === '&#57344;' ? `<@${id}>` : `<!${id}>`,
  )
}

function markTokensInBlock(block: Block, options: MentionOptions): Block {
  switch (block.type) {
    case 'paragraph':
    case 'heading':
      return { ...block, children: markTokensInInlines(block.children, options) }
    case 'blockquote':
      return { ...block, children: block.children.map((child) => markTokensInBlock(child, options)) }
    case 'list': {
      const markTokensInChild = (child: Block) => markTokensInBlock(child, options)
      return {
        ...block,
        children: block.children.map((item) => ({ ...item, children: item.children.map(markTokensInChild) })),
      }
    }
    case 'code':
      return { ...block, value: block.value.replace(reserved, '') }
    case 'table': {
      const rows = block.children.map((row) => ({
        ...row,
        children: row.children.map((cell) => ({ ...cell, children: markTokensInInlines(cell.children, options) })),
      }))
      return { ...block, children: rows }
    }
    case 'thematicBreak':
      return block
    default:
      return block satisfies never
  }
}

function markTokensInInlines(children: readonly Inline[], options: MentionOptions): readonly Inline[] {
  return children.map((node) => markTokensInInline(node, options))
}

function markTokensInInline(node: Inline, options: MentionOptions): Inline {
  switch (node.type) {
    case 'text':
      return { type: 'text', value: markBroadcasts(node.value.replace(reserved, ''), options) }
    case 'inlineCode':
      return { type: 'inlineCode', value: node.value.replace(reserved, '') }
    case 'strong':
    case 'emphasis':
    case 'delete':
      return { ...node, children: markTokensInInlines(node.children, options) }
    case 'link':
      // A label notifies no user.
      return { ...node, children: markTokensInInlines(node.children, {}) }
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

function markBroadcasts(text: string, options: MentionOptions): string {
  const pieces = splitBroadcasts(text, options)
  return pieces.map((piece, index) => (index % 2 === 0 ? piece : everybody + piece + end)).join('')
}

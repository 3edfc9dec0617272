// Inline nodes in the platform's old markup, which has no escape for its own marks and wants them at the edges of words.
import { inlineText } from '../table/inline-text.ts'
import type { Inline } from '../tree.ts'
import { limits } from './limits.ts'
import { escapeLiteral, escapeText, inertBroadcasts, withoutBackticks } from './mrkdwn-escape.ts'
import { type BlocksOptions, resolveUserId, splitBroadcasts } from './options.ts'

type Mark = '*' | '_' | '~'

/** `marks` are open around the nodes; `before` and `after` are the characters next to them. */
type Around = { readonly marks: string; readonly before: string; readonly after: string }

const nothingAround: Around = { marks: '', before: '', after: '' }

export function mrkdwnInline(children: readonly Inline[], options: BlocksOptions): string {
  return inlineToMrkdwn(children, nothingAround, options)
}

export function mrkdwnBold(children: readonly Inline[], options: BlocksOptions): string {
  return wrapInMark('*', children, nothingAround, options)
}

function inlineToMrkdwn(children: readonly Inline[], around: Around, options: BlocksOptions): string {
  let text = ''
  children.forEach((node, index) => {
    const next = children[index + 1]
    const before = text === '' ? around.before : text.slice(-1)
    const after = next === undefined ? around.after : inlineText([next]).slice(0, 1)
    text += nodeToMrkdwn(node, { marks: around.marks, before, after }, options)
  })
  return text
}

function nodeToMrkdwn(node: Inline, around: Around, options: BlocksOptions): string {
  switch (node.type) {
    case 'text':
      return splitBroadcasts(node.value, options)
        .map((piece, index) => (index % 2 === 0 ? escapeText(piece) : `<!${piece}>`))
        .join('')
    case 'strong':
      return wrapInMark('*', node.children, around, options)
    case 'emphasis':
      return wrapInMark('_', node.children, around, options)
    case 'delete':
      return wrapInMark('~', node.children, around, options)
    case 'inlineCode':
      return node.value.trim() === ''
        ? node.value
        : `\`${escapeLiteral(inertBroadcasts(withoutBackticks(node.value)))}\``
    case 'break':
      return '\n'
    case 'link':
      return mrkdwnLink(node.url, inlineText(node.children))
    case 'mention':
      return mentionText(node.name, options)
    default:
      return node satisfies never
  }
}

const edge = /^[\s.,;:!?'"()[\]{}/…–—*_~-]?$/

/** Marks only where the platform would read them as marks; elsewhere the words stay plain. */
function wrapInMark(mark: Mark, children: readonly Inline[], around: Around, options: BlocksOptions): string {
  // `**Label:**text` as models write it: with a space the mark is one again.
  if (around.after !== '' && /:$/.test(inlineText(children)) && !edge.test(around.after)) {
    return `${wrapInMark(mark, children, { ...around, after: ' ' }, options)} `
  }
  if (around.marks.includes(mark) || !isReadAsMark(mark, inlineText(children), around)) {
    return inlineToMrkdwn(children, around, options)
  }
  const inner = inlineToMrkdwn(children, { marks: around.marks + mark, before: mark, after: mark }, options)
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
  if (url.length > limits.url) return escapeText(label)
  const address = url.replaceAll('|', '%7C').replaceAll('<', '%3C').replaceAll('>', '%3E').replaceAll('&', '&amp;')
  const words = label.replace(/\s+/g, ' ').trim()
  return words === '' || words === url ? `<${address}>` : `<${address}|${escapeLiteral(words.replaceAll('|', '¦'))}>`
}

function mentionText(name: string, options: BlocksOptions): string {
  const id = resolveUserId(name, options)
  return id === undefined ? escapeText(name) : `<@${id}>`
}

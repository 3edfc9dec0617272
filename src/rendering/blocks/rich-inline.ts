// Inline nodes as elements of a rich_text section: the platform reads no markup in them, so nothing is escaped.
import type { JsonObject } from '../../contract/index.ts'
import { inlineText } from '../table/inline-text.ts'
import type { Inline } from '../tree.ts'
import { limits } from './limits.ts'
import { type BlocksOptions, resolveUserId, splitBroadcasts } from './options.ts'

type Style = { readonly [mark in 'bold' | 'italic' | 'strike' | 'code']?: true }

export function richInline(
  children: readonly Inline[],
  options: BlocksOptions,
  style: Style = {},
): readonly JsonObject[] {
  return mergeRichElements(children.flatMap((node) => inlineToRichElements(node, options, style)))
}

export function textElement(text: string, style: Style = {}): JsonObject {
  return Object.keys(style).length === 0 ? { type: 'text', text } : { type: 'text', text, style }
}

/** Headings are bold where the platform has no heading; a mark inside cannot make them bolder. */
export function boldInline(children: readonly Inline[], options: BlocksOptions): readonly JsonObject[] {
  return richInline(children, options, { bold: true })
}

function inlineToRichElements(node: Inline, options: BlocksOptions, style: Style): readonly JsonObject[] {
  switch (node.type) {
    case 'text':
      return splitBroadcasts(node.value, options).map((piece, index) =>
        index % 2 === 0 ? textElement(piece, style) : { type: 'broadcast', range: piece },
      )
    case 'strong':
      return richInline(node.children, options, { ...style, bold: true })
    case 'emphasis':
      return richInline(node.children, options, { ...style, italic: true })
    case 'delete':
      return richInline(node.children, options, { ...style, strike: true })
    case 'inlineCode':
      return [textElement(node.value, { ...style, code: true })]
    case 'break':
      return [textElement('\n', style)]
    case 'link':
      return linkElements(node.url, node.children, style)
    case 'mention':
      return [mentionElement(node.name, options, style)]
    default:
      return node satisfies never
  }
}

/** One element for each style in the label; a label notifies no user. */
function linkElements(url: string, children: readonly Inline[], style: Style): readonly JsonObject[] {
  const label = inlineText(children).trim() === '' ? [textElement(url, style)] : richInline(children, {}, style)
  return url.length > limits.url ? label : label.map((element) => ({ ...element, type: 'link', url }))
}

function mentionElement(name: string, options: BlocksOptions, style: Style): JsonObject {
  const id = resolveUserId(name, options)
  return id === undefined ? textElement(name, style) : { type: 'user', user_id: id }
}

/** Neighbours of one style are one text, and nothing is empty: the platform refuses empty texts. */
function mergeRichElements(elements: readonly JsonObject[]): readonly JsonObject[] {
  const result: JsonObject[] = []
  for (const element of elements) {
    if (element['text'] === '') continue
    const last = result.at(-1)
    if (last !== undefined && areOneText(last, element)) {
      result[result.length - 1] = { ...last, text: `${String(last['text'])}${String(element['text'])}` }
    } else result.push(element)
  }
  return result
}

function areOneText(a: JsonObject, b: JsonObject): boolean {
  return a['type'] === 'text' && b['type'] === 'text' && JSON.stringify(a['style']) === JSON.stringify(b['style'])
}

// Blocks as elements of a rich_text block: sections, lists, quotes, preformatted text.
import type { JsonObject } from '../../../src/lib/index.ts'
import {
  type Block,
  type Inline,
  inlineText,
  type List,
  type ListItem,
  tableAsCode,
} from '../../../src/markdown/index.ts'
import { type BlocksOptions, limits, resolveUserId, splitBroadcasts } from './options.ts'

export function richElements(blocks: readonly Block[], place: Place): readonly JsonObject[] {
  return withoutSeams(blocks.flatMap((block) => blockToRichElements(block, place)))
}

function blockToRichElements(block: Block, place: Place): readonly JsonObject[] {
  switch (block.type) {
    case 'paragraph':
      return richParagraph(richInline(block.children, place.options), place)
    case 'heading':
      return richParagraph(boldInline(block.children, place.options), place)
    case 'blockquote':
      return richElements(block.children, { ...place, isQuoted: true })
    case 'list':
      return listElements(block, place, richElements)
    case 'code':
      return [preformatted(block.value, place)]
    case 'table':
      return richElements(tableAsCode(block), place)
    case 'thematicBreak':
      return richParagraph([textElement('———')], place)
    default:
      return block satisfies never
  }
}

function richParagraph(elements: readonly JsonObject[], { isQuoted }: Place): readonly JsonObject[] {
  return elements.length === 0 ? [] : [{ type: isQuoted ? 'rich_text_quote' : 'rich_text_section', elements }]
}

function preformatted(value: string, place: Place): JsonObject {
  const elements = [textElement(value === '' ? ' ' : value)]
  return { type: 'rich_text_preformatted', elements, ...quoteBorder(place) }
}

/** Neighbouring paragraphs are one element with an empty line in it, as the platform's own editor writes them. */
function withoutSeams(elements: readonly JsonObject[]): readonly JsonObject[] {
  const result: JsonObject[] = []
  let words: JsonObject[] = []
  let type: string | undefined
  const close = () => {
    if (type !== undefined) result.push({ type, elements: words })
    type = undefined
  }
  for (const element of elements) {
    const own = paragraphType(element)
    if (own === undefined || own !== type) close()
    if (own === undefined) result.push(element)
    else if (type === undefined) [type, words] = [own, [...childElements(element)]]
    else words.push(textElement('\n\n'), ...childElements(element))
  }
  close()
  return result
}

function paragraphType({ type }: JsonObject): string | undefined {
  return type === 'rich_text_section' || type === 'rich_text_quote' ? type : undefined
}

function childElements({ elements }: JsonObject): readonly JsonObject[] {
  return Array.isArray(elements) ? elements : []
}

// Where an element of rich text stands.

type Place = { readonly options: BlocksOptions; readonly isQuoted: boolean; readonly indent: number }

/** Quotes hold only text; a bar beside a list or a code block says that it is quoted too. */
function quoteBorder({ isQuoted }: Place): JsonObject {
  return isQuoted ? { border: 1 } : {}
}

// Inline nodes as elements of a rich_text section: the platform reads no markup in them, so nothing is escaped.

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
function boldInline(children: readonly Inline[], options: BlocksOptions): readonly JsonObject[] {
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

// Lists as the platform has them: flat lists one after another, each with its level and the number it starts from.

type RenderInside = (blocks: readonly Block[], place: Place) => readonly JsonObject[]

function listElements(list: List, place: Place, renderInside: RenderInside): readonly JsonObject[] {
  const result: JsonObject[] = []
  let open: { readonly first: number; readonly items: JsonObject[] } | undefined
  const close = () => {
    if (open !== undefined) result.push(listElement(list, place, open))
    open = undefined
  }
  list.children.forEach((item, index) => {
    const { lead, rest } = parted(item)
    open ??= { first: index, items: [] }
    open.items.push(itemElement(lead, richListMarker(list, item, index), place))
    if (rest.length === 0) return
    // Nothing nests in the platform's list: it ends, and goes on counting after what stands inside this item.
    close()
    result.push(...renderInside(rest, { ...place, indent: place.indent + 1 }))
  })
  close()
  return result
}

type Open = { readonly first: number; readonly items: readonly JsonObject[] }

function listElement(list: List, place: Place, { first, items }: Open): JsonObject {
  const offset = list.start - 1 + first
  return {
    type: 'rich_text_list',
    style: isCounted(list) ? 'ordered' : 'bullet',
    indent: Math.min(place.indent, limits.indent),
    elements: items,
    ...(isCounted(list) && offset > 0 ? { offset } : {}),
    ...quoteBorder(place),
  }
}

/** The platform counts from one; a list from zero gets its numbers as text. */
function isCounted(list: List): boolean {
  return list.ordered && list.start >= 1
}

function richListMarker(list: List, { checked }: ListItem, index: number): string {
  const number = list.ordered && !isCounted(list) ? `${list.start + index}. ` : ''
  if (checked === null) return number
  return `${number}${checked ? '☑' : '☐'} `
}

/** The item's own line, and what has to follow the list. */
function parted({ children }: ListItem): { readonly lead: readonly Block[]; readonly rest: readonly Block[] } {
  const end = children.findIndex(({ type }) => type !== 'paragraph' && type !== 'heading')
  return end === -1 ? { lead: children, rest: [] } : { lead: children.slice(0, end), rest: children.slice(end) }
}

function itemElement(lead: readonly Block[], marker: string, { options }: Place): JsonObject {
  const lines = lead.map((block) => {
    if (block.type === 'paragraph') return richInline(block.children, options)
    return block.type === 'heading' ? boldInline(block.children, options) : []
  })
  const words = lines.flatMap((line, index) => (index === 0 ? line : [textElement('\n'), ...line]))
  const elements = marker === '' ? words : [textElement(marker), ...words]
  return { type: 'rich_text_section', elements: elements.length === 0 ? [textElement(' ')] : elements }
}

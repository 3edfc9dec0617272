// The Markdown tree every renderer reads (mdast's names and shapes): what a model wrote, made safe once, before any platform is
// known. No node holds markup: raw HTML is text, an image is a link, a footnote and a reference are resolved.

export type Root = { readonly type: 'root'; readonly children: readonly Block[] }

export type Block = Paragraph | Heading | Blockquote | List | Code | Table | ThematicBreak

export type Paragraph = { readonly type: 'paragraph'; readonly children: readonly Inline[] }
export type Heading = {
  readonly type: 'heading'
  readonly depth: 1 | 2 | 3 | 4 | 5 | 6
  readonly children: readonly Inline[]
}
export type Blockquote = { readonly type: 'blockquote'; readonly children: readonly Block[] }
export type List = {
  readonly type: 'list'
  readonly ordered: boolean
  /** Number of the first item; a list cut in two goes on counting. */
  readonly start: number
  readonly children: readonly ListItem[]
}
export type ListItem = {
  readonly type: 'listItem'
  /** Null: no task. */
  readonly checked: boolean | null
  readonly children: readonly Block[]
}
/** `lang` is of `[A-Za-z0-9+#._-]{1,32}` or absent. */
export type Code = { readonly type: 'code'; readonly lang?: string; readonly value: string }
export type Align = 'left' | 'center' | 'right' | null
/** The first row is the header; every row has as many cells as `align`. */
export type Table = { readonly type: 'table'; readonly align: readonly Align[]; readonly children: readonly TableRow[] }
export type TableRow = { readonly type: 'tableRow'; readonly children: readonly TableCell[] }
export type TableCell = { readonly type: 'tableCell'; readonly children: readonly Inline[] }
export type ThematicBreak = { readonly type: 'thematicBreak' }

export type Inline = Text | Strong | Emphasis | Delete | InlineCode | Break | Link | Mention

export type Text = { readonly type: 'text'; readonly value: string }
export type Strong = { readonly type: 'strong'; readonly children: readonly Inline[] }
export type Emphasis = { readonly type: 'emphasis'; readonly children: readonly Inline[] }
export type Delete = { readonly type: 'delete'; readonly children: readonly Inline[] }
export type InlineCode = { readonly type: 'inlineCode'; readonly value: string }
/** A line end inside a paragraph that is meant as one. */
export type Break = { readonly type: 'break' }
/** `url` is absolute, of http, https, mailto or tel, and as the URL parser writes it. Holds no other link. */
export type Link = { readonly type: 'link'; readonly url: string; readonly children: readonly Inline[] }
/**
 * A mention that the platform turns into a notification. Made only for names in `mayNotify`; every other name is
 * text that a renderer must keep from notifying people. `name` is as written, with its `@`.
 */
export type Mention = { readonly type: 'mention'; readonly name: string }

// The text and the links of inline nodes, without any formatting.

export function inlineText(children: readonly Inline[]): string {
  return children.map(inlineNodeText).join('')
}

/** On one line, for places that hold no line end: a cell, a header, a label. */
export function lineText(children: readonly Inline[]): string {
  return inlineText(children).replace(/\s+/g, ' ').trim()
}

function inlineNodeText(node: Inline): string {
  switch (node.type) {
    case 'text':
    case 'inlineCode':
      return node.value
    case 'strong':
    case 'emphasis':
    case 'delete':
      return inlineText(node.children)
    case 'link':
      return linkLabel(node)
    case 'break':
      return '\n'
    case 'mention':
      return node.name
    default:
      return node satisfies never
  }
}

/** A link without a label shows its address. */
function linkLabel({ url, children }: Link): string {
  const label = inlineText(children)
  return label.trim() === '' ? url : label
}

function collectLinks(children: readonly Inline[]): readonly Link[] {
  return children.flatMap((node) => {
    if (node.type === 'link') return [node]
    return 'children' in node ? collectLinks(node.children) : []
  })
}

export function linksInTable(table: Table): readonly Link[] {
  return table.children.flatMap((row) => row.children.flatMap((cell) => collectLinks(cell.children)))
}

// How long the words of a tree are at least, and whether there are any.

type Node = Block | ListItem | TableRow | TableCell | Inline

/** UTF-16 units, at least one for every block; stops soon after `enough`. */
export function textLength(nodes: readonly Node[], enough: number): number {
  let length = 0
  for (const node of nodes) {
    if (length > enough) break
    switch (node.type) {
      case 'text':
      case 'inlineCode':
        length += node.value.length
        break
      case 'code':
        length += Math.max(1, node.value.length)
        break
      case 'mention':
        length += node.name.length
        break
      case 'break':
      case 'thematicBreak':
        length += 1
        break
      case 'paragraph':
      case 'heading':
      case 'listItem':
        length += Math.max(1, textLength(node.children, enough - length))
        break
      default:
        length += textLength(node.children, enough - length)
    }
  }
  return length
}

const unseen = /^[\s\u00ad\u200b-\u200f\u2060-\u2064\ufeff]*$/

/** Nothing a reader would see. A line between nothing and nothing counts as nothing. */
export function isBlank(node: Node): boolean {
  if ('children' in node) return node.children.every(isBlank)
  if (node.type === 'break' || node.type === 'thematicBreak') return true
  return node.type !== 'mention' && unseen.test(node.value)
}

// The beginning of inline content as flat text, with the places where no cut belongs; and the content up to and from a place.

/** From `start` up to `end`, where a cut would tear a label, a piece of code or a name. */
type WholeSpan = { readonly start: number; readonly end: number }
export type InlineWindow = { readonly text: string; readonly whole: readonly WholeSpan[] }

export function readInlineTextAndSpans(nodes: readonly Inline[], maxLength: number): InlineWindow {
  const whole: WholeSpan[] = []
  let text = ''
  const appendInlineText = (children: readonly Inline[], isWhole: boolean) => {
    for (const node of children) {
      if (text.length > maxLength) return
      const start = text.length
      if ('children' in node) appendInlineText(node.children, isWhole || node.type === 'link')
      else text += leafText(node)
      const isSpan = node.type === 'link' || node.type === 'inlineCode' || node.type === 'mention'
      if (isSpan && !isWhole) whole.push({ start, end: text.length })
    }
  }
  appendInlineText(nodes, false)
  return { text, whole }
}

/** Marks that are open at `end` are closed there. */
export function sliceInlineUpTo(nodes: readonly Inline[], end: number): readonly Inline[] {
  const taken: Inline[] = []
  let left = end
  for (const node of nodes) {
    if (left <= 0) break
    const length = lengthOfNode(node)
    if (length <= left) taken.push(node)
    else if ('children' in node) taken.push({ ...node, children: sliceInlineUpTo(node.children, left) })
    else taken.push(sliceInlineLeaf(node, 0, left))
    left -= length
  }
  return taken
}

/** Marks that are open at `start` are opened again. */
export function sliceInlineFrom(nodes: readonly Inline[], start: number): readonly Inline[] {
  let passed = 0
  for (const [index, node] of nodes.entries()) {
    const length = lengthOfNode(node)
    if (passed + length > start) {
      if (passed === start) return nodes.slice(index)
      const at = start - passed
      const rest: Inline =
        'children' in node ? { ...node, children: sliceInlineFrom(node.children, at) } : sliceInlineLeaf(node, at)
      return [rest, ...nodes.slice(index + 1)]
    }
    passed += length
  }
  return []
}

type Leaf = Exclude<Inline, { readonly children: readonly Inline[] }>

function leafText(node: Leaf): string {
  if (node.type === 'break') return '\n'
  return node.type === 'mention' ? node.name : node.value
}

/** A name that is cut in two is text, no mention. */
function sliceInlineLeaf(node: Leaf, start: number, end?: number): Inline {
  const value = leafText(node).slice(start, end)
  return { type: node.type === 'inlineCode' ? 'inlineCode' : 'text', value }
}

function lengthOfNode(node: Inline): number {
  if (!('children' in node)) return leafText(node).length
  let length = 0
  for (const child of node.children) length += lengthOfNode(child)
  return length
}

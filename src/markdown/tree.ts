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

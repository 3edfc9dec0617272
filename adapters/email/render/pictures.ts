// Pictures that the words refer to: `![a chart](chart.png)` beside a file of that name stands in the mail itself. Pure.
import { isKnownPart, type Part } from '../../../src/contract/index.ts'
import {
  type Block,
  type FilePart,
  type Inline,
  type MailBody,
  type Root,
  renderMail,
} from '../../../src/rendering/index.ts'

/** Kinds that every mail program shows. */
const shown: ReadonlySet<string> = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp'])
/** An address that leads nowhere, and that the tree takes for one of the web. */
const stand = 'https://cid.invalid/'
const reference = /!\[([^\][\n]{0,500})\]\(([^()\s]{1,300})\)/g

export type Pictured = {
  readonly parts: readonly Part[]
  /** Content ids by attachment id, of the files that the words refer to. */
  readonly cids: ReadonlyMap<string, string>
  /** Both halves: one shows the pictures, the other names them. */
  readonly write: (tree: Root) => MailBody
}

export function picturesIn(parts: readonly Part[], files: readonly FilePart[]): Pictured {
  const candidates = files.filter(({ mime = '' }) => shown.has(mime.toLowerCase()))
  const cids = new Map<string, string>()
  const originals: string[] = []
  const named = (ref: string): FilePart | undefined =>
    candidates.find(
      ({ name, attachment }) => ref === name || ref === `cid:${name}` || ref === `attachment:${attachment?.id}`,
    )
  const marked = parts.map((part): Part => {
    if (!isKnownPart(part) || part.kind !== 'text' || part.mime !== 'text/markdown') return part
    const content = part.content.replace(reference, (whole: string, label: string, ref: string) => {
      const id = named(decoded(ref))?.attachment?.id
      if (id === undefined) return whole
      if (!cids.has(id)) {
        cids.set(id, `picture${cids.size}.${id}@parley.invalid`)
        originals.push(ref)
      }
      return `![${label}](${stand}${[...cids.keys()].indexOf(id)})`
    })
    return { ...part, content }
  })
  return {
    parts: marked,
    cids,
    write(tree) {
      const words = renderMail({ ...tree, children: tree.children.map(blockWords) }).text
      const html = withImages(renderMail(tree).html, [...cids.values()])
      return { text: restored(words, originals), html: restored(html, originals.map(escaped)) }
    },
  }
}

function decoded(ref: string): string {
  try {
    return decodeURIComponent(ref)
  } catch {
    return ref
  }
}

const written = /<a href="https:\/\/cid\.invalid\/(\d{1,3})" rel="noopener noreferrer">([^<]*)<\/a>/g

function withImages(html: string, cids: readonly string[]): string {
  return html.replace(written, (_, at: string, label: string) => {
    const cid = cids[Number(at)]
    const alt = label.startsWith(stand) ? '' : label
    return cid === undefined ? label : `<img src="cid:${cid}" alt="${alt}" style="max-width:100%;height:auto">`
  })
}

/** In code the reference stays what was written. */
function restored(written: string, originals: readonly string[]): string {
  return written.replace(/https:\/\/cid\.invalid\/(\d{1,3})/g, (whole, at: string) => originals[Number(at)] ?? whole)
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`)
}

function blockWords(block: Block): Block {
  switch (block.type) {
    case 'paragraph':
    case 'heading':
      return { ...block, children: block.children.map(inlineWords) }
    case 'blockquote':
      return { ...block, children: block.children.map(blockWords) }
    case 'list':
      return {
        ...block,
        children: block.children.map((item) => ({ ...item, children: item.children.map(blockWords) })),
      }
    case 'table':
      return {
        ...block,
        children: block.children.map((row) => ({
          ...row,
          children: row.children.map((cell) => ({ ...cell, children: cell.children.map(inlineWords) })),
        })),
      }
    case 'code':
    case 'thematicBreak':
      return block
    default:
      return block satisfies never
  }
}

function inlineWords(node: Inline): Inline {
  if (node.type === 'link' && node.url.startsWith(stand)) {
    const [label] = node.children
    const words = label?.type === 'text' && !label.value.startsWith(stand) ? `: ${label.value}` : ''
    return { type: 'text', value: `[picture${words}]` }
  }
  if (node.type === 'strong' || node.type === 'emphasis' || node.type === 'delete')
    return { ...node, children: node.children.map(inlineWords) }
  return node
}

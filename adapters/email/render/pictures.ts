// Pictures that the words refer to: `![a chart](chart.png)` beside a file of that name stands in the mail itself. Pure.
import { isKnownPart, type Part } from '../../../src/contract/index.ts'
import {
  type Block,
  type FilePart,
  type Inline,
  type MailBody,
  type Root,
  renderMail,
} from '../../../src/markdown/index.ts'

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

export function placePictures(parts: readonly Part[], files: readonly FilePart[]): Pictured {
  const candidates = files.filter(({ mime = '' }) => shown.has(mime.toLowerCase()))
  const cids = new Map<string, string>()
  const originals: string[] = []
  const findPicture = (ref: string): FilePart | undefined =>
    candidates.find(
      ({ name, attachment }) => ref === name || ref === `cid:${name}` || ref === `attachment:${attachment?.id}`,
    )
  const marked = parts.map((part): Part => {
    if (!isKnownPart(part) || part.kind !== 'text' || part.mime !== 'text/markdown') return part
    const content = part.content.replace(reference, (whole: string, label: string, ref: string) => {
      const id = findPicture(decodeReference(ref))?.attachment?.id
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
      const words = renderMail({ ...tree, children: tree.children.map(blockWithoutPictures) }).text
      const html = insertImages(renderMail(tree).html, [...cids.values()])
      return { text: restoreReferences(words, originals), html: restoreReferences(html, originals.map(escapeHtml)) }
    },
  }
}

function decodeReference(ref: string): string {
  try {
    return decodeURIComponent(ref)
  } catch {
    return ref
  }
}

const written = /<a href="https:\/\/cid\.invalid\/(\d{1,3})" rel="noopener noreferrer">([^<]*)<\/a>/g

function insertImages(html: string, cids: readonly string[]): string {
  return html.replace(written, (_, at: string, label: string) => {
    const cid = cids[Number(at)]
    const alt = label.startsWith(stand) ? '' : label
    return cid === undefined ? label : `<img src="cid:${cid}" alt="${alt}" style="max-width:100%;height:auto">`
  })
}

/** In code the reference stays what was written. */
function restoreReferences(written: string, originals: readonly string[]): string {
  return written.replace(/https:\/\/cid\.invalid\/(\d{1,3})/g, (whole, at: string) => originals[Number(at)] ?? whole)
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`)
}

function blockWithoutPictures(block: Block): Block {
  switch (block.type) {
    case 'paragraph':
    case 'heading':
      return { ...block, children: block.children.map(inlineWithoutPictures) }
    case 'blockquote':
      return { ...block, children: block.children.map(blockWithoutPictures) }
    case 'list':
      return {
        ...block,
        children: block.children.map((item) => ({ ...item, children: item.children.map(blockWithoutPictures) })),
      }
    case 'table':
      return {
        ...block,
        children: block.children.map((row) => ({
          ...row,
          children: row.children.map((cell) => ({ ...cell, children: cell.children.map(inlineWithoutPictures) })),
        })),
      }
    case 'code':
    case 'thematicBreak':
      return block
    default:
      return block satisfies never
  }
}

function inlineWithoutPictures(node: Inline): Inline {
  if (node.type === 'link' && node.url.startsWith(stand)) {
    const [label] = node.children
    const words = label?.type === 'text' && !label.value.startsWith(stand) ? `: ${label.value}` : ''
    return { type: 'text', value: `[picture${words}]` }
  }
  if (node.type === 'strong' || node.type === 'emphasis' || node.type === 'delete')
    return { ...node, children: node.children.map(inlineWithoutPictures) }
  return node
}

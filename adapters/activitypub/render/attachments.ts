// Attachments of a note: files that are stored or have an address, and pictures the words show. The rest stays a line of text.
// Pure.
import { isKnownPart, type JsonObject, type NormalizedResponse, type Part } from '../../../src/contract/index.ts'
import { type Block, type Inline, type Root, replyTree } from '../../../src/markdown/index.ts'
import { storedScheme } from '../wire/delivery.ts'

/** More are not shown by the servers most people are on. */
const maxAttachments = 4
const maxAlt = 1500
const pictureType: Readonly<Record<string, string>> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
  avif: 'image/avif',
}
// Only where to look: whether it is a picture is known by what the Markdown was read as.
const picture = /!\[([^\]\n]{0,1500})\]\(<?([^\s)>]{1,2000})/g

export type Attached = {
  readonly attachments: readonly JsonObject[]
  /** The reply without the parts that became attachments. */
  readonly reply: NormalizedResponse
}

/** `servesFiles`: whether what is stored here can be asked for at an address of ours. */
export function renderAttachments(reply: NormalizedResponse, servesFiles: boolean): Attached {
  const shown = inlinePictures(reply)
  const files = reply.parts.flatMap((part) => {
    const attachment = renderAttachment(part, shown, servesFiles)
    return attachment === undefined ? [] : [{ part, attachment }]
  })
  const taken = files.slice(0, maxAttachments)
  const parts = reply.parts.filter((part) => !taken.some((each) => each.part === part))
  const attachments = [...taken.map(({ attachment }) => attachment), ...renderPictures(reply, shown)].slice(
    0,
    maxAttachments,
  )
  return { attachments, reply: { ...reply, parts } }
}

function renderAttachment(part: Part, shown: readonly Shown[], servesFiles: boolean): JsonObject | undefined {
  if (!isKnownPart(part) || (part.kind !== 'file' && part.kind !== 'artifact')) return undefined
  const { bytes_ref: ref, attachment, mime = 'application/octet-stream', name = '' } = part
  if (attachment !== undefined && servesFiles) {
    // Words that show it say more about it than its name does.
    const names = [name, `cid:${name}`, `${storedScheme}${attachment.id}`]
    const alt = shown.find((each) => each.alt !== '' && names.includes(each.ref))?.alt ?? name
    return attachmentDocument(`${storedScheme}${attachment.id}`, mime, alt)
  }
  if (ref.kind !== 'url' && ref.kind !== 'content_addressed') return undefined
  return ref.url === undefined ? undefined : attachmentDocument(ref.url, mime, name)
}

type Shown = { readonly alt: string; readonly ref: string }

function inlinePictures(reply: NormalizedResponse): readonly Shown[] {
  const texts = reply.parts.flatMap((part) =>
    isKnownPart(part) && part.kind === 'text' && part.mime === 'text/markdown' ? [part.content] : [],
  )
  const found = texts.flatMap((text) => [...text.matchAll(picture)])
  return found.map(([, alt = '', ref = '']) => ({ alt, ref }))
}

function renderPictures(reply: NormalizedResponse, shown: readonly Shown[]): readonly JsonObject[] {
  const elsewhere = shown.filter(({ ref }) => ref.startsWith('https:'))
  if (elsewhere.length === 0) return []
  const links = new Set(listInlines(replyTree(reply)).flatMap((node) => (node.type === 'link' ? [node.url] : [])))
  return elsewhere.flatMap(({ alt, ref }) => {
    const url = URL.canParse(ref) ? new URL(ref) : undefined
    const type = pictureType[url?.pathname.split('.').at(-1)?.toLowerCase() ?? '']
    return url === undefined || type === undefined || !links.has(url.href)
      ? []
      : [attachmentDocument(url.href, type, alt)]
  })
}

function attachmentDocument(url: string, mediaType: string, alt: string): JsonObject {
  const [family = ''] = mediaType.split('/')
  const type = { image: 'Image', video: 'Video', audio: 'Audio' }[family] ?? 'Document'
  return { type, mediaType, url, name: alt.slice(0, maxAlt).toWellFormed() }
}

export function listInlines({ children }: Root): readonly Inline[] {
  return children.flatMap(blockInlines)
}

function blockInlines(block: Block): readonly Inline[] {
  switch (block.type) {
    case 'paragraph':
    case 'heading':
      return block.children.flatMap(nestedInlines)
    case 'blockquote':
      return block.children.flatMap(blockInlines)
    case 'list':
      return block.children.flatMap(({ children }) => children.flatMap(blockInlines))
    case 'table':
      return block.children.flatMap((row) => row.children.flatMap(({ children }) => children.flatMap(nestedInlines)))
    case 'code':
    case 'thematicBreak':
      return []
    default:
      return block satisfies never
  }
}

function nestedInlines(node: Inline): readonly Inline[] {
  return 'children' in node ? [node, ...node.children.flatMap(nestedInlines)] : [node]
}

// A reply as one tree: every kind of part in reading order, then what its status says.

import { isKnownPart, type KnownPart, type NormalizedResponse, type Part } from '../contract/index.ts'
import { type FilePart, isFilePart } from '../contract/parts.ts'
import { say } from '../locales/say.ts'
import { chunkTree } from './chunk.ts'
import { htmlToText } from './html-to-text/html-to-text.ts'
import { safeUrl } from './links.ts'
import { parseMarkdown } from './parse.ts'
import { cleanTextForDisplay, plainTree } from './plain-tree.ts'
import { type Draft, writeBlocks } from './styled-text.ts'
import { type Block, type Inline, isBlank, type Root } from './tree.ts'

export type ReplyTreeOptions = {
  /** Names as they are written, in small letters, that may reach whom they name. */
  readonly mayNotify?: ReadonlySet<string>
  /** False where the channel sends the files themselves. */
  readonly showsFiles?: boolean
}

export function replyTree(reply: NormalizedResponse, options: ReplyTreeOptions = {}): Root {
  const said: Block[] = []
  for (const part of reply.parts) for (const block of partBlocks(part, options)) said.push(block)
  const hasWords = !said.every(isBlank)
  const status = statusWords(reply, hasWords || areFilesSentSeparately(reply, options))
  const words = hasWords ? said : []
  return { type: 'root', children: status === '' ? words : [...words, textParagraph(status)] }
}

/** The parts whose bytes a channel may send, in reading order. */
export function replyFiles(reply: NormalizedResponse): readonly FilePart[] {
  return reply.parts.filter(isFilePart)
}

function areFilesSentSeparately(reply: NormalizedResponse, { showsFiles }: ReplyTreeOptions): boolean {
  return showsFiles === false && replyFiles(reply).length > 0
}

function partBlocks(part: Part, options: ReplyTreeOptions): readonly Block[] {
  if (!isKnownPart(part)) return [textParagraph(unsupportedPartText(part))]
  switch (part.kind) {
    case 'text':
      if (part.mime === 'text/markdown') return parseMarkdown(part.content, options).children
      return plainTree(part.mime === 'text/html' ? htmlToText(part.content) : part.content, options).children
    case 'link':
      return [{ type: 'paragraph', children: [linkNode(part.url, part.title), ...descriptionNodes(part.description)] }]
    case 'file':
    case 'artifact':
      return options.showsFiles === false ? [] : [textParagraph(fileLine(part))]
    case 'policy':
      return policyPartToBlocks(part.policy)
    case 'tool_call':
      // Internal: it leaves no trace.
      return []
    default:
      return part satisfies never
  }
}

/** What is asked, and below it where to go. */
function policyPartToBlocks(policy: Policy): readonly Block[] {
  const asked = plainTree(policy.message).children
  const action = policyAction(policy)
  if (action === undefined) return asked
  return [...asked, { type: 'paragraph', children: [linkNode(action.url, action.label)] }]
}

function linkNode(address: string, title: string | undefined): Inline {
  const url = safeUrl(address)
  const label = title === undefined ? '' : collapseWhitespace(cleanTextForDisplay(title))
  if (url === undefined) return { type: 'text', value: label === '' ? say('link.shown') : label }
  return { type: 'link', url, children: [{ type: 'text', value: label === '' ? url : label }] }
}

function descriptionNodes(description: string | undefined): readonly Inline[] {
  const words = linkDescription(description)
  return words === '' ? [] : [{ type: 'text', value: cleanTextForDisplay(words) }]
}

function textParagraph(words: string): Block {
  return { type: 'paragraph', children: [{ type: 'text', value: cleanTextForDisplay(words) }] }
}

// Parts that are no text, as one line of it.

function fileLine(part: FilePart): string {
  if (part.kind === 'file') return say('file.shown', { about: nameAndSizeSuffix(part.name ?? part.mime, part.size) })
  const { name, artifact_type: type, mime } = part
  const known = name === undefined ? (type ?? mime) : [name, ...(type === undefined ? [] : [type])].join(', ')
  return say('artifact.shown', { about: nameAndSizeSuffix(known) })
}

/** What stands behind a link about what it leads to; nothing if nothing is said. */
function linkDescription(description: string | undefined): string {
  const words = collapseWhitespace(description ?? '').slice(0, 500)
  return words === '' ? '' : ` – ${words}`
}

function unsupportedPartText({ kind }: Part): string {
  return say('content.unsupported', { kind: collapseWhitespace(String(kind)).slice(0, 64) })
}

function collapseWhitespace(text: string): string {
  return text.replace(/\s+/g, ' ').trim()
}

function nameAndSizeSuffix(name: string | undefined, size?: number): string {
  const known = [
    ...(name === undefined ? [] : [collapseWhitespace(name).slice(0, 256)]),
    ...(size === undefined ? [] : [sizeText(size)]),
  ]
  return known.length === 0 ? '' : `: ${known.join(', ')}`
}

function sizeText(bytes: number): string {
  if (bytes < 1000) return `${bytes} bytes`
  if (bytes < 1_000_000) return `${Math.round(bytes / 1000)} KB`
  return `${(bytes / 1_000_000).toFixed(1)} MB`
}

// What a policy part asks a person to open: only https, only the agent's own site where that is known.

export type Policy = Extract<KnownPart, { readonly kind: 'policy' }>['policy']

type PolicyAction = { readonly label: string; readonly url: string }

const defaultLabel = 'Open'

/** Undefined where there is nothing to open, or nothing that may be: then the message stands alone. */
export function policyAction(policy: Policy, origin?: string): PolicyAction | undefined {
  const written = policy['url']
  const url = typeof written === 'string' ? safeUrl(written) : undefined
  if (url === undefined || new URL(url).protocol !== 'https:') return undefined
  if (origin !== undefined && new URL(url).origin !== origin) return undefined
  const label = policyText(policy['action_label']).replace(/\s+/g, ' ')
  return { label: label === '' ? defaultLabel : label, url }
}

export function policyText(value: unknown): string {
  return typeof value === 'string' ? cleanTextForDisplay(value).trim() : ''
}

// Every status of a reply reads differently, and nothing internal is shown.

type Status = NormalizedResponse['status']

/** Said after the agent's own words, so that a reader sees that this is not a plain answer. */
const labelKeys = {
  input_required: 'status.waits_for_reply',
  refused: 'status.refused_after_words',
  failed: 'status.failed_after_words',
  cancelled: 'status.cancelled_after_words',
} as const satisfies Readonly<Record<Exclude<Status, 'completed'>, string>>

/** What stands after the agent's words, or instead of them; may be empty. Codes are for machines: they stay in `error`. */
function statusWords({ status, parts, error }: NormalizedResponse, hasWords: boolean): string {
  if (!hasWords) return say(`status.${status}`)
  if (status === 'completed') return ''
  // A question says itself what it waits for, and so do words that tell what went wrong.
  const isAsked = status === 'input_required' && parts.some((part) => part.kind === 'policy')
  const last = parts.at(-1)
  const isTold = last?.kind === 'text' && error !== undefined && error.message === last['content']
  return isAsked || isTold ? '' : say(labelKeys[status])
}

// A reply as one plain text: its Markdown as it was written, for models and logs, or rendered for channels that show text as it
// is.

export function plainText(reply: NormalizedResponse): string {
  const text = partsText(reply.parts)
  return [text, statusWords(reply, text !== '')].filter(Boolean).join('\n\n')
}

/** Parts in reading order; tool calls are internal and leave no trace. */
export function partsText(parts: readonly Part[]): string {
  const pieces = parts.map((part) => (isKnownPart(part) ? knownPartText(part) : unsupportedPartText(part)))
  return pieces
    .map(cleanTextForDisplay)
    .filter((piece) => piece.trim() !== '')
    .join('\n\n')
}

function knownPartText(part: KnownPart): string {
  switch (part.kind) {
    case 'text':
      return part.mime === 'text/html' ? htmlToText(part.content) : part.content
    case 'link':
      return plainLinkText(part.url, part.title) + linkDescription(part.description)
    case 'file':
    case 'artifact':
      return fileLine(part)
    case 'policy':
      return part.policy.message
    case 'tool_call':
      return ''
    default:
      return part satisfies never
  }
}

function plainLinkText(url: string, title: string | undefined): string {
  const isShown = /^(?:https?|mailto):/i.test(url)
  if (!isShown) return title ?? '[link]'
  return title === undefined || title === url ? url : `${collapseWhitespace(title)} (${url})`
}

// Rendered for channels that show text and nothing else: addresses behind their labels, tables aligned, lists with bullets.

/** Pieces of at most `limit` UTF-16 units. */
export function renderPlain(root: Root, { limit }: { readonly limit: number }): readonly string[] {
  const pieces = chunkTree(root, { limit, sizeOf: (blocks) => writePlainBlocks(blocks).length })
  return pieces.map(({ children }) => writePlainBlocks(children)).filter((text) => text !== '')
}

function writePlainBlocks(blocks: readonly Block[]): string {
  const draft: Draft = { text: '', ranges: [] }
  writeBlocks(draft, blocks, { indent: '', isQuoted: true, isPlain: true })
  return draft.text.trim()
}

// A reply as one tree: every kind of part in reading order, then what its status says.
import { isKnownPart, type KnownPart, type NormalizedResponse, type Part } from '../contract/index.ts'
import { isBlankBlock } from './chunk/text-length.ts'
import { htmlToText } from './html-text/html-to-text.ts'
import { parseMarkdown } from './markdown/parse-markdown.ts'
import { collapseWhitespace, type FilePart, fileLine, linkDescription, placeholderLine } from './part-line.ts'
import { plainTree } from './plain-tree.ts'
import { type Policy, policyAction } from './policy-action.ts'
import { safeUrl } from './safe-url.ts'
import { cleanShownText } from './shown-text.ts'
import { statusWords } from './status-words.ts'
import type { Block, Inline, Root } from './tree.ts'

export type ReplyTreeOptions = {
  /** Names as they are written, in small letters, that may reach whom they name. */
  readonly mayNotify?: ReadonlySet<string>
  /** False where the channel sends the files themselves. */
  readonly showsFiles?: boolean
}

export function replyTree(reply: NormalizedResponse, options: ReplyTreeOptions = {}): Root {
  const said = reply.parts.flatMap((part) => partBlocks(part, options))
  const hasWords = !said.every(isBlankBlock)
  const status = statusWords(reply, hasWords || isShownAsFiles(reply, options))
  const words = hasWords ? said : []
  return { type: 'root', children: status === '' ? words : [...words, textParagraph(status)] }
}

/** The parts whose bytes a channel may send, in reading order. */
export function replyFiles(reply: NormalizedResponse): readonly FilePart[] {
  return reply.parts.filter(isFilePart)
}

function isShownAsFiles(reply: NormalizedResponse, { showsFiles }: ReplyTreeOptions): boolean {
  return showsFiles === false && replyFiles(reply).length > 0
}

function isFilePart(part: Part): part is FilePart {
  return isKnownPart(part) && (part.kind === 'file' || part.kind === 'artifact')
}

function partBlocks(part: Part, options: ReplyTreeOptions): readonly Block[] {
  return isKnownPart(part) ? knownPartBlocks(part, options) : [textParagraph(placeholderLine(part))]
}

function knownPartBlocks(part: KnownPart, options: ReplyTreeOptions): readonly Block[] {
  switch (part.kind) {
    case 'text':
      return textBlocks(part, options)
    case 'link':
      return [{ type: 'paragraph', children: [linkNode(part.url, part.title), ...descriptionNodes(part.description)] }]
    case 'file':
    case 'artifact':
      return options.showsFiles === false ? [] : [textParagraph(fileLine(part))]
    case 'policy':
      return policyTree(part.policy)
    case 'tool_call':
      // Internal: it leaves no trace.
      return []
    default:
      return part satisfies never
  }
}

function textBlocks(
  { mime, content }: Extract<KnownPart, { kind: 'text' }>,
  options: ReplyTreeOptions,
): readonly Block[] {
  switch (mime) {
    case 'text/markdown':
      return parseMarkdown(content, options).children
    case 'text/html':
      return plainTree(htmlToText(content), options).children
    case 'text/plain':
      return plainTree(content, options).children
    default:
      return mime satisfies never
  }
}

/** What is asked, and below it where to go. */
function policyTree(policy: Policy): readonly Block[] {
  const asked = plainTree(policy.message).children
  const action = policyAction(policy)
  if (action === undefined) return asked
  return [...asked, { type: 'paragraph', children: [linkNode(action.url, action.label)] }]
}

function linkNode(address: string, title: string | undefined): Inline {
  const url = safeUrl(address)
  const label = title === undefined ? '' : collapseWhitespace(cleanShownText(title))
  if (url === undefined) return { type: 'text', value: label === '' ? '[link]' : label }
  return { type: 'link', url, children: [{ type: 'text', value: label === '' ? url : label }] }
}

function descriptionNodes(description: string | undefined): readonly Inline[] {
  const words = linkDescription(description)
  return words === '' ? [] : [{ type: 'text', value: cleanShownText(words) }]
}

function textParagraph(words: string): Block {
  return { type: 'paragraph', children: [{ type: 'text', value: cleanShownText(words) }] }
}

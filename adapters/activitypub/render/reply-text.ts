// The text of a reply as notes of a thread. Actors that are notified are named visibly, in the first note. Pure.

import { isKnownPart, type NormalizedResponse, type Part } from '../../../src/contract/index.ts'
import type { JsonObject } from '../../../src/lib/index.ts'
import { type Block, type Inline, type Root, replyTree } from '../../../src/markdown/index.ts'
import { actorIri, profileIri } from '../wire/activity.ts'
import { type ActivityPubReplyTo, type Person, storedScheme } from '../wire/delivery.ts'
import { type Note, renderNoteThread } from './note.ts'

type ReplyText = {
  readonly notes: readonly Note[]
  /** Those who are mentioned, in the order they are named. */
  readonly called: readonly Person[]
}

type ReplyTextOptions = {
  readonly people: People
  readonly mayNotify: ReadonlySet<string>
  readonly limit: number
  /** Files go with the note: it is no empty answer without words. */
  readonly hasFiles: boolean
  /** In a chat no name is written: there is only one person who could be meant. */
  readonly isUncalled: boolean
}

/** A chat is no timeline: its messages may be longer than posts before they are split. */
const chatLength = 5000

export function noteLengthLimit(limit: number, isInChat: boolean): number {
  return isInChat ? Math.max(limit, chatLength) : limit
}

export function renderReplyText(reply: NormalizedResponse, options: ReplyTextOptions): ReplyText {
  const { people, limit } = options
  const live = new Set([...options.mayNotify].filter((name) => people.byName(name) !== undefined))
  const tree = buildReplyTree(reply, live, options)
  if (options.isUncalled)
    return { notes: renderNoteThread(tree, { limit, hrefOf: () => undefined }), called: people.answered }
  const named = listInlines(tree).flatMap((node) => (node.type === 'mention' ? (people.byName(node.name) ?? []) : []))
  const called = dropDuplicatePeople([...people.answered, ...named])
  const mentionHref = (name: string): string | undefined => personPageUrl(people.byName(name))
  const unnamed = called.filter(({ actor }) => !named.some((each) => each.actor === actor))
  const notes = renderNoteThread(prependMentions(tree, personHandles(unnamed)), { limit, hrefOf: mentionHref })
  if (notes.length <= 1) return { notes, called }
  // In a thread people are mentioned once, at its beginning; further down a name is only a name.
  return {
    notes: renderNoteThread(prependMentions(buildReplyTree(reply, new Set(), options), personHandles(called)), {
      limit,
      hrefOf: mentionHref,
    }),
    called,
  }
}

function buildReplyTree(
  reply: NormalizedResponse,
  mayNotify: ReadonlySet<string>,
  { hasFiles }: ReplyTextOptions,
): Root {
  const isBare = hasFiles && reply.status === 'completed' && reply.parts.length === 0
  return isBare ? { type: 'root', children: [] } : replyTree(reply, { mayNotify })
}

/** Servers know whom a link means by the page it leads to; the tag names the actor. */
function personPageUrl(person: Person | undefined): string | undefined {
  return person?.url ?? person?.actor
}

function personHandles(people: readonly Person[]): readonly string[] {
  return people.map(({ handle }) => handle)
}

/** The names stand before the first words. */
export function prependMentions({ children }: Root, handles: readonly string[]): Root {
  const names = handles.flatMap((name): readonly Inline[] => [
    { type: 'mention', name },
    { type: 'text', value: ' ' },
  ])
  const [first, ...rest] = children
  if (names.length === 0) return { type: 'root', children }
  if (first?.type === 'paragraph')
    return { type: 'root', children: [{ ...first, children: [...names, ...first.children] }, ...rest] }
  const line: Block = { type: 'paragraph', children: names.slice(0, -1) }
  return { type: 'root', children: [line, ...children] }
}

// Every actor a reply can notify, by the names it may call them by. A name that is not here is only text. Pure.

export type RenderHost = {
  /** Of the gateway: `https://host`. */
  readonly origin: string
  /** What stands behind the second @ of our agents' handles. */
  readonly handleHost: string
  /** Slugs of the agents here. */
  readonly agents: () => readonly string[]
}

type People = {
  /** Who is answered; the first is who wrote. */
  readonly answered: readonly Person[]
  byName(name: string): Person | undefined
}

/** `isAlone`: only who wrote is answered, although others were addressed. */
export function notifiablePeople(home: RenderHost, to: ActivityPubReplyTo, isAlone: boolean): People {
  const { actor, inbox, shared_inbox, handle, url } = to
  const author = { actor, inbox, shared_inbox, handle, url }
  const ours = actorIri(home.origin, to.agent)
  const others = to.visibility === 'direct' && !isAlone ? to.participants : []
  const answered = dropDuplicatePeople([author, ...others]).filter((each) => each.actor !== ours)
  const named = new Map(answered.map((each) => [each.handle.toLowerCase(), each]))
  for (const slug of home.agents()) {
    if (slug === to.agent) continue
    const person = localAgentPerson(home, slug)
    named.set(person.handle.toLowerCase(), person)
    named.set(`@${slug.toLowerCase()}`, person)
  }
  return { answered, byName: (name) => named.get(name.toLowerCase()) }
}

function dropDuplicatePeople(people: readonly Person[]): readonly Person[] {
  return [...new Map(people.map((each) => [each.actor, each])).values()]
}

function localAgentPerson({ origin, handleHost }: RenderHost, slug: string): Person {
  const actor = actorIri(origin, slug)
  const [inbox, url] = [`${actor}/inbox`, profileIri(origin, slug)]
  return { actor, inbox, shared_inbox: null, handle: `@${slug}@${handleHost}`, url }
}

// Attachments of a note: files that are stored or have an address, and pictures the words show. The rest stays a line of text.
// Pure.

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

type Attached = {
  readonly attachments: readonly JsonObject[]
  /** The reply without the parts that became attachments. */
  readonly reply: NormalizedResponse
}

/** `servesFiles`: whether what is stored here can be asked for at an address of ours. */
export function renderAttachments(reply: NormalizedResponse, servesFiles: boolean): Attached {
  const shown = listMarkdownImages(reply)
  const files = reply.parts.flatMap((part) => {
    const attachment = renderAttachment(part, shown, servesFiles)
    return attachment === undefined ? [] : [{ part, attachment }]
  })
  const taken = files.slice(0, maxAttachments)
  const parts = reply.parts.filter((part) => !taken.some((each) => each.part === part))
  const attachments = [...taken.map(({ attachment }) => attachment), ...renderRemoteImages(reply, shown)].slice(
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

function listMarkdownImages(reply: NormalizedResponse): readonly Shown[] {
  const texts = reply.parts.flatMap((part) =>
    isKnownPart(part) && part.kind === 'text' && part.mime === 'text/markdown' ? [part.content] : [],
  )
  const found = texts.flatMap((text) => [...text.matchAll(picture)])
  return found.map(([, alt = '', ref = '']) => ({ alt, ref }))
}

function renderRemoteImages(reply: NormalizedResponse, shown: readonly Shown[]): readonly JsonObject[] {
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

function listInlines({ children }: Root): readonly Inline[] {
  return children.flatMap(listInlinesOfBlock)
}

function listInlinesOfBlock(block: Block): readonly Inline[] {
  switch (block.type) {
    case 'paragraph':
    case 'heading':
      return block.children.flatMap(flattenInline)
    case 'blockquote':
      return block.children.flatMap(listInlinesOfBlock)
    case 'list':
      return block.children.flatMap(({ children }) => children.flatMap(listInlinesOfBlock))
    case 'table':
      return block.children.flatMap((row) => row.children.flatMap(({ children }) => children.flatMap(flattenInline)))
    case 'code':
    case 'thematicBreak':
      return []
    default:
      return block satisfies never
  }
}

function flattenInline(node: Inline): readonly Inline[] {
  return 'children' in node ? [node, ...node.children.flatMap(flattenInline)] : [node]
}

// Posts of our agents: listed, edited and deleted. Every server that got one is told, and our own address says it at once.

import * as z from 'zod'
import type { OperationResult, Operations, Records, RecordWrite, RenderedCall } from '../../../src/contract/index.ts'
import { GatewayError, type JsonObject, sha256Hex } from '../../../src/lib/index.ts'
import { htmlToText, parseMarkdown, writeMarkdown } from '../../../src/markdown/index.ts'
import { deliveryOrderKey, listFollowerInboxes, toInboxCalls } from '../deliver/expand-recipients.ts'
import { erasureSubjectField, noteListFamily } from '../documents/own-notes.ts'
import { type Note, renderNoteThread } from '../render/note.ts'
import { buildNoteDeleteActivity, buildNoteUpdateActivity } from '../render/note-activity.ts'
import { noteLengthLimit, prependMentions } from '../render/reply-text.ts'
import {
  directFamily,
  type InboxCall,
  isChatMessage,
  isTombstone,
  type KeptFacts,
  type NoteRecord,
  noteFamily,
  outboxFamily,
  outboxKey,
} from '../wire/delivery.ts'
import type { ProtocolReply } from '../wire/records.ts'
import { type PostDeps, pageShape, parseOperationInput, requireKnownAgent, shortText } from './operation-input.ts'

const postShape = z.object({ id: shortText })
const wordsShape = postShape.extend({ markdown: z.string().max(100_000) })
const which = 'give id as the list shows it, or the address of the post'

export function postOperations(deps: PostDeps): Operations {
  return {
    'posts.list': async (input) => ({ value: await listPosts(deps, input) }),
    async 'posts.edit'(input, { at }) {
      const { id, markdown } = parseOperationInput(wordsShape, input, `${which}, and markdown`)
      const post = await findPostById(deps, id)
      if (markdown.trim() === '') throw new GatewayError('bad_request', 'say what it shall say, or take it back')
      const limit = noteLengthLimit(deps.limit, isChatMessage(post.record.note))
      const said = renderNoteEdit(post.record, markdown, limit)
      if (said === undefined)
        throw new GatewayError('bad_request', `it stays one post, of ${limit} characters at most; say less`)
      if (said.html === post.record.note['content']) return { value: { id: post.id, told: 0, isChanged: false } }
      return noteChangeToResult(
        post,
        await planNoteEdit(deps.records, post.record, said, { agent: post.agent, at: Date.parse(at) }),
        [],
      )
    },
    async 'posts.delete'(input, { at }) {
      const post = await findPostById(deps, parseOperationInput(postShape, input, which).id)
      const gone = await planNoteDeletion(deps.records, post.record, { agent: post.agent, at: Date.parse(at) })
      const published = String(post.record.note['published'])
      // What is taken back is found in no list any more.
      return noteChangeToResult(post, gone, [
        { kind: 'remove', family: noteListFamily(post.record), key: outboxKey(post.id, published) },
      ])
    },
  }
}

type Post = { readonly id: string; readonly agent: string; readonly record: NoteRecord }

/** By its address, or by the end of it. */
async function findPostById({ records, places, agents }: PostDeps, id: string): Promise<Post> {
  const slugs = agents().map(({ slug }) => slug)
  const written = /\/ap\/([a-z0-9-]+)\/notes\/([A-Za-z0-9_-]+)$/.exec(id)
  const [, agent, end] = written ?? []
  const isOurs = agent !== undefined && end !== undefined && places.note(agent, end) === id
  const candidates = isOurs ? [[agent, end] as const] : slugs.map((slug) => [slug, id] as const)
  for (const [slug, name] of candidates) {
    const iri = places.note(slug, name)
    // Only this adapter writes this family.
    const record = (await records.get(noteFamily, iri)) as NoteRecord | undefined
    if (record !== undefined && !isTombstone(record.note)) return { id: iri, agent: slug, record }
    if (record !== undefined) throw new GatewayError('not_found', 'this post was taken back before')
  }
  throw new GatewayError('not_found', 'there is no such post; list them with parley activitypub posts list')
}

async function noteChangeToResult(
  post: Post,
  { record, calls }: ChangedNote,
  more: readonly RecordWrite[],
): Promise<OperationResult> {
  const { id, agent } = post
  const isGone = isTombstone(record.note)
  const name = isGone ? `${id}#delete` : `${id}#update-${record.version}`
  const subject = erasureSubjectField(record)
  const kept: RecordWrite = { kind: 'put', family: noteFamily, key: id, value: record, agent, ...subject }
  const change: NonNullable<OperationResult['change']> = {
    reason: isGone ? 'post_deleted' : 'post_edited',
    // By the note and its version: of two who change it at the same time one does, and the other is told.
    deliveryId: `${id}#change-${(post.record.version ?? 0) + 1}`,
    ...subject,
    recordWrites: [kept, ...more],
    protocolReplies: await Promise.all(calls.map((call) => toProtocolReply(name, call))),
  }
  const value = { id, told: calls.length, isChanged: true }
  return { value, change }
}

/** In the order of whatever else goes there: no server is told of a change before what it changes. */
async function toProtocolReply(name: string, rendered: ChangedNote['calls'][number]): Promise<ProtocolReply> {
  const { inbox } = rendered.call as InboxCall
  return {
    call: rendered.call,
    orderKey: deliveryOrderKey(rendered),
    clientId: `${name} ${(await sha256Hex(inbox)).slice(0, 32)}`,
  }
}

// What was said to few is listed without its words, unless the operator asks for them.

const listShape = pageShape.extend({ private: z.boolean().default(false) })
const maxWords = 500

async function listPosts(deps: PostDeps, input: JsonObject): Promise<JsonObject> {
  const remedy = 'give limit from 1 to 100, after as a list ended, agent by its name, private as true or false'
  const { limit, private: isWhole, agent, after } = parseOperationInput(listShape, input, remedy)
  const page = {
    limit: limit + 1,
    ...(agent === undefined ? {} : { agent: requireKnownAgent(deps, agent) }),
    ...(after === undefined ? {} : { after }),
  }
  const [open, direct] = await Promise.all([
    deps.records.list(outboxFamily, page),
    deps.records.list(directFamily, page),
  ])
  // Both lists are by time, the newest first, under keys of the same form.
  const all = [...open, ...direct].toSorted((one, other) => (one.key < other.key ? -1 : 1))
  const shown = all.slice(0, limit)
  const posts = await Promise.all(shown.map((each) => toListedPost(deps, each, isWhole)))
  return {
    posts: posts.filter((each) => each !== undefined),
    next: all.length > limit ? (shown.at(-1)?.key ?? null) : null,
  }
}

async function toListedPost(
  { records }: PostDeps,
  { value }: { readonly value: JsonObject },
  isWhole: boolean,
): Promise<JsonObject | undefined> {
  const id = String(value['id'])
  // Only this adapter writes this family.
  const record = (await records.get(noteFamily, id)) as NoteRecord | undefined
  if (record === undefined || isTombstone(record.note)) return undefined
  const { note, visibility, recipients, files = [] } = record
  const mayShow = visibility !== 'direct' || isWhole
  return {
    id,
    visibility,
    published: note['published'] ?? null,
    updated: note['updated'] ?? null,
    to: mayShow ? recipients.map(({ actor }) => actor) : null,
    words: mayShow ? htmlToText(String(note['content'] ?? ''), { maxLength: maxWords }) : null,
    files: files.length,
  }
}

// Edits or deletes a note that was sent: every server that got it is told.

/** `record`: the note from now on. `calls`: who is to be told, and of what. */
type ChangedNote = { readonly record: NoteRecord; readonly calls: readonly RenderedCall[] }

type Change = { readonly agent: string; readonly at: number }

/** The note as one that says this. Undefined: it does not fit into one note. */
function renderNoteEdit({ note, recipients }: NoteRecord, markdown: string, limit: number): Note | undefined {
  const names = mentionHrefs(note)
  // Whom it calls stays as it was: they stand before the new words, where they are written down already or not.
  const tree = prependMentions(parseMarkdown(dropLeadingNames([...names.keys()], markdown)), [...names.keys()])
  const recipientPageUrl = (actor: string | undefined) => recipients.find((each) => each.actor === actor)?.url ?? actor
  const [said, ...more] = renderNoteThread(tree, { limit, hrefOf: (name) => recipientPageUrl(names.get(name)) })
  return more.length > 0 ? undefined : said
}

async function planNoteEdit(
  records: Records,
  record: NoteRecord,
  said: Note,
  { agent, at }: Change,
): Promise<ChangedNote> {
  const version = (record.version ?? 0) + 1
  const source = writeMarkdown({ type: 'root', children: said.blocks })
  const activity = buildNoteUpdateActivity(record, {
    content: said.html,
    source,
    version,
    updated: nextUpdatedTime(record, at),
  })
  // Made above: the object of an Update is the note itself.
  const changed = { ...record, note: activity['object'] as JsonObject, version }
  return { record: changed, calls: await callsToNoteReaders(records, changed, agent, activity) }
}

async function planNoteDeletion(records: Records, record: NoteRecord, { agent, at }: Change): Promise<ChangedNote> {
  const { visibility, recipients, audience } = record
  const activity = buildNoteDeleteActivity(record, new Date(at).toISOString())
  const gone = { visibility, recipients, audience, note: activity['object'] as JsonObject }
  return { record: gone, calls: await callsToNoteReaders(records, gone, agent, activity) }
}

async function callsToNoteReaders(
  records: Records,
  { visibility, recipients, files }: KeptFacts,
  agent: string,
  activity: JsonObject,
): Promise<readonly RenderedCall[]> {
  const followers = visibility === 'direct' ? [] : await listFollowerInboxes(records, agent)
  const kept = { visibility, recipients, ...(files === undefined ? {} : { files }) }
  return toInboxCalls({ agent, ...kept }, activity, followers, false)
}

function nextUpdatedTime({ note }: NoteRecord, now: number): string {
  const before = Math.max(...[note['published'], note['updated'] ?? ''].map((at) => Date.parse(String(at)) || 0))
  return new Date(Math.max(now, before + 1)).toISOString()
}

function dropLeadingNames(names: readonly string[], markdown: string): string {
  let rest = markdown.trimStart()
  for (let isFound = true; isFound; ) {
    const name = names.find((each) => rest.toLowerCase().startsWith(`${each.toLowerCase()} `))
    isFound = name !== undefined
    if (name !== undefined) rest = rest.slice(name.length).trimStart()
  }
  return rest
}

function mentionHrefs({ tag }: JsonObject): ReadonlyMap<string, string> {
  const named = new Map<string, string>()
  for (const each of Array.isArray(tag) ? tag : []) {
    if (typeof each !== 'object' || each === null || !('name' in each) || !('href' in each)) continue
    named.set(String(each['name']), String(each['href']))
  }
  return named
}

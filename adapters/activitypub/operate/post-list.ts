// What our agents have posted, the newest first. What was said to few is listed without its words, unless the operator asks for them.
import * as z from 'zod'
import type { ChannelRecord, JsonObject } from '../../../src/contract/index.ts'
import { htmlToText } from '../../../src/markdown/index.ts'
import { directFamily, isTombstone, type NoteRecord, noteFamily, outboxFamily } from '../wire/call.ts'
import { knownAgent, pageShape, parseOperationInput } from './asked.ts'
import type { PostDeps } from './deps.ts'

const listShape = pageShape.extend({ private: z.boolean().default(false) })
const maxWords = 500

export async function listPosts(deps: PostDeps, input: JsonObject): Promise<JsonObject> {
  const remedy = 'give limit from 1 to 100, after as a list ended, agent by its name, private as true or false'
  const { limit, private: isWhole, agent, after } = parseOperationInput(listShape, input, remedy)
  const page = {
    limit: limit + 1,
    ...(agent === undefined ? {} : { agent: knownAgent(deps, agent) }),
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
  { value }: ChannelRecord,
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

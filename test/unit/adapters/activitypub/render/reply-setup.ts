// A reply into the fediverse for tests: somebody wrote to the agent `demo`, and it answers.

import { type RenderSettings, renderActivityPub } from '../../../../../adapters/activitypub/render/reply.ts'
import type { DraftCall } from '../../../../../adapters/activitypub/wire/delivery.ts'
import type { NormalizedResponse } from '../../../../../src/contract/index.ts'
import type { JsonObject } from '../../../../../src/lib/json-value.ts'

export const origin = 'https://bots.example'
export const demo = `${origin}/ap/demo`
export const publicAudience = 'https://www.w3.org/ns/activitystreams#Public'

export const home: RenderSettings = {
  origin,
  handleHost: 'bots.example',
  agents: () => ['demo', 'scribe'],
  visibility: 'unlisted',
  limit: 500,
  servesFiles: true,
}

export const alice = {
  actor: 'https://social.example/users/alice',
  inbox: 'https://social.example/users/alice/inbox',
  shared_inbox: 'https://social.example/inbox',
  handle: '@alice@social.example',
  url: 'https://social.example/@alice',
}

export const carol = {
  actor: 'https://other.example/users/carol',
  inbox: 'https://other.example/users/carol/inbox',
  shared_inbox: null,
  handle: '@carol@other.example',
}

export function replyTo(changes: JsonObject = {}): JsonObject {
  return {
    ...alice,
    visibility: 'public',
    agent: 'demo',
    participants: [],
    followers: `${alice.actor}/followers`,
    reply_to_object: 'https://social.example/notes/1',
    reply_to_context: 'https://social.example/contexts/9',
    reply_to_conversation: 'tag:social.example,2026:objectId=9',
    reply_to_as_summary: null,
    reply_to_language: 'en',
    ...changes,
  }
}

export function saying(text: string, changes: Partial<NormalizedResponse> = {}): NormalizedResponse {
  return {
    thread_id: 'thread',
    in_reply_to: 'message',
    agent: 'demo',
    status: 'completed',
    parts: text === '' ? [] : [{ kind: 'text', mime: 'text/markdown', content: text }],
    ...changes,
  }
}

/** What is rendered, as the core gets it: JSON. */
export function drafts(
  reply: NormalizedResponse,
  to: JsonObject = replyTo(),
  { names = [], settings = home }: { names?: readonly string[]; settings?: RenderSettings } = {},
): readonly DraftCall[] {
  const calls = renderActivityPub(settings, reply, to, new Set(names))
  return JSON.parse(JSON.stringify(calls.map(({ call }) => call))) as readonly DraftCall[]
}

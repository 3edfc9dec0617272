// IRIs of our actors, notes and files. Other servers ask for them for years: none of these may change.
import type { JsonObject } from '../../../src/contract/index.ts'

export const publicAudience = 'https://www.w3.org/ns/activitystreams#Public'

export function actorIri(origin: string, agent: string): string {
  return `${origin}/ap/${agent}`
}

/** The page of an agent. */
export function profileIri(origin: string, agent: string): string {
  return `${origin}/@${agent}`
}

export function followersIri(origin: string, agent: string): string {
  return `${actorIri(origin, agent)}/followers`
}

export function noteIri(origin: string, agent: string, digest: string): string {
  return `${actorIri(origin, agent)}/notes/${digest}`
}

/** For a thread that came without a name. */
export function contextIri(noteId: string): string {
  return `${noteId}#context`
}

/** `name`: the note's digest, and a part that cannot be guessed. */
export function mediaIri(origin: string, agent: string, name: string): string {
  return `${actorIri(origin, agent)}/media/${name}`
}

// The JSON-LD context of our posts is the same where they are delivered, fetched and listed.

/** Said inline, so that no server has to fetch what our words mean. */
export const noteContext: JsonObject = {
  '@context': [
    'https://www.w3.org/ns/activitystreams',
    'https://w3id.org/security/data-integrity/v1',
    { sensitive: 'as:sensitive', ostatus: 'http://ostatus.org#', conversation: 'ostatus:conversation' },
  ],
}

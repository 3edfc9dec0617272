// IRIs of our actors, notes and files. Other servers ask for them for years: none of these may change.

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

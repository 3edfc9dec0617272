// Every actor a reply can notify, by the names it may call them by. A name that is not here is only text. Pure.
import type { ActivityPubReplyTo, Person } from '../wire/call.ts'
import { actorIri, profileIri } from '../wire/names.ts'

export type RenderHost = {
  /** Of the gateway: `https://host`. */
  readonly origin: string
  /** What stands behind the second @ of our agents' handles. */
  readonly handleHost: string
  /** Slugs of the agents here. */
  readonly agents: () => readonly string[]
}

export type People = {
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
  const answered = uniquePeople([author, ...others]).filter((each) => each.actor !== ours)
  const named = new Map(answered.map((each) => [each.handle.toLowerCase(), each]))
  for (const slug of home.agents()) {
    if (slug === to.agent) continue
    const sibling = localAgentPerson(home, slug)
    named.set(sibling.handle.toLowerCase(), sibling)
    named.set(`@${slug.toLowerCase()}`, sibling)
  }
  return { answered, byName: (name) => named.get(name.toLowerCase()) }
}

export function uniquePeople(people: readonly Person[]): readonly Person[] {
  return [...new Map(people.map((each) => [each.actor, each])).values()]
}

function localAgentPerson({ origin, handleHost }: RenderHost, slug: string): Person {
  const actor = actorIri(origin, slug)
  const [inbox, url] = [`${actor}/inbox`, profileIri(origin, slug)]
  return { actor, inbox, shared_inbox: null, handle: `@${slug}@${handleHost}`, url }
}

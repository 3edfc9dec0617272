// Everything of ours that anybody can read: whatever one document of ours says where another is, until there is nothing new.
export type Read = { readonly url: string; readonly status: number; readonly text: string }

const forms = ['application/activity+json', 'text/html'] as const
/** More than the story has; a crawl that does not end says so. */
const mostPlaces = 500

/** `more`: places that no document may name, such as private notes; they are asked for, too. */
export async function publicPlaces(
  origin: string,
  agents: readonly string[],
  more: readonly string[],
): Promise<readonly Read[]> {
  const waiting = [...agents.flatMap((agent) => placesOf(origin, agent)), ...more]
  const known = new Set(waiting)
  const read: Read[] = []
  for (let place = waiting.shift(); place !== undefined; place = waiting.shift()) {
    for (const found of await readAt(place)) {
      read.push(found)
      for (const next of linksIn(found.text, origin)) {
        if (known.has(next)) continue
        known.add(next)
        waiting.push(next)
      }
    }
    if (known.size > mostPlaces) throw new Error(`more than ${mostPlaces} places`)
  }
  return read
}

function placesOf(origin: string, agent: string): readonly string[] {
  const actor = `${origin}/ap/${agent}`
  const lists = ['outbox', 'followers', 'following', 'featured'].flatMap((name) => [
    `${actor}/${name}`,
    `${actor}/${name}?page=true`,
  ])
  const acct = `acct:${agent}@${new URL(origin).host}`
  const about = [
    '/.well-known/nodeinfo',
    '/.well-known/host-meta',
    `/.well-known/webfinger?resource=${acct}`,
    '/ap/actor',
  ]
  return [actor, ...lists, `${origin}/@${agent}`, ...about.map((path) => origin + path)]
}

async function readAt(url: string): Promise<readonly Read[]> {
  return Promise.all(
    forms.map(async (accept) => {
      const response = await fetch(url, { headers: { accept } })
      return { url, status: response.status, text: await response.text() }
    }),
  )
}

/** Addresses of ours in any kind of document; the inboxes take and give nothing. */
function linksIn(text: string, origin: string): readonly string[] {
  const whole = text.replaceAll('\\/', '/').replaceAll('&amp;', '&')
  const links = [
    ...[...whole.matchAll(/https?:\/\/[^\s"'<>\\{}]+/g)].map(([link]) => link),
    ...[...whole.matchAll(/(?:href|src)="(\/[^"]*)"/g)].map(([, path]) => origin + path),
  ]
  const ours = links.filter((link) => URL.canParse(link) && new URL(link).origin === origin)
  return ours.map((link) => link.split('#')[0] ?? link).filter((link) => !link.endsWith('/inbox'))
}

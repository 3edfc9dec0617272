// People at https names without a port, as the case tables know them: one server of this machine stands behind whoever ends TLS for them.
import type { SafeFetch } from '../../src/lib/safe-fetch-port.ts'
import type { Peer } from './activitypub-peer.ts'
import { type Fediverse, pemOf } from './fediverse.ts'

/** Asks the server of this machine for what is at an https name, and calls the answer by that name. */
export function behindTls(
  { guardedFetch, origin, origins }: Pick<Fediverse, 'guardedFetch' | 'origin' | 'origins'>,
  ...hosts: readonly string[]
): SafeFetch {
  const near = origins(...hosts)
  return {
    pins: guardedFetch.pins,
    async fetch(url, options = {}) {
      const { protocol, port, hostname, pathname, search } = new URL(url)
      if (protocol !== 'https:' || port !== '' || !hosts.includes(hostname)) return guardedFetch.fetch(url, options)
      const outcome = await guardedFetch.fetch(`${origin(hostname)}${pathname}${search}`, { ...options, origins: near })
      if (outcome.kind !== 'answered') return outcome
      const { hostname: host, pathname: path, search: query } = new URL(outcome.url)
      return { ...outcome, url: `https://${host}${path}${query}` }
    },
  }
}

/** The document of a peer with all its keys; answers what comes to its inbox. */
export function settlePeer(fediverse: Fediverse, { id, actor }: Peer): readonly string[] {
  const received: string[] = []
  const { hostname, pathname } = new URL(id)
  const publicKey = actor.keys.map(({ id: key, owner, spki }) => ({ id: key, owner, publicKeyPem: pemOf(spki) }))
  const { type, inbox, followers, preferredUsername, name } = actor
  fediverse.put(hostname, pathname, { body: { id, type, inbox, followers, preferredUsername, name, publicKey } })
  fediverse.put(hostname, new URL(inbox).pathname, {
    by(request, response) {
      let text = ''
      request.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk
      })
      request.on('end', () => {
        received.push(text)
        response.writeHead(202).end()
      })
    },
  })
  return received
}

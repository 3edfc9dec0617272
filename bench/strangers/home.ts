// What strangers have elsewhere: a server with actors, and a name system in which every domain signs with the same key.
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { strangerKey } from './stranger-key.ts'

export type Home = {
  readonly origin: string
  readonly names: string
  readonly setActor: (path: string, document: string) => void
  readonly close: () => Promise<void>
}

/** Documents of the last requests only: they are large. */
const maxActors = 64
const [txt, noSuchName] = [16, 3]

export async function startHome(): Promise<Home> {
  const actors = new Map<string, string>()
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://127.0.0.1')
    if (url.pathname === '/dns-query') {
      response.end(JSON.stringify(answerName(url.searchParams.get('name') ?? '', url.searchParams.get('type') ?? '')))
      return
    }
    const document = request.method === 'GET' ? actors.get(url.pathname) : undefined
    request.resume()
    response.writeHead(document === undefined ? 404 : 200, { 'content-type': 'application/activity+json' })
    response.end(document ?? '')
  })
  await listen(server)
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    origin,
    names: `${origin}/dns-query`,
    setActor(path, document) {
      if (actors.size >= maxActors) actors.delete(actors.keys().next().value ?? '')
      actors.set(path, document)
    },
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function listen(server: Server): Promise<void> {
  return new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
}

/** DKIM keys and DMARC policies of all domains; none has SPF. */
function answerName(name: string, type: string): object {
  const data =
    type !== 'TXT'
      ? undefined
      : name.includes('._domainkey.')
        ? strangerKey().record
        : name.startsWith('_dmarc.')
          ? 'v=DMARC1; p=none'
          : undefined
  return data === undefined ? { Status: noSuchName } : { Status: 0, Answer: [{ name, type: txt, TTL: 3600, data }] }
}

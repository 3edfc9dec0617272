// The name system as JSON over HTTP, on loopback: TXT records of a zone, and that nothing else is there.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

export type NamesByJson = { readonly url: string; readonly close: () => Promise<void> }

const [txt, noSuchName] = [16, 3]

export async function startNamesByJson(zone: Readonly<Record<string, string>>): Promise<NamesByJson> {
  const server = createServer((request, response) => {
    const asked = new URL(request.url ?? '/', 'http://127.0.0.1').searchParams
    const name = asked.get('name') ?? ''
    const record = asked.get('type') === 'TXT' ? zone[name] : undefined
    const answer = { Status: 0, Answer: [{ name, type: txt, TTL: 60, data: record }] }
    response.end(JSON.stringify(record === undefined ? { Status: noSuchName } : answer))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/dns-query`,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

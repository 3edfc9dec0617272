// A gateway on a port of this machine whose agents are actors, for people of other servers on it.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { type ActivityPubOptions, activitypub, activitypubChannel } from '../../adapters/activitypub/index.ts'
import { type Agent, defineAgent } from '../../src/agents/define-agent.ts'
import type { Database } from '../../src/db/client.ts'
import type { Runtime } from '../../src/gateway/assemble.ts'
import type { Fediverse } from './fediverse.ts'
import { createTestApp } from './test-app.ts'
import { createTestGateway, type TestGateway } from './test-gateway.ts'

export type FediverseGateway = {
  readonly gateway: TestGateway
  readonly origin: string
  /** Where it listens, whatever it is called. */
  readonly near: string
  actor(agent: string): string
  inbox(agent: string): string
  readonly sharedInbox: string
  /** As another server asks for a document. */
  document(url: string): Promise<{ readonly status: number; readonly body: Readonly<Record<string, unknown>> }>
  stop(): Promise<void>
}

export type FediverseOptions = {
  readonly agents?: readonly Agent[]
  readonly settings?: ActivityPubOptions
  /** Hosts of the people it is to talk with. */
  readonly hosts: readonly string[]
  /** Where the world is told that it is; without it the port it listens on. */
  readonly publicUrl?: string
  readonly runtime?: Partial<Runtime>
}

export const echo = defineAgent({ slug: 'demo', run: (message) => `heard: ${textOf(message.parts)}` })

const textOf = (parts: readonly object[]): string =>
  parts.map((part) => ('content' in part ? part.content : '')).join(' | ')

export async function startFediverseGateway(
  database: Database,
  fediverse: Pick<Fediverse, 'origins' | 'guardedFetch'>,
  { agents = [echo], settings = {}, hosts, publicUrl, runtime = {} }: FediverseOptions,
): Promise<FediverseGateway> {
  let handle: (request: Request) => Response | Promise<Response> = () => new Response(null, { status: 503 })
  const listener = getRequestListener((request) => handle(request))
  const server = createServer((incoming, outgoing) => void listener(incoming, outgoing))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const origin = publicUrl ?? `http://bot.localhost:${port}`
  const insecureLoopback = [...fediverse.origins(...hosts), `http://bot.localhost:${port}`]
  const gateway = createTestGateway(
    database,
    { agents: [...agents], connections: [activitypub({ insecureLoopback, ...settings })] },
    { sealKeys: async () => [new Uint8Array(32).fill(7)], guardedFetch: fediverse.guardedFetch, ...runtime },
    [activitypubChannel],
    { PARLEY_PUBLIC_URL: origin },
  )
  const app = createTestApp(gateway, database, {
    sourceOf: () => 'remote',
    maxBodyBytes: 1024 * 1024,
    ...(runtime.now === undefined ? {} : { now: runtime.now }),
  })
  handle = (request) => app.fetch(request)
  return {
    gateway,
    origin,
    near: `http://127.0.0.1:${port}`,
    actor: (agent) => `${origin}/ap/${agent}`,
    inbox: (agent) => `${origin}/ap/${agent}/inbox`,
    sharedInbox: `${origin}/ap/inbox`,
    async document(url) {
      const { pathname, search } = new URL(url)
      const headers = { accept: 'application/activity+json' }
      const response = await fetch(`http://127.0.0.1:${port}${pathname}${search}`, { headers })
      return { status: response.status, body: await response.json() }
    },
    async stop() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      gateway.stop()
    },
  }
}

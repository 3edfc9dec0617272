// The outside world of the crash test `shapes`: a shop that writes down every call and every effect with its key and the messages
// it is for, and that can lose an answer, or an order, on the way.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { freePort } from '../doubles/free-port.ts'
import type { OrderKind } from './shapes-order.ts'

export type ShopCall = {
  readonly key: string
  readonly kind: OrderKind
  /** The agents from the one that was written to on; the step; the how-manieth of its name and arguments. */
  readonly path: string
  readonly step: string
  readonly use: number
  /** What an apology calls it. */
  readonly label: string
  /** How many such calls the agent makes in one turn, alike in everything. */
  readonly alike: number
  /** The messages it is for. */
  readonly ids: readonly string[]
  readonly text: string
  readonly trouble: 'none' | 'cut' | 'lost'
  readonly turn: string
  readonly pid: number
}

/** Where the agents under test find it; nothing listens at `closedUrl`. */
export type ShopAddress = { readonly url: string; readonly closedUrl: string }

export type Shop = ShopAddress & {
  /** In the order of arrival. */
  readonly calls: readonly ShopCall[]
  /** Calls that did something: of keyed ones, the first under each key. */
  readonly effects: readonly ShopCall[]
  /** Agents no longer fail for these messages. */
  readonly heal: (ids: readonly string[]) => void
  readonly close: () => Promise<void>
}

export async function startShop(latencyMs: number): Promise<Shop> {
  const calls: ShopCall[] = []
  const effects: ShopCall[] = []
  const seen = new Set<string>()
  const applied = new Set<string>()
  const healed = new Set<string>()
  const server = createServer((request, response) => {
    // A caller that died in the middle of its request had no effect.
    answer(request, response).catch(() => response.destroy())
  })
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const text = await textOf(request)
    // The only callers are the agents under test.
    if (request.url === '/sick') return void response.end(JSON.stringify(isSick(JSON.parse(text) as readonly string[])))
    const call = JSON.parse(text) as ShopCall
    const isFirst = !seen.has(call.key)
    seen.add(call.key)
    calls.push(call)
    if (call.trouble === 'lost' && isFirst) return void response.destroy()
    if (call.kind === 'plain' || !applied.has(call.key)) effects.push(call)
    applied.add(call.key)
    if (call.trouble === 'cut' && isFirst) return void response.destroy()
    await new Promise((resolve) => setTimeout(resolve, latencyMs))
    response.end('done')
  }
  const isSick = (ids: readonly string[]): boolean => ids.some((id) => !healed.has(id))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  // A TCP server always has an address object; only pipes have a string.
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    closedUrl: `http://127.0.0.1:${await freePort()}`,
    calls,
    effects,
    heal(ids) {
      for (const id of ids) healed.add(id)
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Uint8Array[] = []
  for await (const chunk of request) chunks.push(chunk)
  return Buffer.concat(chunks).toString('utf8')
}

// The outside world an agent acts on: every call is an effect, written down when it arrives, whatever its caller hears.
// Only calls of `keyed` messages are told apart by their key, as a tool does that takes idempotency keys.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export type EffectBody = {
  readonly connection: string
  readonly conversation: string
  readonly id: string
  readonly wish: string
  /** The step's key, the same on every try. */
  readonly key: string
  readonly turn: string
  readonly attempt: number
  readonly pid: number
  readonly startedAt: number
  readonly sender: string
  readonly evidence: string
  /** Every message of the turn, in order. */
  readonly members: readonly string[]
  /** Rows the database has given to the process so far, and lines of history the agent was given. */
  readonly rowsRead: number
  readonly historyLines: number
}

export type Effect = EffectBody & { readonly at: number }

export type ToolStub = {
  readonly url: string
  /** In the order of arrival. */
  readonly effects: readonly Effect[]
  /** Every call, also those that had no effect because their key was known. */
  readonly calls: readonly Effect[]
  /** Answers what waits at the gate of a conversation, now and from now on; without one, at every gate. */
  readonly openGate: (conversation?: string) => void
  readonly close: () => Promise<void>
}

export async function startToolStub(latencyMs: number): Promise<ToolStub> {
  const effects: Effect[] = []
  const calls: Effect[] = []
  const keys = new Set<string>()
  const gates = new Map<string, PromiseWithResolvers<void>>()
  let isOpen = false
  const gateOf = (conversation: string): PromiseWithResolvers<void> => {
    const gate = gates.get(conversation) ?? Promise.withResolvers<void>()
    gates.set(conversation, gate)
    if (isOpen) gate.resolve()
    return gate
  }
  const server = createServer((request, response) => {
    // A caller that died in the middle of its request had no effect.
    answer(request, response).catch(() => response.destroy())
  })
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Uint8Array[] = []
    for await (const chunk of request) chunks.push(chunk)
    // The only caller is the agent under test, which sends an EffectBody.
    const body = { ...(JSON.parse(Buffer.concat(chunks).toString('utf8')) as EffectBody), at: Date.now() }
    calls.push(body)
    if (body.wish !== 'keyed' || !keys.has(body.key)) effects.push(body)
    keys.add(body.key)
    if (body.wish === 'gate') await gateOf(body.conversation).promise
    else if (latencyMs > 0) await new Promise((resolve) => setTimeout(resolve, latencyMs))
    response.end('done')
  }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  // A TCP server always has an address object; only pipes have a string.
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    effects,
    calls,
    openGate(conversation) {
      isOpen ||= conversation === undefined
      for (const gate of conversation === undefined ? gates.values() : [gateOf(conversation)]) gate.resolve()
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

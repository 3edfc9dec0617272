// The program as users start it, on PostgreSQL, with agents that ask the test what to say, and everything it keeps.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import postgres from 'postgres'
import { startParley } from '../../doubles/parley-process.ts'
import { clonedDatabase } from '../../setup/cloned-database.ts'
import { openFrontDoor, type Posted } from './recording-proxy.ts'

/** `shown`: what of the conversation the agent was shown; `before`: of how many messages. */
export type Turn = { readonly agent: string; readonly said: string; readonly before: number; readonly shown: string }

export type Books = Readonly<Record<'received' | 'answered' | 'merged' | 'refused' | 'dead' | 'inFlight', number>>

export type Story = {
  readonly origin: string
  readonly turns: Turn[]
  readonly posted: Posted[]
  actor(agent: string): string
  /** Agents wait with their answers until what it gives is called. */
  hold(): () => void
  books(): Promise<Books>
  /** Nothing is in a turn or on its way. */
  isQuiet(): Promise<boolean>
  /** Every row of every table, as text. */
  kept(): Promise<string>
  stop(): Promise<void>
}

/** What is asked in public, what stays between them, and what it was changed into; `left`: words that were changed before they were read. */
export const words = {
  secret: 'marmalade',
  changed: 'persimmon',
  answer: 'quince',
  open: 'apricot',
  left: 'gooseberry',
  instead: 'elderberry',
} as const

export const slugs = ['demo', 'helper'] as const
const library = new URL('../../../dist/index.js', import.meta.url).href

export async function startStory(peers: readonly string[], postgresUrl: string): Promise<Story> {
  const [door, desk, database] = [await openFrontDoor(), await startDesk(), await clonedDatabase(postgresUrl)]
  const dataDir = await mkdtemp(join(tmpdir(), 'parley-fediverse-story-'))
  await writeFile(join(dataDir, 'parley.config.mjs'), configText(peers, desk.url))
  const env = { PARLEY_PUBLIC_URL: door.origin, DATABASE_URL: database.url, A2A_CHANNEL: 'off' }
  const gateway = await startParley({ dataDir, env })
  door.leadTo(gateway.url)
  const sql = postgres(database.url, { max: 1, onnotice: () => {} })
  const { origin, posted } = door
  const books = async (): Promise<Books> => {
    const { body } = await gateway.get('/admin/stats')
    const [line] = (body as { readonly stats: readonly Books[] }).stats
    const { received = 0, answered = 0, merged = 0, refused = 0, dead = 0, inFlight = 0 } = line ?? {}
    return { received, answered, merged, refused, dead, inFlight }
  }
  return {
    origin,
    posted,
    turns: desk.turns,
    hold: desk.hold,
    books,
    actor: (agent) => `${origin}/ap/${agent}`,
    async isQuiet() {
      if ((await books()).inFlight > 0) return false
      const { body } = await gateway.get('/admin/deliveries?state=queued,sending,retry,unknown')
      return (body as { readonly deliveries: readonly unknown[] }).deliveries.length === 0
    },
    async kept() {
      const [row] = await sql`select schema_to_xml('public', true, false, '')::text as text`
      return String(row?.['text'])
    },
    async stop() {
      await gateway.kill()
      await sql.end()
      await desk.close()
      await door.close()
      await database.drop()
      await rm(dataDir, { recursive: true, force: true })
    },
  }
}

type Desk = {
  readonly url: string
  readonly turns: Turn[]
  hold(): () => void
  close(): Promise<void>
}

/** The agents ask here what to say. */
async function startDesk(): Promise<Desk> {
  const turns: Turn[] = []
  let held: Promise<void> = Promise.resolve()
  const hear = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const turn = JSON.parse(Buffer.concat(chunks).toString()) as Turn
    turns.push(turn)
    await held
    response.end(turn.said.includes(words.secret) ? `between us: ${words.answer}` : `for everybody: ${words.open}`)
  }
  const server = createServer((request, response) => void hear(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    turns,
    hold() {
      const { promise, resolve } = Promise.withResolvers<void>()
      held = promise
      return resolve
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

function configText(insecureLoopback: readonly string[], deskUrl: string): string {
  return `
import { activitypub, defineAgent, defineConfig } from ${JSON.stringify(library)}
const agent = (slug) =>
  defineAgent({
    slug,
    async run({ parts, history }) {
      const told = { agent: slug, said: JSON.stringify(parts), before: history.length, shown: JSON.stringify(history) }
      return (await fetch(${JSON.stringify(deskUrl)}, { method: 'POST', body: JSON.stringify(told) })).text()
    },
  })
export default defineConfig({
  agents: ${JSON.stringify(slugs)}.map(agent),
  connections: [activitypub(${JSON.stringify({ insecureLoopback })})],
})
`
}

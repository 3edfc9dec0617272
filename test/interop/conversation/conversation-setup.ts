// One story's own world: the program as users start it with a configuration file, a model that speaks slowly, a bank that counts
// payments, and a database that outlives the processes.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readPostmasterPidFile } from '../../../src/node/embedded-postgres/postmaster.ts'
import { stopServer } from '../../../src/node/embedded-postgres/server.ts'
import { embeddedFolder } from '../../../src/node/embedded-postgres.ts'
import { runParley } from '../../doubles/gateway-child.ts'
import { type ParleyProcess, startParley } from '../../doubles/parley-process.ts'
import { type ScriptedModelServer, startScriptedModel } from '../../doubles/scripted-model-server.ts'
import { createPostgresDatabase } from '../../setup/postgres-databases.ts'

/** The PostgreSQL that the program starts in its folder, or a database of its own on the run's server. */
export type DatabaseKind = 'embedded' | 'server'

/** Calls may take so long, and a lease three times that: what waits for a lease in these stories waits seconds. */
export const callTimeoutMs = 2000
const leaseMs = callTimeoutMs * 3

export const opening = 'Let me look at the bill of the lamps before I pay anything for anybody in here today. '
export const ending =
  'Paid 12 EUR for the lamps. The receipt is number seven, and nothing else is left to do in this matter.'

export type Books = Readonly<
  Record<'received' | 'answered' | 'merged' | 'refused' | 'dead' | 'inFlight', number> & { connection: string }
>

/** What the platform has seen of words that grow: the model goes on speaking only then, however slow the machine is. */
export type Watch = {
  readonly isOpened: (words: string) => boolean
  readonly frames: (words: string) => number
}

export type Stage = {
  readonly model: ScriptedModelServer
  /** Amounts, in the order they were paid. */
  readonly paid: readonly number[]
  /** A process on the story's database; another one is another replica. */
  readonly start: () => Promise<ParleyProcess>
  /** SIGCONT and kill -9 to what still runs. */
  readonly close: () => Promise<void>
  readonly books: (gateway: ParleyProcess) => Promise<readonly Books[]>
  /** What `parley explain` prints. */
  readonly explain: (id: string) => Promise<string>
}

const root = new URL('../../../', import.meta.url)
const library = new URL('dist/index.js', root).href

export type Wanted = {
  readonly database: DatabaseKind
  readonly postgresUrl: string
  /** Source of one connection, such as `slack({ … })`. */
  readonly connection: string
  readonly watch: Watch
  /** So many edits are seen before the model says its last word. */
  readonly framesWanted: () => number
}

export async function openStage(wanted: Wanted): Promise<Stage> {
  const { database, postgresUrl, connection } = wanted
  const model = await startScriptedModel()
  const bank = await startBank()
  const postgres = database === 'server' ? await createPostgresDatabase(postgresUrl) : undefined
  const folders: string[] = []
  const running: ParleyProcess[] = []
  let latest: { dataDir: string; env: Readonly<Record<string, string>> } | undefined
  answerAsAModel(model, wanted)
  return {
    model,
    paid: bank.paid,
    async start() {
      // The embedded database belongs to one process and its folder stays; replicas on a server have a folder each.
      const dataDir =
        (postgres === undefined ? folders[0] : undefined) ?? (await mkdtemp(join(tmpdir(), 'parley-story-')))
      if (!folders.includes(dataDir)) folders.push(dataDir)
      await writeFile(join(dataDir, 'parley.config.mjs'), configText(connection, model.baseUrl, bank.url))
      const env = postgres === undefined ? {} : { DATABASE_URL: postgres.url }
      const gateway = await startParley({ dataDir, env, database: 'embedded', patienceMs: 150_000 })
      running.push(gateway)
      latest = { dataDir, env }
      return gateway
    },
    async close() {
      for (const gateway of running) {
        signal(gateway, 'SIGCONT')
        await gateway.kill()
      }
      for (const folder of folders) await stopEmbedded(folder)
      await model.close()
      await bank.close()
      await postgres?.drop()
      for (const folder of folders) await rm(folder, { recursive: true, force: true })
    },
    books: async (gateway) => ((await gateway.get('/admin/stats')).body as { stats: readonly Books[] }).stats,
    async explain(id) {
      if (latest === undefined) throw new Error('no gateway')
      const { dataDir, env } = latest
      const more = { PARLEY_DATA_DIR: dataDir, PARLEY_ADMIN_TOKEN: 'operator-token-of-the-tests' }
      return (await runParley({ cwd: dataDir, env: { ...env, ...more }, args: ['explain', '--', id] })).output
    },
  }
}

/** It goes on when its gateway is killed. */
async function stopEmbedded(dataDir: string): Promise<void> {
  const folder = embeddedFolder(dataDir)
  const found = await readPostmasterPidFile(folder)
  if (found !== undefined) await stopServer(found, folder)
}

/** By its own pid; one that is gone needs none. */
export function signal({ pid }: ParleyProcess, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch {}
}

/** First words and a tool that needs consent, then, with the tool's result, the last words. Both come slowly. */
function answerAsAModel(model: ScriptedModelServer, { watch, framesWanted }: Wanted): void {
  const thinks = (words: string) => async (frame: number) => {
    if (frame === 4) await seen(() => watch.isOpened(words))
    const wanted = Math.min(frame - 7, framesWanted())
    if (frame >= 8 && frame <= 12 && wanted > 0) await seen(() => watch.frames(words) >= wanted)
  }
  model.answerBy(({ messages }) => {
    const since = messages.slice(messages.findLastIndex(({ role }) => role === 'user'))
    if (since.some(({ role }) => role === 'tool')) return { text: ending, thinks: thinks(ending) }
    const calls = [{ id: 'pay-1', name: 'bank__pay', arguments: '{"amount":12}' }]
    return { text: opening, calls, thinks: thinks(opening) }
  })
}

/** Gives up in the end: a reply that nobody could watch growing is a reply too. */
async function seen(isSo: () => boolean): Promise<void> {
  await eventually('to be seen', isSo, 20_000).catch(() => {})
}

async function startBank(): Promise<{ url: string; paid: number[]; close: () => Promise<void> }> {
  const paid: number[] = []
  const server = createServer((request, response) => {
    paid.push(Number(new URL(request.url ?? '', 'http://127.0.0.1').searchParams.get('amount')))
    response.end('ok')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
  return { url: `http://127.0.0.1:${port}`, paid, close }
}

function configText(connection: string, modelUrl: string, bankUrl: string): string {
  return `
import { defineAgent, defineConfig, defineTool, openAiCompatible, slack, telegram } from ${JSON.stringify(library)}
const pay = defineTool({
  name: 'bank/pay',
  description: 'Pays.',
  parameters: { type: 'object', properties: { amount: { type: 'number' } }, required: ['amount'] },
  action_policy: 'preview',
  approval: { summary: ({ amount }) => 'pay ' + amount + ' EUR' },
  execute: async ({ amount }) => {
    await fetch(${JSON.stringify(bankUrl)} + '/?amount=' + amount)
    return { paid: amount }
  },
})
const model = openAiCompatible({ baseUrl: ${JSON.stringify(modelUrl)}, model: 'scripted' })
const limits = { conversation: { count: 100, perMs: 1000 } }
const [callTimeoutMs, access] = [${callTimeoutMs}, { mode: 'public', allow: [] }]
export default defineConfig({
  agents: [defineAgent({ slug: 'desk', model, tools: [pay] })],
  connections: [${connection}],
  turns: { leaseMs: ${leaseMs}, pollMs: 200, retryFirstMs: 50 },
})
`
}

/** Waits until it is so, and says what was waited for where it never is. */
export async function eventually(
  what: string,
  isSo: () => boolean | Promise<boolean>,
  timeoutMs = 60_000,
): Promise<void> {
  for (const late = Date.now() + timeoutMs; !(await isSo()); ) {
    if (Date.now() > late) throw new Error(`${what}: did not come in ${timeoutMs} ms`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

// A gateway with a mail domain of its own in a process of its own. It signs what it sends, and hands it to one post office.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from './free-port.ts'
import { runParley } from './gateway-child.ts'
import { startParley } from './parley-process.ts'
import type { MailKey } from './signed-mails.ts'

export type MailGateway = {
  readonly domain: string
  /** Where it takes mail. */
  readonly port: number
  readonly books: () => Promise<Readonly<Record<string, unknown>>>
  /** What the command line prints. */
  readonly parley: (...args: readonly string[]) => Promise<string>
  readonly close: () => Promise<void>
}

export type MailGatewayOptions = {
  readonly domain: string
  readonly key: MailKey
  readonly dnsServer: string
  readonly smtpUrl: string
  /** More of the connection's settings. */
  readonly settings?: object
}

const library = new URL('../../dist/index.js', import.meta.url).href

/** Its agent, `desk`, answers every mail in words that are new each time. */
export async function startMailGateway(options: MailGatewayOptions): Promise<MailGateway> {
  const { domain, key, dnsServer, smtpUrl, settings = {} } = options
  const dataDir = await mkdtemp(join(tmpdir(), 'parley-mail-gateway-'))
  const port = await freePort()
  const connection = {
    domain,
    smtpUrl,
    dnsServers: [dnsServer],
    smtp: { port },
    access: { mode: 'public', allow: [] },
    dkimKeys: [{ selector: 's1', privateKey: key.privateKey }],
    ...settings,
  }
  await writeFile(
    join(dataDir, 'parley.config.mjs'),
    `
import { randomUUID } from 'node:crypto'
import { defineAgent, defineConfig, email } from ${JSON.stringify(library)}
export default defineConfig({
  agents: [defineAgent({ slug: 'desk', run: () => 'And what do you say to ' + randomUUID() + '?' })],
  connections: [email(${JSON.stringify(connection)})],
  turns: { pollMs: 200 },
})
`,
  )
  const gateway = await startParley({ dataDir, patienceMs: 150_000 })
  return {
    domain,
    port,
    async books() {
      const { stats } = (await gateway.get('/admin/stats')).body as { stats: readonly Record<string, unknown>[] }
      return stats[0] ?? {}
    },
    async parley(...args) {
      const env = { PARLEY_DATA_DIR: dataDir, PARLEY_ADMIN_TOKEN: 'operator-token-of-the-tests', EMAIL_CHANNEL: 'off' }
      return (await runParley({ cwd: dataDir, env, args })).output
    },
    async close() {
      await gateway.kill()
      await rm(dataDir, { recursive: true, force: true, maxRetries: 10 })
    },
  }
}

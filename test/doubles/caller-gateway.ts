// A gateway on its port and its socket, with an agent that says whom it knows its caller as.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { a2aChannel } from '../../adapters/a2a/index.ts'
import { aguiChannel } from '../../adapters/agui/index.ts'
import { emailChannel } from '../../adapters/email/index.ts'
import { defineAgent } from '../../src/agents/define-agent.ts'
import { loadConfig } from '../../src/config.ts'
import { socketPathFor } from '../../src/node/data-dir.ts'
import { type RunningGateway, startNode } from '../../src/node.ts'
import { migrationsFolder } from '../setup/cloned-database.ts'
import { takeDatabase } from '../setup/pooled-database.ts'
import type { LogLine } from './test-gateway.ts'

const adminToken = 'admin-token-of-this-test'
export const operator = { authorization: `Bearer ${adminToken}` }

export type CallerScene = {
  readonly gateway: RunningGateway
  /** The path of the socket in its data folder. */
  readonly socket: string
  readonly logged: readonly LogLine[]
  readonly close: () => Promise<void>
}

export async function startCallerScene(adminUrl: string, env: Record<string, string> = {}): Promise<CallerScene> {
  const clone = await takeDatabase(adminUrl)
  const dataDir = await mkdtemp(join(tmpdir(), 'parley-callers-'))
  const demo = defineAgent({
    slug: 'demo',
    run: (message, context) => `${context.principal} said ${message.history?.length ?? 0} lines before`,
  })
  const config = loadConfig(
    {
      PARLEY_PORT: '0',
      DATABASE_URL: clone.url,
      PARLEY_ADMIN_TOKEN: adminToken,
      PARLEY_DATA_DIR: dataDir,
      EMAIL_DOMAIN: 'agents.example',
      ...env,
    },
    { agents: [demo] },
    [aguiChannel, a2aChannel, emailChannel],
  )
  const logged: LogLine[] = []
  const write =
    (level: string) =>
    (event: string, facts: LogLine['facts'] = {}) =>
      void logged.push({ level, event, facts })
  const log = { info: write('info'), warn: write('warn'), error: write('error') }
  const gateway = await startNode({ config, migrationsFolder, log })
  return {
    gateway,
    logged,
    socket: await socketPathFor(dataDir, 'control'),
    async close() {
      await gateway.stop(2_000)
      await clone.drop()
      await rm(dataDir, { recursive: true, force: true })
    },
  }
}

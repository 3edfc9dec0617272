// Parley as a subject: the whole gateway as the command starts it, on the channel whose signature is the floor's.
import { fileURLToPath } from 'node:url'
import { a2aChannel } from '../../adapters/a2a/index.ts'
import { activitypubChannel } from '../../adapters/activitypub/index.ts'
import { emailChannel } from '../../adapters/email/index.ts'
import { slackChannel } from '../../adapters/slack/index.ts'
import { telegramChannel } from '../../adapters/telegram/index.ts'
import { defineAgent } from '../../src/agents/define-agent.ts'
import { type Config, loadConfig } from '../../src/config.ts'
import { type ChannelDefinition, type NormalizedMessage, textOf } from '../../src/contract/index.ts'
import { createPinnedFetch } from '../../src/node/guarded-fetch.ts'
import { createNodeLog } from '../../src/node/log.ts'
import { openDatabase } from '../../src/node/open-database.ts'
import { startNode } from '../../src/node.ts'
import { freePort } from '../../test/doubles/free-port.ts'
import { loopbackClientId } from '../../test/doubles/loopback/index.ts'
import { answerUpdate } from '../journey/updates.ts'
import { activitypubAccount } from '../platforms/activitypub.ts'
import { emailAccount } from '../platforms/email.ts'
import { slackAccount } from '../platforms/slack.ts'
import { telegramAccount } from '../platforms/telegram.ts'
import { secret } from '../requests.ts'
import { adminToken, type Subject, type SubjectSettings, type Wire } from '../subject-settings.ts'
import { countedDatabase } from './counted-database.ts'
import { databaseOfNothing } from './database-of-nothing.ts'
import { nameService } from './name-service.ts'
import { portOpen } from './port-open.ts'

type GatewaySettings = Extract<SubjectSettings, { kind: 'gateway' }>

const nowhere = 'http://127.0.0.1:9'
const accounts: Readonly<Record<Wire, { readonly channel: ChannelDefinition; readonly settings: object }>> = {
  loopback: { channel: loopbackClientId, settings: { secret, vendorUrl: nowhere } },
  telegram: { channel: telegramChannel, settings: { ...telegramAccount, apiRoot: nowhere } },
  slack: { channel: slackChannel, settings: { ...slackAccount, apiUrl: nowhere } },
  a2a: { channel: a2aChannel, settings: { anonymous: true } },
  'a2a-stream': { channel: a2aChannel, settings: { anonymous: true } },
  email: { channel: emailChannel, settings: { domain: emailAccount.domain, dnsOverHttps: nowhere } },
  // All of them write from one server, as much as they like.
  activitypub: { channel: activitypubChannel, settings: { hostLimit: { count: 1e9, perMs: 600_000 } } },
}

/** What the platform tolerates is far below what a machine can do: with it a run would measure the limit. */
const noLimits = { connection: { count: 1_000_000, perMs: 1000 }, conversation: { count: 1_000_000, perMs: 1000 } }

/** All mail comes from one address, as from a relay of the operator's own. */
const oneRelay = { clientsPerAddress: 100, mailsPerMinute: 1_000_000 }

export async function startGateway(settings: GatewaySettings): Promise<Subject> {
  const statements = new Map<string, number>()
  const mailPort = settings.wire === 'email' ? await freePort() : undefined
  let sends = 0
  const names = nameService(settings.zone ?? {})
  const vendor: typeof fetch = async (url) => {
    if (settings.wire === 'email') return names(String(url))
    sends += 1
    return Response.json({ id: `v${sends}` })
  }
  const running = await startNode({
    config: configFor(settings, vendor, mailPort),
    // The bundle lies in dist, beside the folder of the migrations.
    migrationsFolder: fileURLToPath(new URL('../drizzle', import.meta.url)),
    log: createNodeLog('warn'),
    async openDatabase(options) {
      const isReal = settings.storage !== 'nothing'
      const opened = isReal ? await openDatabase(options) : { database: databaseOfNothing(), close: async () => {} }
      return { ...opened, database: countedDatabase(opened.database, statements) }
    },
  })
  if (mailPort !== undefined) await portOpen(mailPort)
  return {
    port: Number(new URL(running.url).port),
    ...(mailPort === undefined ? {} : { mailPort }),
    statements,
    sends: () => sends,
    stop: () => running.stop(2000),
  }
}

function configFor(
  { wire, drains, databaseUrl, dataDir, peopleUrl, apiUrl }: GatewaySettings,
  vendor: typeof fetch,
  mailPort: number | undefined,
): Config {
  const { channel, settings } = accounts[wire]
  const listening = mailPort === undefined ? {} : { smtp: { port: mailPort, limits: oneRelay } }
  const people = peopleUrl === undefined ? {} : { insecureLoopback: [peopleUrl] }
  const environment = {
    PARLEY_PORT: '0',
    PARLEY_DATA_DIR: dataDir,
    PARLEY_ADMIN_TOKEN: adminToken,
    A2A_CHANNEL: 'off',
    EMAIL_CHANNEL: 'off',
    PARLEY_PUBLIC_URL: wire === 'activitypub' ? activitypubAccount.origin : undefined,
    DATABASE_URL: databaseUrl,
  }
  const access = { mode: 'public', allow: [] } as const
  const answers = apiUrl === undefined ? {} : { apiRoot: apiUrl, limits: noLimits }
  const answer = apiUrl === undefined ? () => 'seen' : ({ parts }: NormalizedMessage) => answerUpdate(textOf(parts))
  const file = {
    agents: [defineAgent({ slug: 'bench', run: answer })],
    connections: [
      { channel: channel.channel, id: 'bench', access, settings: { ...settings, ...listening, ...people, ...answers } },
    ],
    // Without slots nothing is claimed: messages wait in their lanes, and what is measured is accepting alone.
    turns: drains ? {} : { slots: 0, sendSlots: 0 },
  }
  return loadConfig(environment, file, [apiUrl === undefined ? withVendor(channel, vendor) : channel])
}

/** The platform's own interface, answering at once and inside the process: no reply costs the machine a connection. */
function withVendor(channel: ChannelDefinition, vendor: typeof fetch): ChannelDefinition {
  const here = {
    fetch: vendor,
    guardedFetch: createPinnedFetch({ resolve: async () => ['127.0.0.1'], isPublic: () => true }),
  }
  return { ...channel, create: (given, deps) => channel.create(given, { ...deps, ...here }) }
}

// A gateway with a mail domain: mail goes in over real SMTP, and what it answers is read out of the folder it is written to.
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { scanHead } from '../../adapters/email/headers/scan-head.ts'
import { type EmailOptions, email, emailChannel } from '../../adapters/email/index.ts'
import type { MailHead } from '../../adapters/email/wire/mail.ts'
import { type Agent, defineAgent } from '../../src/agents/define-agent.ts'
import { textOf } from '../../src/contract/index.ts'
import type { Database } from '../../src/db/client.ts'
import { createRejectionLog } from '../../src/identity/rejected-requests.ts'
import { createNodeListeners } from '../../src/node/ingress.ts'
import { submit } from './submit-mail.ts'
import { createTestGateway, type TestGateway } from './test-gateway.ts'

export type SentOut = {
  readonly head: MailHead
  readonly text: string
  readonly from: string
  readonly to: readonly string[]
}

export type MailScene = {
  readonly gateway: TestGateway
  /** Hands a mail in; answers the last line of the server. */
  readonly send: (
    mail: string,
    envelope?: { readonly from?: string; readonly to?: readonly string[] },
  ) => Promise<string>
  /** What went out, in the order it did. */
  readonly sent: () => Promise<readonly SentOut[]>
  readonly close: () => Promise<void>
}

export type SceneOptions = {
  readonly agents?: readonly Agent[]
  readonly settings?: Partial<EmailOptions>
  readonly changes?: Parameters<typeof createTestGateway>[2]
  readonly environment?: Readonly<Record<string, string>>
}

const echo = (slug: string): Agent => defineAgent({ slug, run: (message) => `${slug} heard: ${textOf(message.parts)}` })

export const localDomain = 'parley.localhost'

export async function openMailScene(database: Database, options: SceneOptions = {}): Promise<MailScene> {
  const folder = await mkdtemp(join(tmpdir(), 'parley-mail-'))
  const connection = email({
    access: { mode: 'public', allow: [] },
    domain: localDomain,
    smtp: { port: 0 },
    trustLoopback: true,
    mailFolder: folder,
    ...options.settings,
  })
  const agents = options.agents ?? [echo('demo')]
  const gateway = createTestGateway(database, { agents, connections: [connection] }, options.changes, [emailChannel], {
    EMAIL_CHANNEL: 'off',
    PARLEY_SEAL_KEY: 'ab'.repeat(32),
    ...options.environment,
  })
  const listeners = createNodeListeners(gateway, createRejectionLog())
  await listeners.start()
  const address = listeners.states()[0]?.address ?? ''
  const port = Number(address.slice(address.lastIndexOf(':') + 1))
  return {
    gateway,
    send: (mail, { from = 'ada@people.example', to = [`demo@${localDomain}`] } = {}) =>
      submit(port, [`MAIL FROM:<${from}>`, ...to.map((each) => `RCPT TO:<${each}>`)], mail),
    sent: () => readFolder(folder),
    async close() {
      await listeners.stop()
      gateway.stop()
      await rm(folder, { recursive: true, force: true, maxRetries: 10 })
    },
  }
}

async function readFolder(folder: string): Promise<readonly SentOut[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.eml'))
  const all = await Promise.all(names.map(async (name) => sentOf(await readFile(join(folder, name)))))
  return all.toSorted((one, other) => (one.head.date ?? '').localeCompare(other.head.date ?? ''))
}

function sentOf(bytes: Uint8Array): SentOut {
  const raw = new TextDecoder().decode(bytes)
  const field = (name: string): string => new RegExp(`^${name}: (.*)$`, 'm').exec(raw)?.[1]?.trim() ?? ''
  const addresses = (value: string): readonly string[] => [...value.matchAll(/<([^>]*)>/g)].map(([, each = '']) => each)
  return {
    head: scanHead(bytes),
    text: raw,
    from: addresses(field('X-Envelope-From'))[0] ?? '',
    to: addresses(field('X-Envelope-To')),
  }
}

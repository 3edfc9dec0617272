// Two workspaces that installed one app in a browser, everything mixed: same people, same channels, same times, same names of files.
// Nothing of one is ever said with the other's token, shown to its agent run, or fetched for it, bytes included.
// PARLEY_ISOLATION_EVENTS=10000 runs the long form.
import { expect, test } from 'vitest'
import { slackChannel } from '../../adapters/slack/index.ts'
import { type Agent, defineAgent } from '../../src/agents/define-agent.ts'
import { textOf } from '../../src/contract/index.ts'
import { type Database, nameStatement } from '../../src/db/client.ts'
import { startSlackOauth } from '../doubles/slack-oauth.ts'
import { installSettings, messageEvent, signed, signingSecret } from '../doubles/slack-tenants.ts'
import { startSlackWorkspaces, type WorkspaceCall } from '../doubles/slack-workspaces.ts'
import { createTestApp } from '../doubles/test-app.ts'
import { createTestGateway } from '../doubles/test-gateway.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'

const events = Number(process.env['PARLEY_ISOLATION_EVENTS'] ?? 120)
const teams = ['T0ONE', 'T0TWO'] as const
const rooms = 20
const atOnce = 40
const hook = '/hooks/slack/default'
const canary = (team: string, number: number): string => `canary-${team}-${number}.`
const teamOf = (number: number): string => teams[number % 2] ?? ''
const otherOf = (team: string): string => (team === 'T0ONE' ? 'T0TWO' : 'T0ONE')

/** Says back all it was shown, bytes of files too: what it knows of another workspace would come out. */
function echo(leaks: string[]): Agent {
  return defineAgent({
    slug: 'demo',
    async run(message, { attachments }) {
      const files: string[] = []
      for (const part of message.parts) {
        const id = 'attachment' in part ? (part.attachment as { id: string }).id : undefined
        const bytes = id === undefined ? undefined : await attachments.bytes(id, 4096)
        if (bytes !== undefined) files.push(Buffer.from(bytes).toString('latin1'))
      }
      const team = /canary-(T0ONE|T0TWO)-/.exec(textOf(message.parts))?.[1] ?? ''
      const context = JSON.stringify(message) + files.join(' ')
      if (team === '' || context.includes(otherOf(team))) leaks.push(message.id)
      const shown = [...(message.history ?? []).map(({ parts }) => textOf(parts)), textOf(message.parts)]
      const known = shown.flatMap((text) => text.match(/canary-[\w-]+\./g) ?? []).slice(-40)
      return [...known, ...files].join(' ')
    },
  })
}

function eventOf(number: number, origin: string): object {
  const team = teamOf(number)
  const room = Math.floor(number / 2) % rooms
  // The same times in both workspaces, one message after the other in each room.
  const ts = `${Math.floor(Date.now() / 1000)}.${String(Math.floor(number / 2)).padStart(6, '0')}`
  const text = canary(team, number)
  const file = {
    id: `F0SAME${Math.floor(number / 2)}`,
    name: 'same.txt',
    mimetype: 'text/plain',
    size: 40,
    url_private_download: `${origin}/files/${text}`,
  }
  const files = number % 20 < 2 ? { subtype: 'file_share', files: [file] } : {}
  return messageEvent(team, { channel: `D0ROOM${room}`, user: 'U0SAME001', text, ts, event_ts: ts, ...files })
}

describeOnDatabase('two workspaces that installed one app', (database) => {
  test(
    `never meet in ${events} events`,
    async () => {
      const [oauth, slack] = [await startSlackOauth(), await startSlackWorkspaces()]
      const leaks: string[] = []
      const gateway = createTestGateway(
        database(),
        { agents: [echo(leaks)], connections: [connectionAt(slack.apiUrl)] },
        { fetch: routed(slack.apiUrl, oauth.apiUrl), sealKeys: async () => [new Uint8Array(32).fill(7)] },
        [slackChannel],
      )
      const app = createTestApp(gateway, database())
      try {
        for (const team of teams) expect(await install(app, oauth.agree({ team }))).toBe(200)
        const [at] = gateway.gateway.connections
        if (at === undefined) throw new Error('no connection')
        for (let first = 0; first < events; first += atOnce) {
          const batch = Array.from({ length: Math.min(atOnce, events - first) }, (_, each) =>
            eventOf(first + each, slack.origin),
          )
          const received = await Promise.all(batch.map((body) => gateway.gateway.receive(at, signed(body))))
          expect(received.every(({ kind }) => kind === 'stored')).toBe(true)
          await gateway.settle()
        }
        const calls = slack.calls()
        for (const [index, team] of teams.entries()) staysApart(calls, team, index)
        expect(new Set(calls.map(({ token }) => token)).size).toBe(2)
        expect(leaks).toEqual([])
        expect(await rowsOfBoth(database())).toEqual([])
      } finally {
        gateway.stop()
        await Promise.all([oauth.close(), slack.close()])
      }
    },
    60_000 + events * 400,
  )
})

/** Everything one workspace should have said, with its token, and nothing of the other. */
function staysApart(calls: readonly WorkspaceCall[], team: string, index: number): void {
  const own = calls.filter(({ token }) => token === `xoxb-token-${index + 1}-of-${team}`)
  const said = own.map(({ method, body }) => `${method} ${decodeURIComponent(body.replaceAll('+', ' '))}`).join('\n')
  expect(said).not.toContain(otherOf(team))
  const heard = new Set(said.match(/canary-[\w-]+\./g) ?? [])
  const numbers = Array.from({ length: events }, (_, number) => number).filter((number) => teamOf(number) === team)
  expect(numbers.filter((number) => !heard.has(canary(team, number)))).toEqual([])
  const withFiles = numbers.filter((number) => number % 20 < 2)
  expect(own.filter(({ method }) => method.startsWith('/files/')).length).toBe(withFiles.length)
  expect(withFiles.filter((number) => !said.includes(`bytes of /files/${canary(team, number)}`))).toEqual([])
}

const tables = nameStatement(
  'test_tables_of_both',
  `select tablename as name from pg_tables where schemaname = 'public'`,
)

/** Tables with a row in which both are named. */
async function rowsOfBoth(database: Database): Promise<readonly string[]> {
  const found: string[] = []
  for (const { name } of await database.query<{ name: string }>(tables, [])) {
    const both = `select count(*)::int as count from "${name}" t where t::text like '%T0ONE%' and t::text like '%T0TWO%'`
    const [row] = await database.query<{ count: number }>(nameStatement(`test_both_${name}`, both), [])
    if (row?.count !== 0) found.push(name)
  }
  return found
}

function connectionAt(apiUrl: string) {
  const limits = { conversation: { count: 100_000, perMs: 1000 } }
  const settings = { install: installSettings, signingSecret, apiUrl, limits }
  return { channel: 'slack', id: 'default', access: { mode: 'public', allow: [] } as const, settings }
}

/** Codes and tokens are asked of one server, everything else of the other. */
function routed(apiUrl: string, oauthUrl: string): typeof fetch {
  return (input, init) => {
    const isInstall = /\/(oauth\.v2\.access|auth\.test)$/.test(String(input))
    return fetch(isInstall ? String(input).replace(apiUrl, oauthUrl) : input, init)
  }
}

/** As a browser does it. */
async function install(app: ReturnType<typeof createTestApp>, code: string): Promise<number> {
  const begun = await app.request(`${hook}/install`)
  const state = new URL(begun.headers.get('location') ?? '').searchParams.get('state') ?? ''
  const cookie = begun.headers.get('set-cookie')?.split(';')[0] ?? ''
  const query = new URLSearchParams({ state, code })
  return (await app.request(`${hook}/oauth_redirect?${query}`, { headers: { cookie } })).status
}

// Two workspaces, one app, everything mixed: same people, same channels, same times. Nothing of one is ever said with the
// other's token, shown to its agent run, or fetched for it. PARLEY_ISOLATION_EVENTS=10000 runs the long form.
import { expect, test } from 'vitest'
import { slackChannel } from '../../adapters/slack/index.ts'
import { defineAgent } from '../../src/agent/agent.ts'
import { type ChannelDefinition, textOf } from '../../src/contract/index.ts'
import { memoryInstallations } from '../doubles/memory-installations.ts'
import { installed, installSettings, messageEvent, signed, signingSecret, tokenOf } from '../doubles/slack-tenants.ts'
import { startSlackWorkspaces } from '../doubles/slack-workspaces.ts'
import { createTestGateway } from '../doubles/test-gateway.ts'
import { describeOnEachDatabase } from '../setup/each-database.ts'

const events = Number(process.env['PARLEY_ISOLATION_EVENTS'] ?? 120)
const teams = ['T0ONE', 'T0TWO'] as const
const rooms = 20
const canary = (team: string, number: number): string => `canary-${team}-${number}.`

/** Says back all it was shown: what it knows of another workspace would come out. */
const echo = defineAgent({
  slug: 'demo',
  run: (message) => {
    const shown = [...(message.history ?? []).map(({ parts }) => textOf(parts)), textOf(message.parts)]
    return shown
      .flatMap((text) => text.match(/canary-[\w-]+\./g) ?? [])
      .slice(-40)
      .join(' ')
  },
})

function eventOf(number: number, origin: string): object {
  const team = teams[number % 2] ?? 'T0ONE'
  const room = Math.floor(number / 2) % rooms
  // The same times in both workspaces, one message after the other in each room.
  const ts = `${Math.floor(Date.now() / 1000)}.${String(Math.floor(number / 2)).padStart(6, '0')}`
  const text = canary(team, number)
  const file = {
    id: `F0SAME${Math.floor(number / 2)}`,
    name: `${text}txt`,
    mimetype: 'text/plain',
    size: 20,
    url_private_download: `${origin}/files/${text}`,
  }
  const files = number % 20 < 2 ? { subtype: 'file_share', files: [file] } : {}
  return messageEvent(team, { channel: `D0ROOM${room}`, user: 'U0SAME001', text, ts, event_ts: ts, ...files })
}

describeOnEachDatabase('two workspaces of one app', (database) => {
  test(
    `never meet in ${events} events`,
    async () => {
      const slack = await startSlackWorkspaces()
      const installations = memoryInstallations(...teams.map((team) => installed(team)))
      const channel: ChannelDefinition = {
        ...slackChannel,
        create: (settings, deps) => slackChannel.create(settings, { ...deps, installations }),
      }
      const settings = {
        install: installSettings,
        signingSecret,
        apiUrl: slack.apiUrl,
        limits: { conversation: { count: 100_000, perMs: 1000 } },
      }
      const access = { mode: 'public', allow: [] } as const
      const connections = [{ channel: 'slack', id: 'default', access, settings }]
      const gateway = createTestGateway(database(), { agents: [echo], connections }, {}, [channel])
      try {
        const [at] = gateway.gateway.connections
        if (at === undefined) throw new Error('no connection')
        for (let first = 0; first < events; first += 40) {
          const batch = Array.from({ length: Math.min(40, events - first) }, (_, each) =>
            eventOf(first + each, slack.origin),
          )
          const received = await Promise.all(batch.map((body) => gateway.gateway.receive(at, signed(body))))
          expect(received.every(({ kind }) => kind === 'stored')).toBe(true)
          await gateway.settle()
        }
        for (const [index, team] of teams.entries()) {
          const other = teams[1 - index] ?? ''
          const own = slack.calls().filter(({ token }) => token === tokenOf(team))
          const said = own
            .map(({ method, body }) => `${method} ${decodeURIComponent(body.replaceAll('+', ' '))}`)
            .join('\n')
          expect(said).not.toContain(other)
          const missing = Array.from({ length: events }, (_, number) => number)
            .filter((number) => number % 2 === index)
            .filter((number) => !said.includes(canary(team, number)))
          expect(missing).toEqual([])
          expect(own.filter(({ method }) => method.startsWith('/files/')).length).toBe(events / 20)
        }
        expect(new Set(slack.calls().map(({ token }) => token))).toEqual(new Set(teams.map(tokenOf)))
      } finally {
        gateway.stop()
        await slack.close()
      }
    },
    60_000 + events * 100,
  )
})

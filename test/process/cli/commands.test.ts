// The operator's commands, as built, beside a running gateway and without one, with the embedded database and on a server.
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { normalizedMessageSchema } from '../../../src/contract/message.ts'
import { describeOnPostgres } from '../../setup/databases.ts'
import { createHome, type Home, type Running, until } from './parley.ts'

type Stats = { readonly stats: readonly Record<string, number | string>[] }
type Deliveries = {
  readonly deliveries: readonly { id: string; state: string; seq: number }[]
  readonly next: number | null
}
type Messages = { readonly messages: readonly { id: string; reason: string }[]; readonly next: number | null }
type Replay = {
  readonly replay: { isSame: boolean; diff: string[]; steps: { wouldRun: string[] }; today: { outcome: string } }
}

describe('the command line beside a gateway with its embedded database', () => declare('embedded'))

describeOnPostgres('the command line beside a gateway on a server', () => declare('server'))

/** What a running gateway is asked goes over HTTP, whatever its database is: on a server only what differs there is looked at. */
function declare(kind: 'embedded' | 'server'): void {
  let home: Home
  let gateway: Running
  const deliveries = async (...words: string[]) => (await home.json(['deliveries', 'list', ...words])) as Deliveries
  const inState = async (state: string) =>
    ((await gateway.admin(`/admin/deliveries?state=${state}`)) as Deliveries).deliveries
  const firstDelivery = async (state: string) => {
    const found = await until(60_000, async () => (await inState(state)).at(0))
    return found.id
  }

  beforeAll(async () => {
    home = await createHome({}, kind)
    gateway = await home.start()
    await gateway.say('good day')
    await until(60_000, () => home.telegram.sent[0])
    home.telegram.failNext('sendMessage', { kind: 'drop', when: 'after' })
    await gateway.say('pick one')
    await firstDelivery('unknown')
    await gateway.say('die now')
    await until(60_000, async () => {
      const { stats } = (await gateway.admin('/admin/stats')) as Stats
      return stats[0]?.['inFlight'] === 0 && stats[0]?.['received'] === 3 ? true : undefined
    })
    await until(60_000, async () => (await inState('delivered')).at(1))
  }, 240_000)
  afterAll(async () => {
    await home.close()
  }, 60_000)

  test('a second gateway in the same folder: refused with the embedded database, welcome on a server', async () => {
    if (home.env['DATABASE_URL'] === undefined) {
      await expect(home.start()).rejects.toThrow('another Parley process uses')
      return
    }
    const second = await home.start()
    expect((await home.parley(['stats'])).code).toBe(0)
    await second.stop()
    expect((await home.parley(['stats'])).code).toBe(0)
  }, 180_000)

  const whileItRuns = (): void => {
    test('socket and folder are closed to other users', async () => {
      const data = join(home.folder, 'data')
      const sockets = (await readdir(data)).filter((name) => name.endsWith('.sock'))
      expect(sockets).toHaveLength(1)
      expect((await stat(join(data, sockets[0] ?? ''))).mode & 0o777).toBe(0o600)
      expect((await stat(data)).mode & 0o777).toBe(0o700)
      expect((await stat(join(data, 'admin-token'))).mode & 0o777).toBe(0o600)
    })

    test('runs: listed, shown, with their events, and stopped no more once they are over', async () => {
      const { runs } = (await home.json(['runs', 'list', '--status', 'failed'])) as {
        runs: { id: string; status: string }[]
      }
      expect(runs).toMatchObject([{ status: 'failed' }])
      const id = runs[0]?.id ?? ''
      expect(await home.json(['runs', 'show', id])).toMatchObject({
        run: { id, status: 'failed', owner: 'telegram:42' },
      })
      const followed = await home.parley(['runs', 'events', id, '--follow'])
      expect(followed).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\d+ {2}\S+ {2}failed {2}/m) })
      expect(await home.json(['runs', 'events', id])).toMatchObject({ isOver: true })
      expect(await home.parley(['runs', 'cancel', id])).toMatchObject({
        code: 0,
        stdout: 'It was already over: failed.\n',
      })
      expect((await home.parley(['runs', 'show', 'nothing'])).code).toBe(3)
      expect((await home.parley(['runs', 'events', id, '--after', 'x'])).code).toBe(2)
    }, 120_000)

    test('stats: a table for people, JSON for programs, and they balance', async () => {
      const { code, stdout, stderr } = await home.program(['stats'])
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
      expect(stdout.split('\n')[0]).toMatch(
        /^CONNECTION +RECEIVED +ANSWERED +MERGED +REFUSED +DEAD +IN FLIGHT +IGNORED +DUPLICATES/,
      )
      expect(stdout.split('\n')[1]).toMatch(/^telegram\/default +3 +1 +0 +0 +2 +0 +0 +0 +ok$/)
      expect(await home.json(['stats'])).toMatchObject({ stats: [{ received: 3, answered: 1, dead: 2 }] })
    }, 60_000)

    test('deliveries: listed by state and connection, page by page', async () => {
      const all = await deliveries('--state', 'delivered,unknown', '--connection', 'telegram/default')
      expect(all.deliveries.map((line) => line.state)).toEqual(['delivered', 'unknown', 'delivered'])
      const first = await deliveries('--state', 'delivered,unknown', '--limit', '2')
      const second = await deliveries('--state', 'delivered,unknown', '--limit', '2', '--before', String(first.next))
      expect([...first.deliveries, ...second.deliveries]).toEqual(all.deliveries)
      expect(second.next).toBeNull()
      expect((await deliveries('--connection', 'telegram/other')).deliveries).toEqual([])
      const page = await home.parley(['deliveries', 'list', '--state', 'delivered', '--limit', '1'])
      expect(page.stdout).toMatch(/^ID +CONNECTION +STATE .*\n[0-9a-f-]{36} +telegram\/default +delivered/)
      expect(page.stdout).toContain('--before ')
    }, 120_000)

    test('deliveries: shown whole, sent again marked, and not twice', async () => {
      const id = await firstDelivery('unknown')
      const shown = await home.parley(['deliveries', 'show', id])
      expect(shown).toMatchObject({ code: 0, stderr: '' })
      expect(shown.stdout).toContain('"text": "hello 7"')
      expect(await home.json(['deliveries', 'show', id])).toMatchObject({ delivery: { id, state: 'unknown' } })
      const before = home.telegram.sent.length
      expect(await home.parley(['deliveries', 'retry', id])).toMatchObject({
        code: 0,
        stdout: 'Queued to be sent again.\n',
      })
      await until(60_000, () => home.telegram.sent[before])
      await until(60_000, async () => (await inState('delivered')).find((line) => line.id === id))
      expect(await home.parley(['deliveries', 'retry', id])).toMatchObject({ code: 3, stdout: '' })
    }, 180_000)

    test('deliveries drop asks for --yes where nobody can be asked, then drops once', async () => {
      home.telegram.failNext('sendMessage', { kind: 'drop', when: 'after' })
      await gateway.say('and this')
      const id = await firstDelivery('unknown')
      const asked = await home.parley(['deliveries', 'drop', id])
      expect(asked).toMatchObject({ code: 2, stdout: '' })
      expect(asked.stderr).toContain('add --yes')
      expect(await home.parley(['deliveries', 'drop', id, '--yes'])).toMatchObject({ code: 0, stdout: 'Dropped.\n' })
      expect((await home.parley(['deliveries', 'drop', id, '--yes'])).code).toBe(3)
    }, 180_000)

    test('deliveries retry of many counts them where nobody can be asked, then sends them again', async () => {
      home.telegram.failNext('sendMessage', { kind: 'drop', when: 'after' })
      await gateway.say('and that')
      const id = await firstDelivery('unknown')
      const many = ['deliveries', 'retry', '--state', 'unknown', '--since', '1h', '--connection', 'telegram/default']
      const asked = await home.parley(many)
      expect(asked).toMatchObject({ code: 2, stdout: '' })
      expect(asked.stderr).toContain('add --yes to say: Send 1 of 1 deliveries that are unknown since')
      expect(await home.json([...many, '--yes'])).toEqual({ ok: true, retried: 1, left: 0 })
      await until(60_000, async () => (await inState('delivered')).find((line) => line.id === id))
      expect((await home.parley([...many, '--yes'])).code).toBe(3)
    }, 180_000)

    test('dead-letters: listed with its reason, queued again', async () => {
      const { messages } = (await home.json(['dead-letters', 'list'])) as Messages
      expect(await home.json(['dlq', 'list'])).toMatchObject({ messages })
      const dead = messages.find((line) => line.reason === 'agent_failed')
      expect((await home.parley(['dead-letters', 'list'])).stdout).toContain(
        `${dead?.id}  telegram/default  agent_failed`,
      )
      expect(await home.parley(['dead-letters', 'resubmit', dead?.id ?? ''])).toMatchObject({
        code: 0,
        stdout: 'Queued again.\n',
      })
      await until(60_000, async () => {
        const { deadLetters: again } = (await gateway.admin('/admin/dead-letters')) as {
          deadLetters: Messages['messages']
        }
        return again.find((line) => line.id === dead?.id)
      })
      expect((await home.parley(['dead-letters', 'list', '--state', 'refused'])).stdout).toBe('No refused messages.\n')
      expect((await home.parley(['dead-letters', 'resubmit', '0192f1c2-7d5e-7abc-8def-0123456789ab'])).code).toBe(3)
    }, 180_000)

    test('tokens: made and shown once, usable, listed without the secret, revoked at once', async () => {
      const made = (await home.json(['tokens', 'create', '--label', 'backup job', '--expires', '30d'])) as Record<
        string,
        string
      >
      const token = made['token'] ?? ''
      const asStranger = { PARLEY_ADMIN_TOKEN: token }
      expect((await home.parley(['stats'], asStranger)).code).toBe(0)
      expect(
        (await home.parley(['stats', '--url', gateway.url, '--token', token], { PARLEY_DATA_DIR: 'nowhere' })).code,
      ).toBe(0)
      const listed = await home.parley(['tokens', 'list'])
      expect(listed.stdout).toContain('backup job')
      expect(listed.stdout).toContain(made['prefix'])
      expect(listed.stdout).not.toContain(token)
      expect((await home.parley(['tokens', 'revoke', made['prefix'] ?? ''])).code).toBe(2)
      expect(await home.parley(['tokens', 'revoke', made['prefix'] ?? '', '--yes'])).toMatchObject({ code: 0 })
      const refused = await home.parley(['stats'], asStranger)
      expect(refused).toMatchObject({ code: 1, stdout: '' })
      expect(refused.stderr).toContain('admin token')
      expect((await home.parley(['tokens', 'revoke', made['prefix'] ?? '', '--yes'])).code).toBe(3)
      expect(gateway.output()).not.toContain(token)
    }, 180_000)

    test('sessions: listed, shown and renamed; a token of their owner shows nothing else', async () => {
      type Sessions = { readonly sessions: readonly { id: string; owner: string; lines: number }[] }
      const { sessions } = (await home.json(['sessions', 'list'])) as Sessions
      const [session] = sessions
      const { stdout } = await home.parley(['sessions', 'show', session?.id ?? ''])
      expect(stdout).toContain('user: good day')
      expect(await home.parley(['sessions', 'rename', session?.id ?? '', ' Good \n days '])).toMatchObject({ code: 0 })
      const words = ['tokens', 'create', '--label', 'ada', '--principal']
      const made = async (principal: string) => (await home.json([...words, principal])) as { token: string }
      const owner = { PARLEY_ADMIN_TOKEN: (await made(session?.owner ?? '')).token }
      const stranger = { PARLEY_ADMIN_TOKEN: (await made('telegram:nobody')).token }
      expect((await home.parley(['sessions', 'list'], owner)).stdout).toContain('Good days')
      expect((await home.parley(['stats'], owner)).code).toBe(1)
      expect((await home.parley(['sessions', 'list'], stranger)).stdout).toBe('No sessions.\n')
      expect((await home.parley(['sessions', 'delete', session?.id ?? '', '--yes'], stranger)).code).toBe(3)
      expect((await home.parley(['sessions', 'list', '--limit', '101'])).code).toBe(2)
    }, 180_000)

    test('replay: no difference with the agent that answered; the answer is in the journal', async () => {
      const id = (await deliveries('--state', 'delivered')).deliveries.at(-1)?.id ?? ''
      const seen = home.telegram.calls.length
      const { code, stdout, stderr } = await home.parley(['replay', id])
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
      expect(stdout).toContain('No difference')
      expect(await home.json(['replay', id])).toMatchObject({ replay: { isSame: true } })
      expect(home.telegram.calls).toHaveLength(seen)
    }, 120_000)

    test('replay --save writes a fixture that a test can load, without its author', async () => {
      const id = (await deliveries('--state', 'delivered')).deliveries.at(-1)?.id ?? ''
      const { saved } = (await home.json(['replay', id, '--save', 'fixtures'])) as { saved: string }
      const text = await readFile(join(home.folder, saved), 'utf8')
      const fixture: { messages: unknown[] } = JSON.parse(text)
      expect(() => normalizedMessageSchema.parse(fixture.messages[0])).not.toThrow()
      for (const trace of ['Ada', 'Lovelace', 'good day', '"42"']) expect(text).not.toContain(trace)
      await home.parley(['replay', id, '--save', 'texts', '--with-text'])
      expect(await readFile(join(home.folder, 'texts', `${id}.json`), 'utf8')).toContain('good day')
      expect((await home.parley(['replay', id, '--with-text'])).code).toBe(2)
    }, 120_000)

    test('replay of an id nobody has ends with 3', async () => {
      expect(await home.parley(['replay', '0192f1c2-7d5e-7abc-8def-0123456789ab'])).toMatchObject({
        code: 3,
        stdout: '',
      })
    }, 60_000)
  }
  if (kind === 'embedded') describe('what it asks a running gateway', whileItRuns)

  describe('when the gateway has stopped', () => {
    beforeAll(() => gateway.stop(), 60_000)

    test('the commands open the database themselves', async () => {
      const { code, stdout } = await home.program(['stats'])
      expect(code).toBe(0)
      expect(stdout).toContain('telegram/default')
      const { messages } = (await home.json(['dead-letters', 'list'])) as Messages
      const { stdout: told } = await home.parley(['dead-letters', 'resubmit', messages[0]?.id ?? ''])
      expect(told).toBe('Queued; a gateway takes it when it starts.\n')
    }, 120_000)

    test('a changed agent shows what it would send, and a new step is named and not done', async () => {
      const id = (await deliveries('--state', 'delivered')).deliveries.at(-1)?.id ?? ''
      const seen = home.telegram.calls.length
      const changed = await home.parley(['replay', id], { GREETING: 'ahoy' })
      expect(changed.stdout).toContain('\n-    text: hello: good day')
      expect(changed.stdout).toContain('\n+    text: ahoy: good day')
      const stopped = (await home.json(['replay', id], { EXTRA_STEP: '1' })) as Replay
      expect(stopped.replay).toMatchObject({
        isSame: false,
        today: { outcome: 'stopped' },
        steps: { wouldRun: ['order tea'] },
      })
      expect((await home.parley(['replay', id], { EXTRA_STEP: '1' })).stdout).toContain('would run: order tea')
      expect(home.telegram.calls).toHaveLength(seen)
    }, 120_000)

    test('sessions delete erases what was said, once and for good', async () => {
      const { sessions } = (await home.json(['sessions', 'list'])) as { sessions: readonly { id: string }[] }
      const id = sessions[0]?.id ?? ''
      expect((await home.parley(['sessions', 'delete', id])).code).toBe(2)
      for (let times = 0; times < 2; times += 1)
        expect(await home.parley(['sessions', 'delete', id, '--yes'])).toMatchObject({ code: 0, stdout: 'Deleted.\n' })
      expect((await home.parley(['sessions', 'show', id])).code).toBe(3)
    }, 120_000)

    test('two commands at once take turns', async () => {
      const both = await Promise.all([home.program(['stats']), home.program(['tokens', 'list'])])
      expect(both.map(({ code, stderr }) => ({ code, stderr }))).toEqual([
        { code: 0, stderr: '' },
        { code: 0, stderr: '' },
      ])
    }, 120_000)

    test('a broken configuration is told in one line', async () => {
      await mkdir(join(home.folder, 'broken'))
      const path = join(home.folder, 'broken', 'parley.config.mjs')
      await writeFile(path, 'export default {')
      const { code, stderr } = await home.parley(['stats', '--config', path])
      expect(code).toBe(1)
      expect(stderr).toMatch(/^parley: .*cannot be loaded: .*\n$/)
    }, 60_000)
  })
}

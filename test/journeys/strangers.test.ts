// What people who were not let in make the gateway keep: a little text, no files, and nothing once the day's share is spent.

import { mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { telegramChannel } from '../../adapters/telegram/index.ts'
import { defineAgent } from '../../src/agents/define-agent.ts'
import { textOf } from '../../src/contract/index.ts'
import { type Database, nameStatement } from '../../src/db/client.ts'
import { sampleHealth } from '../../src/db/health.ts'
import { approvePairing, listPairings } from '../../src/db/pairings.ts'
import { listMessageCountsByConnection } from '../../src/db/receipts.ts'
import { createSweepStore, defaultRetention } from '../../src/db/retention.ts'
import { createFolderStore } from '../../src/node/folder-blob-store.ts'
import { readReadiness } from '../../src/observability/readiness.ts'
import { type NameServer, startNameServer } from '../doubles/dns-server.ts'
import { type MailScene, openMailScene, type SceneOptions } from '../doubles/mail-setup.ts'
import { draftMail, mailKey, signMail } from '../doubles/signed-mails.ts'
import { startTelegramApi } from '../doubles/telegram-api.ts'
import { createTestGateway, settleUntil } from '../doubles/test-gateway.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'
import { openTenantDb } from '../setup/tenant-db.ts'

const sizes = nameStatement(
  'test_stranger_sizes',
  `select (select coalesce(sum(pg_column_size(x.*)), 0)::int from inbox x) as inbox,
     (select count(*)::int from inbox) as rows, (select count(*)::int from conversations) as conversations,
     (select count(*)::int from inbox where state = 'refused' and reason = 'no_evidence') as refused,
     (select count(*)::int from attachments) as attachments, (select count(*)::int from blobs) as blobs`,
)
const largest = nameStatement('test_largest', 'select max(pg_column_size(x.*))::int as bytes from inbox x')
const fates = nameStatement('test_fates', 'select state, reason from inbox order by seq')
const content = nameStatement(
  'test_content',
  'select state, message is null and raw is null as "isBare" from inbox order by seq',
)
const older = nameStatement('test_older', `update inbox set ended_at = ended_at - $1::float8 * interval '1 hour'`)
const acts = nameStatement(
  'test_acts',
  `select code, connection, detail from audit_log where action = 'strangers.refuse'`,
)

const domain = 'agents.example'
const to = `demo@${domain}`
const megabyte = 1024 * 1024

type Mail = { readonly id: string; readonly from?: string; readonly text?: string; readonly fileBytes?: number }

/** With a file of so many bytes where there is one. */
function written({ id, from = 'eve@people.example', text = 'Look at this.', fileBytes }: Mail): string {
  const encoded = Buffer.alloc(fileBytes ?? 0, id)
    .toString('base64')
    .replace(/.{76}/g, '$&\r\n')
  const named = 'Content-Type: application/pdf; name=report.pdf\r\nContent-Disposition: attachment; filename=report.pdf'
  const file = `--b\r\n${named}\r\nContent-Transfer-Encoding: base64\r\n\r\n${encoded}\r\n`
  const body = `--b\r\nContent-Type: text/plain\r\n\r\n${text}\r\n${fileBytes === undefined ? '' : file}--b--\r\n`
  const head = [
    `Date: ${new Date().toUTCString()}`,
    `Message-ID: <${id}@${from.split('@')[1]}>`,
    'Content-Type: multipart/mixed; boundary=b',
  ]
  return draftMail({ from: `Stranger <${from}>`, to, head, body })
}

async function folderBytes(folder: string): Promise<number> {
  const names = await readdir(folder, { recursive: true })
  const found = await Promise.all(names.map((name) => stat(join(folder, name))))
  return found.reduce((sum, facts) => sum + (facts.isFile() ? facts.size : 0), 0)
}

describeOnDatabase('mail of people who were not let in', (database) => {
  let scene: MailScene
  let names: NameServer
  let folder: string
  const start = async (options: SceneOptions = {}): Promise<void> => {
    const store = await createFolderStore({ folder })
    scene = await openMailScene(database(), {
      ...options,
      settings: {
        trustLoopback: false,
        domain,
        dnsServers: [names.address],
        access: { mode: 'pairing', allow: ['mailto:ada@sender.example'] },
        ...options.settings,
      },
      changes: { files: { stores: [store], origin: 'https://parley.example' }, ...options.changes },
    })
  }
  beforeEach(async () => {
    const record = mailKey().record.match(/.{1,255}/gs) ?? []
    names = await startNameServer({ 's1._domainkey.sender.example': [record] })
    folder = await mkdtemp(join(tmpdir(), 'parley-strangers-'))
  })
  afterEach(async () => {
    await scene.close()
    await names.close()
    await rm(folder, { recursive: true, force: true, maxRetries: 10 })
  })
  const send = (mail: Mail): Promise<string> =>
    scene.send(written(mail), { from: mail.from ?? 'eve@people.example', to: [to] })
  const sendSigned = async (mail: Mail & { readonly from: string }): Promise<string> => {
    const signed = await signMail(written(mail), { signTime: new Date().toISOString() })
    return scene.send(signed, { from: mail.from, to: [to] })
  }
  const approve = async (): Promise<void> => {
    const [open] = await listPairings(scene.gateway.deps.db, { status: 'pending', limit: 1, before: null })
    await approvePairing(scene.gateway.deps.db, open?.code ?? '', { name: 'operator:test', subject: null })
  }
  const sent = async (): Promise<string> =>
    (await scene.sent()).map(({ text }) => text.replaceAll(/=\r?\n/g, '')).join()

  test('that proves nothing leaves no file and a few kilobytes, however large it was', async () => {
    await start()
    for (let at = 0; at < 12; at += 1) {
      const mail = { id: `m${at}`, fileBytes: megabyte, text: 'x '.repeat(50_000) }
      expect(await send(mail)).toMatch(/^250 /)
    }
    await scene.gateway.settle()
    expect(await folderBytes(folder)).toBe(0)
    const [found] = await database().query<{ inbox: number }>(sizes, [])
    // No conversation is opened, and no turn is taken, to refuse what nothing proves.
    expect(found).toMatchObject({ refused: 12, rows: 12, attachments: 0, blobs: 0, conversations: 0 })
    expect(found?.inbox).toBeLessThan(12 * 12 * 1024)
  })

  test('with a thousand recipients, mentions and references is no larger in its row', async () => {
    await start()
    const many = Array.from({ length: 300 }, (_, at) => `person-${at}-${'n'.repeat(60)}@people.example`)
    const head = [
      `Date: ${new Date().toUTCString()}`,
      'Message-ID: <many@people.example>',
      `Cc: ${many.slice(0, 100).join(',\r\n ')}`,
      `References: ${many.map((each) => `<${each}>`).join('\r\n ')}`,
    ]
    const mail = draftMail({ from: 'eve@people.example', to, head, body: 'ü'.repeat(60_000) })
    expect(await scene.send(mail, { from: 'eve@people.example', to: [to] })).toMatch(/^250 /)
    await scene.gateway.settle()
    const [row] = await database().query<{ bytes: number }>(largest, [])
    expect(row?.bytes).toBeLessThan(12 * 1024)
  })

  test('is held without its file; let in, its author is answered and asked for the file again', async () => {
    await start()
    const mail = { id: 'm1', from: 'bob@sender.example', text: 'y '.repeat(20_000), fileBytes: megabyte }
    expect(await sendSigned(mail)).toMatch(/^250 /)
    await scene.gateway.settle()
    expect(await database().query(fates, [])).toEqual([{ state: 'held', reason: 'pairing_required' }])
    expect(await folderBytes(folder)).toBe(0)
    const [row] = await database().query<{ bytes: number }>(largest, [])
    expect(row?.bytes).toBeLessThan(24 * 1024)
    await approve()
    await settleUntil(scene.gateway, async () => (await scene.sent()).length === 2)
    const asked =
      'I could not keep report.pdf and the rest of your long message while I did not know you yet; please send'
    expect(await sent()).toContain(asked)
    expect((await sent()).split(asked)).toHaveLength(2)
    // Let in, they are kept.
    expect(await sendSigned({ ...mail, id: 'm2' })).toMatch(/^250 /)
    await settleUntil(scene.gateway, async () => (await scene.sent()).length === 3)
    expect(await folderBytes(folder)).toBeGreaterThan(megabyte)
    expect((await sent()).split(asked)).toHaveLength(2)
  })

  test('is answered with 452 once the share of the day is spent, and admitted people are not concerned', async () => {
    await start({ settings: { strangers: { messagesPerDay: 3 } } })
    for (let at = 0; at < 3; at += 1) expect(await send({ id: `m${at}` })).toMatch(/^250 /)
    for (let at = 3; at < 6; at += 1) expect(await send({ id: `m${at}` })).toMatch(/^452 4\.2\.2 /)
    // Forgeries use up nothing of those who prove who they are.
    expect(await sendSigned({ id: 'new', from: 'bob@sender.example' })).toMatch(/^250 /)
    for (let at = 0; at < 6; at += 1)
      expect(await sendSigned({ id: `a${at}`, from: 'ada@sender.example', fileBytes: 1000 })).toMatch(/^250 /)
    await settleUntil(scene.gateway, async () => (await sent()).split('To: ').length > 6)
    const [found] = await database().query(sizes, [])
    expect(found).toMatchObject({ rows: 10, refused: 3 })
    expect(await database().query(acts, [])).toEqual([
      { code: 'strangers_spent', connection: 'email/default', detail: { kind: 'unproven' } },
    ])
    const { warnings } = await readReadiness(readinessOn(database()))
    expect(warnings).toMatchObject([{ code: 'strangers_spent', connection: 'email/default' }])
  })

  test('counts bytes as they came', async () => {
    await start({ settings: { strangers: { receivedBytesPerDay: 50_000 } } })
    expect(await send({ id: 'm0', fileBytes: 30_000 })).toMatch(/^250 /)
    expect(await send({ id: 'm1', fileBytes: 30_000 })).toMatch(/^452 /)
    expect(await send({ id: 'm2' })).toMatch(/^250 /)
    const [found] = await database().query(sizes, [])
    expect(found).toMatchObject({ rows: 2 })
  })

  test('that asks for nothing, proven or not, leaves no more rows than the share, and is not asked for again', async () => {
    await start({ settings: { strangers: { messagesPerDay: 2 } } })
    const away = (id: string, from: string): string =>
      written({ id, from }).replace('MIME-Version', 'Auto-Submitted: auto-replied\r\nMIME-Version')
    for (let at = 0; at < 5; at += 1) {
      const from = 'bob@sender.example'
      expect(await scene.send(away(`n${at}`, 'eve@people.example'), { to: [to] })).toMatch(/^250 /)
      const signed = await signMail(away(`p${at}`, from), { signTime: new Date().toISOString() })
      expect(await scene.send(signed, { from, to: [to] })).toMatch(/^250 /)
    }
    const [found] = await database().query(sizes, [])
    expect(found).toMatchObject({ rows: 4 })
  })

  test('is refused below the floor of free disk, and below the lower one so is all mail', async () => {
    let room: 'low' | 'full' | undefined = 'low'
    await start({ changes: { room: async () => room } })
    expect(await send({ id: 'm1' })).toMatch(/^452 4\.3\.1 /)
    expect(await sendSigned({ id: 'a1', from: 'ada@sender.example', fileBytes: 1000 })).toMatch(/^250 /)
    const { warnings, problems } = await readReadiness({ ...readinessOn(database()), room: async () => room })
    expect([problems, warnings]).toMatchObject([[], [{ code: 'disk_low' }]])
    room = 'full'
    expect(await sendSigned({ id: 'a2', from: 'ada@sender.example' })).toMatch(/^452 4\.3\.1 /)
    room = undefined
    expect(await send({ id: 'm1' })).toMatch(/^250 /)
  })

  test('of one address that nothing proves is cut to small mails after so many bytes in an hour', async () => {
    await start({ settings: { smtp: { port: 0, limits: { unprovenBytesPerHour: megabyte } } } })
    expect(await send({ id: 'm1', fileBytes: megabyte })).toMatch(/^250 /)
    expect(await send({ id: 'm2', fileBytes: megabyte })).toMatch(/^452 4\.7\.1 /)
    expect(await send({ id: 'm3' })).toMatch(/^250 /)
    expect(await sendSigned({ id: 'a1', from: 'ada@sender.example' })).toMatch(/^250 /)
  })

  test('loses its content after hours and, where nothing proved it, its receipt after days; the tally stays', async () => {
    await start()
    await send({ id: 'm1' })
    await sendSigned({ id: 'a1', from: 'ada@sender.example' })
    await scene.gateway.settle()
    await settleUntil(scene.gateway, async () => (await scene.sent()).length === 1)
    const sweep = () => createSweepStore(database(), 'default').sweep(defaultRetention)
    await database().query(older, [23])
    await sweep()
    expect(await database().query(content, [])).toMatchObject([{ isBare: false }, { isBare: false }])
    await database().query(older, [2])
    await sweep()
    const bare = [
      { state: 'refused', isBare: true },
      { state: 'answered', isBare: false },
    ]
    expect(await database().query(content, [])).toEqual(bare)
    await database().query(older, [24 * 7])
    await sweep()
    expect(await database().query(content, [])).toEqual(bare.slice(1))
    const [books] = await listMessageCountsByConnection(scene.gateway.deps.db)
    expect(books).toMatchObject({ answered: 1 })
    const signs = await sampleHealth(openTenantDb(database(), 'default'), defaultRetention)
    expect(signs.filter(({ reason }) => reason === 'no_evidence')).toMatchObject([{ current: 0, total: 1 }])
  })

  test('leaves no file where the process dies before its row is stored', async () => {
    await start({
      changes: {
        committer: () => ({
          commit: () => Promise.reject(new Error('the process died here')),
          isAnswered: () => true,
        }),
      },
    })
    expect(await send({ id: 'm1', fileBytes: megabyte })).toMatch(/^451 /)
    expect(await sendSigned({ id: 'm2', from: 'bob@sender.example', fileBytes: megabyte })).toMatch(/^451 /)
    expect(await folderBytes(folder)).toBe(0)
  })
})

/** Everything is well but what the signs say. */
function readinessOn(database: Database): Parameters<typeof readReadiness>[0] {
  return {
    probe: async () => {},
    faults: () => [],
    isCommitAnswered: () => true,
    readHealthSamples: () => sampleHealth(openTenantDb(database, 'default'), defaultRetention),
    loops: () => ({ turns: 0, sends: 0, timers: 0, leases: 0 }),
    connections: ['email/default'],
    monotonicMs: () => performance.now(),
    patienceMs: 15_000,
  }
}

const webhookSecret = 'a-webhook-secret-of-forty-characters-xyz'

describeOnDatabase('Telegram', (database) => {
  test('a stranger’s file is not fetched; let in, they are asked for it again, and then it is', async () => {
    const api = await startTelegramApi()
    api.files.set('f1', { bytes: new TextEncoder().encode('hello file'), path: 'documents/a.txt' })
    const heard: string[] = []
    const run = (message: { readonly parts: Parameters<typeof textOf>[0] }): string => {
      heard.push(...message.parts.map((part) => part.kind))
      return `you said: ${textOf(message.parts)}`
    }
    const settings = { botToken: api.token, webhookSecret, apiRoot: api.apiRoot }
    const access = { mode: 'pairing' as const, allow: [] }
    const connections = [{ channel: 'telegram', id: 'default', access, settings }]
    const agents = [defineAgent({ slug: 'demo', run })]
    const gateway = createTestGateway(database(), { agents, connections }, {}, [telegramChannel])
    const say = async (id: number): Promise<void> => {
      const [at] = gateway.gateway.connections
      if (at === undefined) return expect.unreachable('no connection')
      const person = { id: 5, is_bot: false, first_name: 'Ada' }
      const document = {
        file_id: 'f1',
        file_unique_id: 'u1',
        file_name: 'a.txt',
        mime_type: 'text/plain',
        file_size: 10,
      }
      const said = {
        message_id: id,
        date: Math.floor(Date.now() / 1000),
        chat: { id: 5, type: 'private' },
        from: person,
      }
      const update = { update_id: id, message: { ...said, document, caption: 'look' } }
      const bytes = new TextEncoder().encode(JSON.stringify(update))
      const headers = { 'x-telegram-bot-api-secret-token': webhookSecret }
      await gateway.gateway.receive(at, { bytes, headers, receivedAt: new Date().toISOString(), from: 'remote' })
    }
    try {
      await say(1)
      await settleUntil(gateway, () => api.sent.length === 1)
      const [open] = await listPairings(gateway.deps.db, { status: 'pending', limit: 1, before: null })
      await approvePairing(gateway.deps.db, open?.code ?? '', { name: 'operator:test', subject: null })
      const asked = (): boolean => api.sent.some(({ text }) => text.includes('please send it again'))
      await settleUntil(gateway, asked)
      await gateway.settle()
      expect(api.payloads('getFile')).toEqual([])
      const words = api.sent
        .slice(1)
        .map(({ text }) => text)
        .join('\n')
      expect(words).toContain('I could not keep a.txt while I did not know you yet; please send it again.')
      expect(heard).not.toContain('file')
      const before = api.sent.length
      await say(2)
      await settleUntil(gateway, () => heard.includes('file') && api.sent.length > before)
      expect(api.payloads('getFile')).toHaveLength(1)
      expect(heard).toContain('file')
      expect(
        api.sent
          .slice(before)
          .map(({ text }) => text)
          .join(),
      ).not.toContain('send it again')
    } finally {
      gateway.stop()
      await api.close()
    }
  })
})

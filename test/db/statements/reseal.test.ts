// A new sealing key while the gateway works: every sealed row opens at every moment, and in the end all of them by the new key.
import { beforeEach, expect, test } from 'vitest'
import { nameStatement } from '../../../src/db/client.ts'
import { createInstallationStore } from '../../../src/db/installations.ts'
import { createOwnKeyStore, markOwnKeyStale } from '../../../src/db/own-keys.ts'
import { resealEverySecret, sealedTables } from '../../../src/db/reseal.ts'
import { createSigningKeyStore } from '../../../src/db/signing-keys.ts'
import { createTtlStore } from '../../../src/db/ttl-store.ts'
import { createSeal } from '../../../src/gateway/seal.ts'
import { newUuid } from '../../doubles/uploads.ts'
import { describeOnDatabase } from '../../setup/describe-on-database.ts'

const keyA = new Uint8Array(32).fill(1)
const keyB = new Uint8Array(32).fill(2)
const tenant = 'default'
const connection = 'loop/main'
const makeTask = nameStatement(
  'test_make_task',
  `insert into tasks (id, tenant, connection, agent, context_id, conversation_id, state, dialect) values ($1::uuid, 'default', $2, 'demo', 'c', $1::uuid, 'working', '1.0')`,
)
const putPush = nameStatement(
  'test_put_push',
  `insert into push_configs (tenant, task_id, id, url, sealed_secrets, dialect) values ('default', $1::uuid, 'p1', 'https://x.example', $2::text::jsonb, '1.0')`,
)
const readPush = nameStatement('test_read_push', `select sealed_secrets #>> '{}' as sealed from push_configs`)
const sealedColumns = nameStatement(
  'test_sealed_columns',
  `select table_name as name, column_name as column from information_schema.columns
   where table_schema = 'public' and (column_name like '%sealed%' or table_name in ('signing_keys') and column_name = 'secret'
     or table_name = 'ttl_entries' and column_name = 'value')`,
)
const others = nameStatement(
  'test_others',
  `select (select count(*) from connections where sealed_credentials::text like '%v1.' || $1 || '.%')
   + (select count(*) from ttl_entries where value::text like '%v1.' || $1 || '.%')
   + (select count(*) from push_configs where sealed_secrets::text like '%v1.' || $1 || '.%')
   + (select count(*) from signing_keys where secret like '%v1.' || $1 || '.%') as count`,
)

describeOnDatabase('rows that are sealed', (database) => {
  let keys: Uint8Array<ArrayBuffer>[] = []
  let seal = createSeal(async () => keys)
  const options = () => ({ tenant, connection, agent: 'demo', seal })
  const signing = (sealing = seal) =>
    createSigningKeyStore(database(), {
      tenant,
      newId: newUuid,
      seal: sealing,
      fillRandom: (bytes) => void crypto.getRandomValues(bytes),
    })
  const reseal = (maxMs = 60_000) => resealEverySecret(database(), { tenant, seal, now: Date.now, maxMs })
  const sealedBy = async (key: string) => Number((await database().query<{ count: string }>(others, [key]))[0]?.count)
  const taskId = newUuid()

  beforeEach(async () => {
    keys = [keyA]
    seal = createSeal(async () => keys)
    for (const account of ['T1', 'T2', 'T/3'])
      await createInstallationStore(database(), options()).save({
        account,
        status: 'active',
        credentials: { token: `of ${account}` },
        facts: { v: 'v1.00000000.fact' },
      })
    await createOwnKeyStore(database(), options()).keep('card', async () => 'a card key')
    await createOwnKeyStore(database(), options()).keep('host', async () => 'a plain name', 'plain')
    await signing().current()
    await signing().rotate('operator')
    for (let at = 0; at < 450; at += 1)
      await createTtlStore(database(), options()).keep({
        family: 'f',
        key: `k${at}`,
        value: { at },
        lifeMs: 600_000,
        isSecret: at % 3 !== 0,
      })
    await database().query(makeTask, [taskId, connection])
    const about = JSON.stringify([tenant, connection, 'push', taskId, 'p1'])
    await database().query(putPush, [taskId, JSON.stringify(await seal.close('{"token":"t"}', about))])
  })

  const openAll = async (): Promise<void> => {
    const found = await createInstallationStore(database(), options()).list()
    expect(found.map(({ credentials, facts }) => [credentials['token'], facts['v']])).toEqual(
      ['T/3', 'T1', 'T2'].map((account) => [`of ${account}`, 'v1.00000000.fact']),
    )
    const own = createOwnKeyStore(database(), options())
    expect(await own.keep('card', async () => 'another')).toBe('a card key')
    expect(await own.keep('host', async () => 'another', 'plain')).toBe('a plain name')
    expect((await signing().current()).secret).toHaveLength(32)
    for (const at of [0, 1, 2, 448])
      expect(await createTtlStore(database(), options()).read('f', `k${at}`)).toEqual({ at })
    const [push] = await database().query<{ sealed: string }>(readPush, [])
    expect(await seal.open(push?.sealed ?? '', JSON.stringify([tenant, connection, 'push', taskId, 'p1']))).toBe(
      '{"token":"t"}',
    )
  }

  test('are known table by table: a new sealed column has its place in the list', async () => {
    const found = await database().query<{ name: string }>(sealedColumns, [])
    expect([...new Set(found.map(({ name }) => name))].sort()).toEqual(Object.keys(sealedTables).sort())
  })

  test('are sealed anew by the new key, all of them, and the old key is needed no more', async () => {
    const [old, fresh] = [await seal.currentKey(), await createSeal(async () => [keyB]).currentKey()]
    const before = await sealedBy(old ?? '')
    keys = [keyB, keyA]
    seal = createSeal(async () => keys)
    expect(await reseal()).toEqual({ resealed: before, unopened: 0, isDone: true })
    expect([await sealedBy(old ?? ''), await sealedBy(fresh ?? '')]).toEqual([0, before])
    expect(await reseal()).toEqual({ resealed: 0, unopened: 0, isDone: true })
    keys = [keyB]
    seal = createSeal(async () => keys)
    await openAll()
  })

  test('open at every point where it is broken off, and the rest is done by the next who begins', async () => {
    const old = (await seal.currentKey()) ?? ''
    const all = await sealedBy(old)
    keys = [keyB, keyA]
    seal = createSeal(async () => keys)
    let queries = 0
    // The process dies in the middle of it, at another row each time.
    const dying = new Proxy(database(), {
      get: (target, name) =>
        name !== 'query'
          ? Reflect.get(target, name)
          : (...args: Parameters<typeof target.query>) => {
              queries -= 1
              if (queries < 0) throw new Error('killed')
              return target.query(...args)
            },
    })
    for (const until of [2, 3, 50, 120]) {
      queries = until
      await expect(resealEverySecret(dying, { tenant, seal, now: Date.now, maxMs: 60_000 })).rejects.toThrow('killed')
      await openAll()
    }
    expect(await sealedBy(old)).toBeLessThan(all)
    expect(await reseal()).toMatchObject({ unopened: 0, isDone: true })
    expect(await sealedBy(old)).toBe(0)
    await openAll()
  })

  test('are not overwritten where they were changed meanwhile, and two may do it at once', async () => {
    keys = [keyB, keyA]
    seal = createSeal(async () => keys)
    const writer = createSeal(async () => [keyA])
    const writing = (async () => {
      for (let at = 0; at < 40; at += 1)
        await createTtlStore(database(), { ...options(), seal: writer }).keep({
          family: 'f',
          key: `k${at}`,
          value: { at, round: 2 },
          lifeMs: 600_000,
          isSecret: true,
        })
    })()
    const [one, other] = await Promise.all([reseal(), reseal(), writing])
    expect([one.unopened, other.unopened]).toEqual([0, 0])
    await reseal()
    for (let at = 0; at < 40; at += 1)
      expect(await createTtlStore(database(), options()).read('f', `k${at}`)).toEqual({ at, round: 2 })
  })

  test('of a replica that does not know the new key yet: it looks again before it gives up', async () => {
    let known = [keyA]
    const late = createSeal(async () => known)
    expect((await signing(late).current()).secret).toHaveLength(32)
    known = [keyB, keyA]
    keys = [keyB, keyA]
    seal = createSeal(async () => keys)
    await reseal()
    expect((await signing(late).current()).secret).toHaveLength(32)
  })

  test('by a key that is lost are counted, and left as they are', async () => {
    keys = [keyB]
    seal = createSeal(async () => keys)
    expect(await reseal()).toMatchObject({ resealed: 0, isDone: true })
    keys = [keyA]
    seal = createSeal(async () => keys)
    await openAll()
  })

  test('a key of a channel is replaced at its next use: shown before it signs, and checked by after it', async () => {
    let made = 0
    const make = async () => {
      made += 1
      return `key ${made}`
    }
    const fresh = () => createOwnKeyStore(database(), options())
    expect(await fresh().ring('n', make, 60_000)).toEqual({ signing: 'key 1', all: ['key 1'] })
    await database().query(markOwnKeyStale, [tenant, connection, 'n'])
    const rings = await Promise.all([1, 2, 3].map(() => fresh().ring('n', make, 60_000)))
    const [ring] = rings
    expect(new Set(rings.map((each) => each?.all.join())).size).toBe(1)
    expect(ring?.all).toHaveLength(2)
    expect(ring?.signing).toBe('key 1')
    await database().query(older, [])
    expect((await fresh().ring('n', make, 60_000))?.signing).toBe(ring?.all[0])
    keys = [keyB, keyA]
    seal = createSeal(async () => keys)
    await reseal()
    keys = [keyB]
    seal = createSeal(async () => keys)
    expect((await fresh().ring('n', make, 60_000))?.all).toEqual(ring?.all)
  })
})

const older = nameStatement(
  'test_older',
  `update connections set sealed_credentials = sealed_credentials || jsonb_build_object('since', now() - interval '1 minute') where id like '%#n'`,
)

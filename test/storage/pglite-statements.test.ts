// Prepared statements on PGlite: the same answers as without, in and out of transactions, and no failure that stays.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Database, type Param, statement } from '../../src/storage/database.ts'
import { openPglite } from '../../src/storage/pglite.ts'

const echo = statement('echo', 'select $1::text as text, $2::int as number, $3::boolean as flag, $4::text as nothing')
const sum = statement('sum', 'select $1::int + $2::int as sum')
const prepared = statement(
  'prepared',
  'select count(*)::int as count from pg_prepared_statements where statement like $1',
)
const settings = statement(
  'settings',
  `select current_setting('enable_hashjoin') as hash, current_setting('enable_seqscan') as scan`,
)

let database: Database

beforeAll(async () => {
  database = await openPglite({ isNew: true })
})
afterAll(() => database.close())

async function preparedCount(pattern: string): Promise<number> {
  return (await database.query<{ count: number }>(prepared, [pattern]))[0]?.count ?? -1
}

test.each<[string, number, boolean]>([
  [`it's "quoted" \\ and 'twice'`, -7, true],
  ['', 0, false],
  ["'); select 1; --", 2_147_483_647, true],
])('a statement answers with %j, %d and %s as they were given, every time', async (text, number, flag) => {
  const params: readonly Param[] = [text, number, flag, null]
  for (let time = 0; time < 8; time += 1) {
    expect(await database.query(echo, params)).toEqual([{ text, number, flag, nothing: null }])
  }
})

test('callers that come at once share one preparation', async () => {
  const sums = await Promise.all([1, 2, 3, 4].map((each) => database.query<{ sum: number }>(sum, [each, 10])))
  expect(sums.map(([row]) => row?.sum)).toEqual([11, 12, 13, 14])
  expect(await preparedCount('%$1::int + $2::int%as sum')).toBe(1)
})

test('a statement first used in a transaction works there, and is prepared for the next time', async () => {
  const product = statement('product', 'select $1::int * $2::int as product')
  const multiply = (): Promise<unknown> => database.transaction((sql) => sql.query(product, [6, 7]))
  expect(await multiply()).toEqual([{ product: 42 }])
  await expect.poll(() => preparedCount('%as product')).toBe(1)
  expect(await multiply()).toEqual([{ product: 42 }])
})

test('what could not be prepared is prepared once it can be', async () => {
  const rows = statement('rows', 'select id from late_table')
  await expect(database.query(rows, [])).rejects.toMatchObject({ details: { sqlstate: '42P01' } })
  await database.script(statement('create', 'create table late_table (id int); insert into late_table values (1)'))
  expect(await database.query(rows, [])).toEqual([{ id: 1 }])
})

test('what cannot be prepared at all still runs', async () => {
  await expect(database.query(statement('vacuum', 'vacuum (analyze) late_table'), [])).resolves.toEqual([])
})

test('planner settings of one statement end with it, also when it fails', async () => {
  const broken = statement('broken', 'select 1 / $1::int as never')
  expect(await database.accepting.query(settings, [])).toEqual([{ hash: 'on', scan: 'off' }])
  await expect(database.accepting.query(broken, [0])).rejects.toMatchObject({ code: 'storage_refused_row' })
  expect(await database.query(settings, [])).toEqual([{ hash: 'off', scan: 'off' }])
})

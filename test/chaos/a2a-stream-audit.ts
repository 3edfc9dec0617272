// What clients saw of their streams, held against the rows of the log: every event once, none that is not stored.
import { nameStatement } from '../../src/db/client.ts'
import { openPostgres } from '../../src/db/postgres.ts'
import type { ResumingClient, SeenEvent } from './a2a-client.ts'
import type { Scene } from './crash-setup.ts'
import { fact, type Line, zero } from './crash-test.ts'

type Row = {
  readonly taskId: string
  readonly id: string
  readonly type: string
  readonly delta: string | null
  readonly state: string
}

const logRows = nameStatement(
  'crash_test_task_log',
  `select u.task_id as "taskId", u.task_order || '.' || e.seq as id, e.event ->> 'type' as type,
    e.event -> 'metadata' ->> 'delta' as delta, t.state
  from run_events e join turns u on u.id = e.run_id join tasks t on t.id = u.task_id order by u.task_order, e.seq`,
)

export async function auditStreams(
  { databaseUrl }: Scene,
  clients: readonly ResumingClient[],
): Promise<readonly Line[]> {
  const database = openPostgres({ url: await databaseUrl() })
  try {
    const rows = await database.query<Row>(logRows, [])
    return judge(rows, clients)
  } finally {
    await database.close()
  }
}

function judge(rows: readonly Row[], clients: readonly ResumingClient[]): readonly Line[] {
  const found = clients.map((client) => compare(rowsOf(rows, client), client))
  const all = (pick: (each: Compared) => readonly string[]): readonly string[] => found.flatMap(pick)
  const tasks = new Set(rows.map((row) => row.taskId)).size
  const wrong = {
    'events lost': all((each) => each.lost),
    'events doubled': all((each) => each.doubled),
    'events seen that are not stored': all((each) => each.unstored),
    'events seen in another order than they are stored': all((each) => each.disordered),
  }
  return [
    fact('rows of the log', rows.length),
    fact('resets among them', rows.filter(({ type }) => type === 'reset').length),
    zero('tasks more or less than streams', Math.abs(tasks - clients.length)),
    zero(
      'tasks that are not completed',
      rows.filter(({ type, state }) => type === 'done' && state !== 'completed').length,
    ),
    ...Object.entries(wrong).flatMap(([name, list]) => [
      zero(name, list.length),
      ...list.slice(0, 3).map((each) => fact('  for example', each)),
    ]),
  ]
}

function rowsOf(rows: readonly Row[], client: ResumingClient): readonly Row[] {
  return rows.filter(({ taskId }) => taskId === client.taskId())
}

type Compared = Readonly<Record<'lost' | 'doubled' | 'unstored' | 'disordered', readonly string[]>>

function compare(rows: readonly Row[], { name, seen, joinedAt }: ResumingClient): Compared {
  const joined = rows.findIndex(({ id }) => id === joinedAt())
  const stored = new Map(rows.map((row) => [row.id, row]))
  const keys = seen.map(({ id, kind }) => `${id} ${kind}`)
  const label = (text: string): string => `${name}: ${text}`
  const places = seen.flatMap(({ id }) => (stored.has(id) ? [[...stored.keys()].indexOf(id)] : []))
  return {
    lost: rows
      .filter(
        (row, index) =>
          index > joined && isShown(row, index, rows) && !keys.some((key) => key.startsWith(`${row.id} `)),
      )
      .map((row) => label(`${row.id} ${row.type}`)),
    doubled: keys.filter((key, index) => keys.indexOf(key) !== index).map(label),
    unstored: seen
      .filter((event) => !isStored(event, stored.get(event.id)))
      .map(({ id, kind, text }) => label(`${id} ${kind} ${text}`)),
    disordered: places.some((place, index) => place < (places[index - 1] ?? 0)) ? [label('order')] : [],
  }
}

/** The first start, every word and the end; a new start of what goes on is none to its reader, and a reset shows in the words after it. */
function isShown({ type }: Row, index: number, rows: readonly Row[]): boolean {
  if (type === 'started') return rows.findIndex((row) => row.type === 'started') === index
  return type === 'text_delta' || type === 'done'
}

function isStored({ kind, text }: SeenEvent, row: Row | undefined): boolean {
  if (row === undefined) return false
  if (row.type === 'text_delta') return kind === 'words' && text === row.delta
  if (row.type === 'started') return kind === 'state' && text === 'TASK_STATE_WORKING'
  return row.type === 'done'
}

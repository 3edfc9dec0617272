// The operator of the crash test `shapes`: takes people's access away and gives it back, and tries dead letters again.
import { nameStatement } from '../../src/db/client.ts'
import { openPostgres } from '../../src/db/postgres.ts'
import type { Scene } from './crash-setup.ts'
import type { GatewayProcess } from './gateway-process.ts'
import type { SeededRandom } from './seeded-random.ts'
import type { Shop } from './shapes-shop.ts'
import { adminToken } from './subject-settings.ts'

export type ShapesDesk = {
  readonly revoke: (gateway: GatewayProcess, subjects: readonly string[]) => Promise<void>
  /** Everybody may speak again. */
  readonly restore: (gateway: GatewayProcess) => Promise<void>
  /** Tries some dead letters again: most with their turn, a few anew; of some the cause is healed before. */
  readonly tryAgain: (gateway: GatewayProcess, share: number) => Promise<void>
  /** By message id: how often it was, or may have been, run anew. */
  readonly anew: ReadonlyMap<string, number>
  readonly counts: { revoked: number; resubmitted: number; anew: number; refused: number }
}

type Dead = { readonly id: string; readonly messageId: string; readonly reason: string }

export function createShapesDesk(random: SeededRandom, shop: Shop): ShapesDesk {
  const anew = new Map<string, number>()
  const grants = new Set<string>()
  const counts = { revoked: 0, resubmitted: 0, anew: 0, refused: 0 }
  const restore = async (gateway: GatewayProcess): Promise<void> => {
    for (const id of grants) {
      const { status } = await ask(gateway, 'POST', `/admin/grants/${id}/revoke`)
      if (status === 200 || status === 409) grants.delete(id)
    }
  }
  return {
    anew,
    counts,
    restore,
    async revoke(gateway, subjects) {
      for (const subject of subjects) {
        const { status, body } = await ask(gateway, 'POST', '/admin/grants', { subject, effect: 'deny' })
        if (status !== 200) continue
        counts.revoked += 1
        grants.add(idIn(body))
      }
    },
    async tryAgain(gateway, share) {
      const { status, body } = await ask(gateway, 'GET', '/admin/dead-letters?limit=500')
      if (status !== 200) return
      const dead = (body as { readonly deadLetters: readonly Dead[] }).deadLetters
      for (const { id, messageId, reason } of dead) {
        // Whether such a reply arrived is not known: to try it again may say it twice, which is not what is tested here.
        if (reason.startsWith('delivery_') || random.next() > share) continue
        if (random.next() < 0.7) shop.heal(dead.map((each) => each.messageId))
        const isAnew = random.next() < 0.15
        const told = await ask(gateway, 'POST', `/admin/dead-letters/${id}/resubmit${isAnew ? '?anew=true' : ''}`)
        const isDone = told.status === 200
        // No answer: it may have been queued.
        if (isAnew && (isDone || told.status === undefined)) anew.set(messageId, (anew.get(messageId) ?? 0) + 1)
        if (!isDone) counts.refused += 1
        else if (isAnew) counts.anew += 1
        else counts.resubmitted += 1
      }
    },
  }
}

function idIn(body: unknown): string {
  const { id, grant } = body as { readonly id?: string; readonly grant?: { readonly id: string } }
  return id ?? grant?.id ?? ''
}

type Told = { readonly status: number | undefined; readonly body: unknown }

async function ask(gateway: GatewayProcess, method: string, path: string, body?: object): Promise<Told> {
  if (!gateway.isRunning()) return { status: undefined, body: null }
  try {
    const response = await fetch(`${gateway.url}${path}`, {
      method,
      headers: { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(10_000),
    })
    return { status: response.status, body: await response.json() }
  } catch {
    // It was killed meanwhile.
    return { status: undefined, body: null }
  }
}

export type StoredMessage = {
  readonly id: string
  readonly connection: string
  readonly state: string
  readonly reason: string | null
  readonly event: string
  readonly turn: string | null
  /** It joined a turn that was under way. */
  readonly isJoined: boolean
}

export type StoredTurn = {
  readonly id: string
  /** Another's, where it goes on with a dead turn. */
  readonly journal: string
  readonly state: string
  /** How often it was begun. */
  readonly attempt: number
  readonly effects: number
}

/** What an operator could ask for message by message; there are too many for that. */
export async function readStored({ databaseUrl }: Scene) {
  const database = openPostgres({ url: await databaseUrl() })
  try {
    const messages = await database.query<StoredMessage>(storedMessages, [])
    const turns = await database.query<Omit<StoredTurn, 'effects'>>(storedTurns, [])
    const counted = await database.query<Pick<StoredTurn, 'journal' | 'effects'>>(storedEffects, [])
    const effects = new Map(counted.map((row) => [row.journal, row.effects]))
    return { messages, turns: turns.map((turn) => ({ ...turn, effects: effects.get(turn.journal) ?? 0 })) }
  } finally {
    await database.close()
  }
}

const storedMessages = nameStatement(
  'crash_test_shapes_messages',
  `select message_id as id, split_part(connection, '/', 2) as connection, state, reason, event, turn_id as turn,
     to_jsonb(x) ->> 'joined_at_poll' is not null as "isJoined" from inbox x
   where message_id is not null order by seq`,
)

// Columns that an older schema has not are read as JSON: the test can be run against one.
const storedTurns = nameStatement(
  'crash_test_shapes_turns',
  `select id, coalesce(to_jsonb(t) ->> 'journal_turn', id::text) as journal, state, attempt from turns t order by id`,
)

/** Joined here: the database has no index on what is read as JSON, and no statistics of it. */
const storedEffects = nameStatement(
  'crash_test_shapes_effects',
  `select j.turn_id::text as journal, count(*)::int as effects from journal j
   where coalesce(to_jsonb(j) ->> 'is_effect', 'true') = 'true' group by 1`,
)

// The books against counters kept outside: 2xx seen by the platform, messages seen by the vendor, per connection.

import type { Scene } from './crash-setup.ts'
import { check, equal, fact, type Line, zero } from './crash-test.ts'
import { type Ledger, readLedger } from './ledger.ts'
import { type BooksLine, interrupted, listLimit, type Operator } from './operator.ts'
import { keyOf, type Platform, type Update } from './platform.ts'

export type Audit = { readonly lines: readonly Line[]; readonly ledger: Ledger }

export type Expectations = {
  readonly isRefused?: (update: Update) => boolean
  readonly isOrdered?: (update: Update) => boolean
}

export async function audit(scene: Scene, expected: Expectations = {}): Promise<Audit> {
  const { platform, operator } = scene
  const isRefused = expected.isRefused ?? (() => false)
  const dead = await operator.dead()
  const ledger = readLedger({
    updates: platform.updates,
    acknowledged: platform.acknowledged,
    dead,
    messages: new Map([...scene.vendors].map(([connection, vendor]) => [connection, vendor.messages])),
    effects: scene.tool.effects,
    ...expected,
  })
  const fates = [...ledger.fates].map(([fate, count]) => `${fate} ${count}`).join(', ')
  const lines = [
    fact('acknowledged messages', distinct(platform)),
    fact('their fates', fates),
    zero('lost', ledger.lost.length),
    zero('replies sent twice', ledger.doubledReplies.length),
    zero('tool effects done twice', ledger.doubledEffects.length),
    zero('reminders sent twice', ledger.doubledWakes.length),
    zero('order violations', ledger.orderViolations.length),
    zero('answered and dead at once', ledger.contradictions.length),
    check('dead messages listed', dead.length, `< ${listLimit}`, dead.length < listLimit),
    ...(await missingWakes(ledger, operator)),
    ...booksLines(await operator.books(), ledger, platform, isRefused),
    ...detail(ledger),
  ]
  return { lines, ledger }
}

/**
 * A reminder may be missing only where its own delivery ended unknown, or where its turn was given up after one kill too many;
 * the operator sees the one among the deliveries and the other among the runs.
 */
async function missingWakes(ledger: Ledger, operator: Operator): Promise<readonly Line[]> {
  const unknown = (await operator.failedDeliveries()).filter((line) => line.state === 'unknown')
  const givenUp = await operator.interruptedRuns()
  const count = new Map<string, number>()
  const add = (connection: string, by: number) => count.set(connection, (count.get(connection) ?? 0) + by)
  for (const { connection } of [...unknown, ...givenUp]) add(connection, 1)
  // Of the runs that were given up, those of messages explain a dead message and no reminder.
  for (const [key, reason] of ledger.deadReason) if (reason === interrupted) add(key.split('/')[0] ?? '', -1)
  const unexplained = ledger.missingWakes.filter((key) => {
    const connection = key.split('/')[0] ?? ''
    const left = count.get(connection) ?? 0
    count.set(connection, left - 1)
    return left <= 0
  })
  return [
    fact('deliveries that ended unknown', unknown.length),
    fact('runs given up after too many kills', givenUp.length),
    fact('reminders missing', ledger.missingWakes.length),
    zero('reminders missing that nobody is shown', unexplained.length),
  ]
}

function booksLines(
  books: readonly BooksLine[],
  ledger: Ledger,
  platform: Platform,
  isRefused: (update: Update) => boolean,
): readonly Line[] {
  const wrong: string[] = []
  const total = { received: 0, answered: 0, merged: 0, refused: 0, dead: 0, inFlight: 0 }
  for (const line of books) {
    for (const [name, seen, outside] of comparisons(line, ledger, platform, isRefused)) {
      if (seen !== outside) wrong.push(`${line.connection} ${name}: books ${seen}, outside ${outside}`)
    }
    for (const name of keysOf(total)) total[name] += line[name]
  }
  const sum = total.answered + total.merged + total.refused + total.dead + total.inFlight
  return [
    fact(
      'books',
      keysOf(total)
        .map((name) => `${name} ${total[name]}`)
        .join(', '),
    ),
    equal('books: received = answered + merged + refused + dead + in flight', sum, total.received),
    equal('books: received = messages that got a 2xx', total.received, distinct(platform)),
    zero('books: in flight at the end', total.inFlight),
    check('books: lines that disagree with outside', wrong.length, '0', wrong.length === 0),
    ...wrong.slice(0, 5).map((text) => fact('  disagrees', text)),
  ]
}

function comparisons(
  line: BooksLine,
  ledger: Ledger,
  platform: Platform,
  isRefused: (update: Update) => boolean,
): readonly (readonly [string, number, number])[] {
  const here = (key: string) => key.startsWith(`${line.connection}/`)
  const replies = ledger.replies.get(line.connection) ?? []
  const isUnknown = (ids: readonly string[]) =>
    ids.some((id) => ledger.deadReason.has(keyOf({ connection: line.connection, id })))
  const refused = platform.updates.filter((update) => update.connection === line.connection && isRefused(update))
  return [
    ['received', line.received, [...platform.acknowledged].filter(here).length],
    // A reply whose delivery ended unknown may well have arrived; its messages are booked as dead.
    ['answered', line.answered, replies.filter((ids) => !isUnknown(ids)).length],
    [
      'answered + merged',
      line.answered + line.merged,
      [...ledger.named].filter((key) => here(key) && !ledger.deadReason.has(key)).length,
    ],
    ['dead', line.dead, [...ledger.deadReason.keys()].filter(here).length],
    ['refused', line.refused, refused.length],
  ]
}

function detail(ledger: Ledger): readonly Line[] {
  const lists = { lost: ledger.lost, doubled: [...ledger.doubledReplies, ...ledger.doubledEffects] }
  const all = { ...lists, 'out of order': ledger.orderViolations, contradiction: ledger.contradictions }
  return Object.entries(all).flatMap(([name, keys]) =>
    keys.length === 0 ? [] : [fact(`  ${name}`, keys.slice(0, 8).join(' '))],
  )
}

function distinct(platform: Platform): number {
  return platform.acknowledged.size
}

function keysOf<T extends object>(value: T): readonly (keyof T & string)[] {
  // Object literals of this file hold their own keys only.
  return Object.keys(value) as (keyof T & string)[]
}

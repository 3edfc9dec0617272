// The people of the crash test `shapes`: they order in bursts, change their minds while they wait, and lose their access for a while.

import type { Scene } from './crash-setup.ts'
import type { SeededRandom } from './seeded-random.ts'
import { type ShapeName, shapeNames } from './shapes-agents.ts'
import { idsInReply, type Order, type OrderKind, type OrderWish, orderText } from './shapes-order.ts'

type Person = {
  readonly shape: ShapeName
  readonly kind: OrderKind
  readonly conversation: string
  readonly orders: Order[]
}

export type People = {
  /** How many messages were written, edits and deletions included. */
  readonly written: () => number
  /** Some of them write several messages each; resolves when all are acknowledged. */
  readonly writeSome: (count: number) => Promise<void>
  /** Some of those who wait for an answer edit or delete what they have written. */
  readonly changeMinds: (count: number) => void
  /** The subjects of some who wait. */
  readonly waiting: (count: number) => readonly string[]
  /** To be told of everything that is said to them. */
  readonly hear: (text: string) => void
}

const trouble: readonly OrderWish[] = [
  ...([
    'slow',
    'slow',
    'flaky-before',
    'flaky-after',
    'flaky-after',
    'cut',
    'cut',
    'lost',
    'refused',
    'refused',
  ] as const),
  ...(['poison-before', 'poison-after', 'shut'] as const),
]

export function createPeople(scene: () => Scene, random: SeededRandom, perShape: number, troubleShare: number): People {
  const people = shapeNames.flatMap((shape) =>
    (['keyed', 'plain'] as const).flatMap((kind) =>
      Array.from(
        { length: perShape },
        (_, index): Person => ({ shape, kind, conversation: `${shape}-${kind}-${index}`, orders: [] }),
      ),
    ),
  )
  const named = new Set<string>()
  let [written, changed, turn] = [0, 0, 0]

  const burst = async (person: Person): Promise<void> => {
    const count = random.between(3, 9)
    // One at most: a burst in which everything goes wrong shows little.
    const special = random.next() < troubleShare ? random.between(0, count - 1) : -1
    const sent: Promise<void>[] = []
    for (let each = 0; each < count; each += 1) {
      const wish = each === special ? random.pick(trouble) : 'plain'
      const number = String(person.orders.length + 1).padStart(5, '0')
      const order: Order = { id: `${person.conversation}.${number}`, kind: person.kind, wish }
      person.orders.push(order)
      written += 1
      sent.push(scene().platform.send({ ...placeOf(person), id: order.id, wish: orderText(order) }))
    }
    await Promise.all(sent)
  }
  const unanswered = (count: number): readonly (readonly [Person, Order])[] => {
    const found = people.flatMap((person) => {
      const last = person.orders.at(-random.between(1, 3))
      return last === undefined || named.has(last.id) ? [] : [[person, last] as const]
    })
    return found
      .map((each) => ({ each, rank: random.next() }))
      .toSorted((a, b) => a.rank - b.rank)
      .slice(0, count)
      .map(({ each }) => each)
  }
  return {
    written: () => written,
    async writeSome(count) {
      const from = (turn * count) % people.length
      turn += 1
      await Promise.all([...people, ...people].slice(from, from + count).map(burst))
    },
    changeMinds(count) {
      for (const [person, order] of unanswered(count)) {
        changed += 1
        written += 1
        const event = random.next() < 0.6 ? 'edit' : 'delete'
        const amends = { event, target: order.id, version: String(changed) } as const
        const wish = orderText({ ...order, wish: 'plain' }, changed)
        void scene().platform.send({ ...placeOf(person), id: `${order.id}.c${changed}`, wish, amends })
      }
    },
    waiting: (count) => unanswered(count).map(([person]) => `loopback:${placeOf(person).from}`),
    hear(text) {
      for (const id of idsInReply(text)) named.add(id)
    },
  }
}

/** One person per conversation, named like it. */
function placeOf({ shape, conversation }: Person) {
  return { connection: shape, conversation, from: conversation }
}

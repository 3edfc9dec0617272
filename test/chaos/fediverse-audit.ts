// What the other servers have in the end, counted there and nowhere else.
import type { Delivered } from '../doubles/fediverse-person.ts'
import { check, type Line, zero } from './crash-test.ts'
import { type People, repliesTo } from './fediverse-people.ts'

const idsIn = (copies: readonly Delivered[]): ReadonlySet<string> => new Set(copies.map(({ body }) => body.id))
const notesIn = (copies: readonly Delivered[]): ReadonlySet<string> => new Set(copies.map(({ body }) => body.object.id))

/** `hours`: how many of them the crash test has seen; a follow that comes again in another hour is answered again. */
export function auditPeople(people: People, hours: number): readonly Line[] {
  const { answerable, watcher, followers, leavers, blockers } = people
  const own = answerable.map(({ by, note }) => repliesTo(by, note))
  const copied = answerable.map(({ note }) => repliesTo(watcher, note))
  const everywhere = answerable.map((_, at) => [...(own[at] ?? []), ...(copied[at] ?? [])])
  const accepts = [...followers, ...leavers].map(({ by, activity }) =>
    by.received.filter(({ body }) => body.type === 'Accept' && body.object.id === activity.id),
  )
  const afterBlock = blockers.map(({ by, block, openAfterMs }) =>
    by.received.filter(({ at }) => block.tookAt === undefined || at > block.tookAt + openAfterMs),
  )
  const sent = [...own, ...copied, ...accepts]
  const copies = sent.reduce((sum, each) => sum + each.length - idsIn(each).size, 0)
  return [
    zero('mentions without an answer', own.filter((copies) => copies.length === 0).length),
    zero('mentions with a second answer', own.filter((copies) => notesIn(copies).size > 1).length),
    zero('answers that the follower did not get', copied.filter((copies) => copies.length === 0).length),
    zero('answers under two ids', everywhere.filter((each) => notesIn(each).size > 1 || idsIn(each).size > 1).length),
    zero('copies that say anything else', everywhere.filter((each) => new Set(each.map(saidBy)).size > 1).length),
    zero('follows without an Accept', accepts.filter((copies) => copies.length === 0).length),
    zero('follows with a second Accept', accepts.filter((copies) => idsIn(copies).size > hours).length),
    check('blocks taken', blockers.filter(({ block }) => block.tookAt !== undefined).length, 'all', hasTaken(people)),
    zero('deliveries after a block', afterBlock.flat().length),
    zero(
      'answers taken by whoever blocked',
      blockers.filter(({ by }) => by.received.some(({ status }) => status < 300)).length,
    ),
    check('copies under the same id', copies, 'at least 1', copies > 0),
  ]
}

const hasTaken = ({ blockers }: People): boolean => blockers.every(({ block }) => block.tookAt !== undefined)

/** Every try proves itself anew. */
function saidBy({ body: { proof: _proof, ...rest } }: Delivered): string {
  return JSON.stringify(rest)
}

/** Everything that came to anybody. */
export function deliveredTo(people: People): number {
  const persons = new Set([...people.deeds.map(({ by }) => by), people.watcher])
  return [...persons].reduce((sum, { received }) => sum + received.length, 0)
}

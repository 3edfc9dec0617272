// What the shop, the vendors and the platform saw in the crash test `shapes`, against what was promised to people.
import type { VendorMessage } from '../doubles/vendor-stub.ts'
import { check, equal, fact, type Line, zero } from './crash-test.ts'
import type { BooksLine } from './operator.ts'
import { keyOf, type Platform } from './platform.ts'
import type { StoredMessage, StoredTurn } from './shapes-operator.ts'
import { idsInReply, unsure } from './shapes-order.ts'
import type { Shop, ShopCall } from './shapes-shop.ts'

export type ShapesEvidence = {
  readonly shop: Pick<Shop, 'calls' | 'effects'>
  /** Per connection, in the order of arrival. */
  readonly said: ReadonlyMap<string, readonly VendorMessage[]>
  readonly platform: Pick<Platform, 'updates' | 'acknowledged'>
  readonly messages: readonly StoredMessage[]
  readonly turns: readonly StoredTurn[]
  readonly books: readonly BooksLine[]
  /** By message id: how often it may have been run as if nothing had been done for it. */
  readonly anew: ReadonlyMap<string, number>
}

export function auditShapes(evidence: ShapesEvidence): readonly Line[] {
  const { shop, messages, turns } = evidence
  const answers = readAnswers(evidence)
  const merged = messages.filter(({ state, event }) => state === 'merged' && event === 'new').length
  const again = turns.filter(({ attempt }) => attempt > 1)
  const hadActed = again.filter(({ effects }) => effects > 0).length
  return [
    fact('messages and their ends', endsOf(messages)),
    check('orders merged into the turn of another', merged, '> 0', merged > 0),
    fact('orders that joined a turn on the way', messages.filter(({ isJoined }) => isJoined).length),
    fact('turns, of them split', `${turns.length}, ${turns.filter(({ state }) => state === 'split').length}`),
    check('turns taken up again, of them after an effect', `${again.length}, ${hadActed}`, '> 0', hadActed > 0),
    fact('calls at the shop, and effects', `${shop.calls.length}, ${shop.effects.length}`),
    fact('replies, apologies', `${answers.replies.length}, ${answers.apologies.length}`),
    ...listed('effects doubled', doubledEffects(evidence)),
    ...listed('keys that are not of one turn, path of agents, step and use', wrongKeys(evidence)),
    ...listed('calls under more than one key', manyKeys(evidence)),
    ...listed('acknowledged and lost', lost(evidence, answers)),
    ...listed('answered, and never done', neverDone(evidence, answers)),
    ...listed('replies doubled', doubledReplies(answers)),
    ...listed('replies out of order', outOfOrder(evidence, answers)),
    ...listed('apologies that say done of what was not', falseApologies(evidence, answers)),
    ...listed('effects that the apology of their dead turn does not name', unnamedEffects(evidence, answers)),
    ...listed('dead turns without an apology, or with two', apologiesMissing(evidence, answers)),
    ...booksLines(evidence, answers),
  ]
}

/** The count, and some of what was counted. */
function listed(name: string, found: readonly string[]): readonly Line[] {
  return [zero(name, found.length), ...found.slice(0, 5).map((each) => fact('  for example', each))]
}

type Reply = { readonly connection: string; readonly ids: readonly string[]; readonly isUnsure: boolean }
type Apology = {
  readonly connection: string
  readonly turn: string
  readonly text: string
  readonly done: ReadonlyMap<string, number>
  readonly unknown: ReadonlyMap<string, number>
}
type Answers = {
  readonly replies: readonly Reply[]
  readonly apologies: readonly Apology[]
  /** Both, per connection in the order of arrival. */
  readonly ends: readonly (Reply | Apology)[]
}

function readAnswers({ said }: ShapesEvidence): Answers {
  const ends = [...said].flatMap(([connection, messages]) =>
    messages.flatMap(({ text }): readonly (Reply | Apology)[] => {
      const ids = idsInReply(text)
      if (ids.length > 0) return [{ connection, ids, isUnsure: text.endsWith(unsure) }]
      const turn = / \(ref ([0-9a-f-]+)\)/.exec(text)?.[1]
      if (turn === undefined) return []
      const done = labelsIn(/Done: (.*?)\. (?:I cannot tell|The rest)/.exec(text)?.[1])
      const unknown = labelsIn(/took effect: (.*?)\. The rest/.exec(text)?.[1])
      return [{ connection, turn, text, done, unknown }]
    }),
  )
  return { ends, replies: ends.filter(isReply), apologies: ends.filter(isApology) }
}

function isReply(end: Reply | Apology): end is Reply {
  return 'ids' in end
}

function isApology(end: Reply | Apology): end is Apology {
  return !isReply(end)
}

/** `pack it, note it (3 times)` */
function labelsIn(list: string | undefined): ReadonlyMap<string, number> {
  const labels = new Map<string, number>()
  for (const each of list?.split(', ') ?? []) {
    const [, label = each, times = '1'] = /^(.*) \((\d+) times\)$/.exec(each) ?? []
    labels.set(label, Number(times))
  }
  return labels
}

function endsOf(messages: readonly StoredMessage[]): string {
  const counts = new Map<string, number>()
  for (const { state, reason } of messages) {
    const end = state === 'merged' || reason === null ? state : `${state}(${reason})`
    counts.set(end, (counts.get(end) ?? 0) + 1)
  }
  return [...counts].map(([end, count]) => `${end} ${count}`).join(', ')
}

/** What is done once for a message: one use of one step of one agent. */
function placesOf(call: ShopCall): readonly (readonly [string, string])[] {
  return call.ids.map((id) => [`${id}: ${call.path}/${call.step}#${call.use}`, id] as const)
}

function doubledEffects({ shop, anew }: ShapesEvidence): readonly string[] {
  const counts = new Map<string, number>()
  const doubled = new Set<string>()
  for (const effect of shop.effects) {
    for (const [place, id] of placesOf(effect)) {
      const count = (counts.get(place) ?? 0) + 1
      counts.set(place, count)
      if (count > effect.alike * (1 + (anew.get(id) ?? 0))) doubled.add(place)
    }
  }
  return [...doubled]
}

/** The same key twice is the same call of the same turn, and its step. */
function wrongKeys({ shop, turns }: ShapesEvidence): readonly string[] {
  const journals = new Map(turns.map(({ id, journal }) => [id, journal]))
  const first = new Map<string, string>()
  const wrong = new Set<string>()
  for (const call of shop.calls) {
    const { key, path, step, use, ids, text, kind } = call
    const what = JSON.stringify([path, step, use, ids, text, kind, journals.get(call.turn)])
    if ((first.get(key) ?? what) !== what) wrong.add(`${key}: two different calls`)
    first.set(key, what)
    const [turn, ...rest] = key.split(':')
    const shape = new RegExp(`(^|/)${step}(:[0-9a-f]{16})?(#\\d+)?$`)
    if (turn !== journals.get(call.turn) || !shape.test(rest.join(':')))
      wrong.add(`${key}: of ${call.turn} ${path}/${step}`)
    if (use > 1 && !key.endsWith(`#${use}`)) wrong.add(`${key}: use ${use}`)
  }
  return [...wrong]
}

/** A call that is made again, because it may be, comes under the key it had. */
function manyKeys({ shop, anew }: ShapesEvidence): readonly string[] {
  const keys = new Map<string, Set<string>>()
  const many = new Set<string>()
  for (const call of shop.calls) {
    for (const [place, id] of placesOf(call)) {
      const known = (keys.get(place) ?? new Set()).add(call.key)
      keys.set(place, known)
      if (known.size > call.alike * (1 + (anew.get(id) ?? 0))) many.add(place)
    }
  }
  return [...many]
}

const ended: ReadonlySet<string> = new Set(['answered', 'merged', 'refused', 'dead'])

function lost({ platform, messages }: ShapesEvidence, { replies }: Answers): readonly string[] {
  const stored = new Map(messages.map((message) => [keyOf(message), message]))
  const named = new Set(replies.flatMap(({ connection, ids }) => ids.map((id) => keyOf({ connection, id }))))
  return platform.updates.flatMap((update) => {
    const key = keyOf(update)
    if (!platform.acknowledged.has(key)) return [`${key}: never acknowledged`]
    const message = stored.get(key)
    if (message === undefined) return [`${key}: not stored`]
    const { state, reason, event } = message
    if (!ended.has(state)) return [`${key}: ${state}`]
    if ((state === 'refused' || state === 'dead') && reason === null) return [`${key}: ${state} without a reason`]
    const mustBeNamed = (state === 'answered' || state === 'merged') && event === 'new'
    return mustBeNamed && !named.has(key) ? [`${key}: ${state}, and no reply names it`] : []
  })
}

/** The last thing that each agent does for all of its messages. */
const lastSteps: Readonly<Record<string, string>> = {
  text: 'order',
  name: 'order',
  row: 'ship',
  model: 'tool',
  team: 'bill',
}

function neverDone({ shop }: ShapesEvidence, { replies }: Answers): readonly string[] {
  const done = new Set(shop.effects.flatMap(({ step, ids }) => ids.map((id) => `${step} ${id}`)))
  return replies
    .filter(({ isUnsure }) => !isUnsure)
    .flatMap(({ connection, ids }) => ids.map((id) => `${lastSteps[connection]} ${id}`))
    .filter((each) => !done.has(each))
}

function doubledReplies({ replies }: Answers): readonly string[] {
  const seen = new Set<string>()
  const keys = replies.flatMap(({ connection, ids }) => ids.map((id) => keyOf({ connection, id })))
  return keys.filter((key) => seen.has(key) || !seen.add(key))
}

/** What was tried again comes when it comes. */
function outOfOrder({ platform, messages, turns, anew }: ShapesEvidence, { ends }: Answers): readonly string[] {
  const triedAgain = new Set(turns.filter(({ id, journal }) => id !== journal).map(({ id }) => id))
  const place = new Map(platform.updates.map((update, index) => [keyOf(update), { ...update, index }]))
  const ofTurn = new Map<string, string[]>()
  const skipped = new Set<string>()
  for (const message of messages) {
    const key = keyOf(message)
    if (anew.has(message.id) || (message.turn !== null && triedAgain.has(message.turn))) skipped.add(key)
    if (message.turn !== null && message.event === 'new')
      ofTurn.set(message.turn, [...(ofTurn.get(message.turn) ?? []), key])
  }
  const latest = new Map<string, number>()
  const wrong: string[] = []
  for (const end of ends) {
    const keys = isReply(end) ? end.ids.map((id) => keyOf({ ...end, id })) : (ofTurn.get(end.turn) ?? [])
    for (const key of keys) {
      const at = place.get(key)
      if (at === undefined || skipped.has(key)) continue
      if (at.index < (latest.get(at.conversation) ?? -1)) wrong.push(key)
      else latest.set(at.conversation, at.index)
    }
  }
  return wrong
}

/** What was done by the journal of a turn until it ended, by label: how many calls. */
function createDoneBy({ shop, turns }: ShapesEvidence): (turn: string) => ReadonlyMap<string, number> {
  const journals = new Map(turns.map(({ id, journal }) => [id, journal]))
  const byJournal = new Map<string, ShopCall[]>()
  for (const effect of shop.effects) {
    const journal = journals.get(effect.turn) ?? effect.turn
    byJournal.set(journal, [...(byJournal.get(journal) ?? []), effect])
  }
  return (turn) => {
    // Ids of turns are in the order in which they were opened.
    const effects = (byJournal.get(journals.get(turn) ?? turn) ?? []).filter((effect) => effect.turn <= turn)
    const labels = new Map<string, Set<string>>()
    for (const { label, key } of effects) labels.set(label, (labels.get(label) ?? new Set()).add(key))
    return new Map([...labels].map(([label, keys]) => [label, keys.size]))
  }
}

function falseApologies(evidence: ShapesEvidence, { apologies }: Answers): readonly string[] {
  const doneBy = createDoneBy(evidence)
  return apologies.flatMap(({ turn, done, text }) => {
    const really = doneBy(turn)
    return [...done].some(([label, times]) => times > (really.get(label) ?? 0)) ? [text] : []
  })
}

function unnamedEffects(evidence: ShapesEvidence, { apologies }: Answers): readonly string[] {
  const doneBy = createDoneBy(evidence)
  return apologies.flatMap(({ turn, done, unknown, text }) =>
    [...doneBy(turn)]
      .filter(([label, times]) => times > (done.get(label) ?? 0) + (unknown.get(label) ?? 0))
      .map(([label]) => `${label}: ${text}`),
  )
}

function apologiesMissing({ turns }: ShapesEvidence, { apologies }: Answers): readonly string[] {
  const counts = new Map<string, number>()
  for (const { turn } of apologies) counts.set(turn, (counts.get(turn) ?? 0) + 1)
  return turns
    .filter(({ state }) => state === 'dead')
    .filter(({ id }) => counts.get(id) !== 1)
    .map(({ id }) => `${id}: ${counts.get(id) ?? 0}`)
}

function booksLines({ books, platform, messages }: ShapesEvidence, { replies }: Answers): readonly Line[] {
  const sum = (name: Exclude<keyof BooksLine, 'connection'>): number =>
    books.reduce((total, line) => total + line[name], 0)
  const dead = messages.filter(({ state }) => state === 'dead').length
  const total = sum('answered') + sum('merged') + sum('refused') + sum('dead') + sum('inFlight')
  const names = ['received', 'answered', 'merged', 'refused', 'dead', 'inFlight'] as const
  return [
    fact('books', names.map((name) => `${name} ${sum(name)}`).join(', ')),
    equal('books: received = answered + merged + refused + dead + in flight', total, sum('received')),
    equal('books: received = messages that got a 2xx', sum('received'), platform.acknowledged.size),
    equal('books: answered = replies that arrived', sum('answered'), replies.length),
    check('books: dead', sum('dead'), String(dead), sum('dead') === dead),
    zero('books: in flight at the end', sum('inFlight')),
  ]
}

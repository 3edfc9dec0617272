// People on other servers who do everything at once that can be done about an agent, and their servers, which try until they hear 202.
import type { KeyPairKeyObjectResult } from 'node:crypto'
import { type Fediverse, startFediverse } from '../doubles/fediverse.ts'
import { aMention, type Delivered, type Person, personKeys, settlePerson } from '../doubles/fediverse-person.ts'
import { delay, eventually } from './crash-test.ts'

/** `tookAt`: when a server of ours heard 202 for it. */
export type Deed = { readonly by: Person; readonly activity: Activity; tookAt: number | undefined }
type Activity = Readonly<Record<string, unknown>> & { readonly id: string; readonly object: unknown }

export type Asked = { readonly by: Person; readonly note: string; readonly words: string }
/** Somebody who blocks the agent while something waits for them, or is thought about. */
export type Blocker = { readonly by: Person; readonly block: Deed; readonly openAfterMs: number }

export type People = {
  readonly origin: string
  readonly deeds: readonly Deed[]
  readonly answerable: readonly Asked[]
  readonly deleted: readonly Asked[]
  readonly followers: readonly Deed[]
  readonly leavers: readonly Deed[]
  readonly blockers: readonly Blocker[]
  /** Follows from the beginning to the end. */
  readonly watcher: Person
  /** Their server tries until it hears 202. */
  readonly hand: (deed: Deed) => Promise<void>
  /** The watcher follows. */
  readonly watch: () => Promise<void>
  /** Before: one follows, one is answered, one waits for an answer. What it gives is what they do next, all at once. */
  readonly company: (place: number, isThoughtAbout: boolean) => Promise<() => Promise<void>>
  readonly tries: () => number
  readonly stop: () => Promise<void>
}

const tryAgainMs = 100
const giveUpMs = 300_000
const prepareMs = 30_000
/** What was on its way when the block was taken has come by then. */
const onItsWayMs = 1500

export async function settlePeople(actor: string): Promise<People> {
  const server: Fediverse = await startFediverse()
  const keys: KeyPairKeyObjectResult = personKeys()
  const person = (name: string, endpoints?: object): Person =>
    settlePerson(server, '127.0.0.1', name, { endpoints }, keys)
  const watcher = person('watcher')
  // What is for everybody comes once to a server, however many follow there: to whoever watches.
  const shared = { sharedInbox: `${watcher.id}/inbox` }
  const deeds: Deed[] = []
  const [answerable, deleted, followers, leavers, blockers] = [[], [], [], [], []] as [
    Asked[],
    Asked[],
    Deed[],
    Deed[],
    Blocker[],
  ]
  let tries = 0
  const hand = async (deed: Deed): Promise<void> => {
    for (const until = performance.now() + giveUpMs; performance.now() < until; await delay(tryAgainMs)) {
      tries += 1
      // Nobody listens while there is no process.
      const status = await deed.by.post(`${actor}/inbox`, deed.activity).catch(() => 0)
      if (status === 202) {
        deed.tookAt ??= performance.now()
        return
      }
      if (status >= 400 && status < 429) throw new Error(`${deed.activity.id} was refused: ${status}`)
    }
    throw new Error(`${deed.activity.id} was never taken`)
  }
  const deed = (by: Person, activity: Activity): Deed => {
    const done: Deed = { by, activity, tookAt: undefined }
    deeds.push(done)
    return done
  }
  const act = (by: Person, type: string, object: unknown): Deed =>
    deed(by, { ...asContext, id: `${by.id}/did/${type.toLowerCase()}`, type, actor: by.id, to: [actor], object })
  const mention = (by: Person, words: string): { readonly deed: Deed; readonly asked: Asked } => {
    const activity = aMention(by, actor, words)
    return { deed: deed(by, activity), asked: { by, note: activity.object.id, words } }
  }
  /** Only the address of the post is delivered; the person's server shows the post to readers who ask. */
  const pointTo = (by: Person, words: string): { readonly deed: Deed; readonly asked: Asked } => {
    const { object, ...activity } = aMention(by, actor, words)
    server.put('127.0.0.1', new URL(object.id).pathname, { body: object })
    return { deed: deed(by, { ...activity, object: object.id }), asked: { by, note: object.id, words } }
  }
  return {
    origin: server.origin('127.0.0.1'),
    deeds,
    answerable,
    deleted,
    followers,
    leavers,
    blockers,
    watcher,
    hand,
    async watch() {
      const follow = act(watcher, 'Follow', actor)
      followers.push(follow)
      await hand(follow)
    },
    async company(place, isThoughtAbout) {
      const named = (name: string): Person =>
        person(`${name}-${place}`, ['fan', 'leaver'].includes(name) ? shared : undefined)
      const names = ['asker', 'pointer', 'fan', 'leaver', 'regretter', 'sulker']
      const [asker, pointer, fan, leaver, regretter, sulker] = names.map(named) as [
        ...[Person, Person, Person, Person, Person, Person],
      ]
      const followed = act(leaver, 'Follow', actor)
      const said = mention(regretter, `forget me-not-${place}`)
      sulker.answer(429)
      const sulked = mention(sulker, isThoughtAbout ? `Think of sulker ${place}` : `hear sulker ${place}`)
      leavers.push(followed)
      answerable.push(said.asked)
      deleted.push(said.asked)
      await Promise.all([hand(followed), hand(said.deed), hand(sulked.deed)])
      const isReady = () =>
        [leaver, regretter].every(({ received }) => received.length > 0) &&
        (isThoughtAbout || sulker.received.length > 0)
      if (!(await eventually(isReady, prepareMs, 20))) throw new Error(`company ${place} was never ready`)
      return async () => {
        const asked = mention(asker, `hear asker ${place}`)
        const pointed = pointTo(pointer, `hear pointer ${place}`)
        const follow = act(fan, 'Follow', actor)
        const block = act(sulker, 'Block', actor)
        answerable.push(asked.asked, pointed.asked)
        followers.push(follow)
        blockers.push({ by: sulker, block, openAfterMs: onItsWayMs })
        const undo = act(leaver, 'Undo', followed.activity)
        const forget = act(regretter, 'Delete', { id: said.asked.note, type: 'Tombstone' })
        await Promise.all([
          ...[asked.deed, pointed.deed, follow, undo, forget].map(hand),
          // From then on they would take whatever came.
          hand(block).then(async () => {
            await delay(onItsWayMs)
            sulker.answer(202)
          }),
        ])
      }
    },
    tries: () => tries,
    stop: () => server.stop(),
  }
}

const asContext = { '@context': 'https://www.w3.org/ns/activitystreams' }

export function repliesTo({ received }: Person, note: string): readonly Delivered[] {
  return received.filter(({ body }) => body.type === 'Create' && body.object.inReplyTo === note)
}

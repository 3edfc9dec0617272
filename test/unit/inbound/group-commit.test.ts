// Group commit: one flight at a time, bounded, and one bad row fails no other.
import { describe, expect, test } from 'vitest'
import type { AcceptDrafts, InboxOutcome } from '../../../src/db/inbox.ts'
import type { InboxDraft } from '../../../src/db/inbox-row.ts'
import { type Committer, createGroupCommit, defaultLimits } from '../../../src/inbound/group-commit.ts'
import { GatewayError } from '../../../src/lib/errors.ts'
import { aDraft } from '../../doubles/inbox-drafts.ts'

type Flight = {
  readonly drafts: readonly InboxDraft[]
  readonly land: () => void
  readonly crash: (error: unknown) => void
}

/** A store whose commits land when the test says so. */
function heldStore(): { accept: AcceptDrafts; flights: Flight[] } {
  const flights: Flight[] = []
  const accept: AcceptDrafts = (drafts) =>
    new Promise((resolve, reject) => {
      const land = () => resolve(drafts.map((draft) => accepted(draft)))
      flights.push({ drafts, land, crash: reject })
    })
  return { accept, flights }
}

const accepted = (draft: InboxDraft): InboxOutcome => ({ kind: 'accepted', inboxId: draft.id, flagged: false })
const refusedRow = () => new GatewayError('storage_refused_row', 'refused')
const down = () => new GatewayError('storage_unavailable', 'down')
/** One that arrived alone. */
const commitOne = async (committer: Committer, draft: InboxDraft): Promise<InboxOutcome> => {
  const [outcome] = await committer.commit([draft])
  if (outcome === undefined) throw new Error('no outcome')
  return outcome
}
const settled = () => new Promise((resolve) => setTimeout(resolve, 0))

describe('group commit', () => {
  test('flushes the first row at once and gathers the rest behind it', async () => {
    const { accept, flights } = heldStore()
    const committer = createGroupCommit(accept)
    const outcomes = ['a', 'b', 'c'].map((messageId) => commitOne(committer, aDraft({ messageId })))
    expect(flights.map((flight) => flight.drafts.length)).toEqual([1])
    flights[0]?.land()
    await settled()
    expect(flights.map((flight) => flight.drafts.length)).toEqual([1, 2])
    flights[1]?.land()
    expect((await Promise.all(outcomes)).map((outcome) => outcome.kind)).toEqual(['accepted', 'accepted', 'accepted'])
  })

  test('takes a breath before a commit, and along whatever arrived during it', async () => {
    const { accept, flights } = heldStore()
    const breaths: (() => void)[] = []
    const breathe = () => new Promise<void>((resolve) => breaths.push(resolve))
    const committer = createGroupCommit(accept, defaultLimits, breathe)
    const outcomes = ['a', 'b'].map((messageId) => commitOne(committer, aDraft({ messageId })))
    expect(flights).toEqual([])
    breaths[0]?.()
    await settled()
    // The first breath brought another row, so there is a second one; it brings nothing.
    expect(flights).toEqual([])
    breaths[1]?.()
    await settled()
    expect(flights.map((flight) => flight.drafts.length)).toEqual([2])
    flights[0]?.land()
    expect((await Promise.all(outcomes)).map((outcome) => outcome.kind)).toEqual(['accepted', 'accepted'])
    expect(breaths).toHaveLength(2)
  })

  test('commits after three breaths, also when every one of them brings more', async () => {
    const { accept, flights } = heldStore()
    const outcomes: Promise<InboxOutcome>[] = []
    let arrived = 0
    const arrive = (): void => {
      arrived += 1
      outcomes.push(commitOne(committer, aDraft({ messageId: `m${arrived}` })))
    }
    const breathe = async (): Promise<void> => {
      await settled()
      if (arrived < 20) arrive()
    }
    const committer = createGroupCommit(accept, defaultLimits, breathe)
    arrive()
    await expect.poll(() => flights.map((flight) => flight.drafts.length)).toEqual([4])
    flights[0]?.land()
    expect(await outcomes[3]).toMatchObject({ kind: 'accepted' })
  })

  test('folds copies of one message into one row; they share its outcome', async () => {
    const { accept, flights } = heldStore()
    const committer = createGroupCommit(accept)
    const first = commitOne(committer, aDraft({ messageId: 'other' }))
    const copies = [1, 2, 3].map(() => commitOne(committer, aDraft()))
    flights[0]?.land()
    await first
    await settled()
    expect(flights[1]?.drafts.map((draft) => draft.copies)).toEqual([2])
    flights[1]?.land()
    expect((await Promise.all(copies)).map((outcome) => outcome.kind)).toEqual(['accepted', 'duplicate', 'duplicate'])
  })

  test('lets copies share a failure too', async () => {
    const { accept, flights } = heldStore()
    const committer = createGroupCommit(accept)
    const first = commitOne(committer, aDraft({ messageId: 'other' }))
    const copies = [1, 2].map(() => commitOne(committer, aDraft()))
    flights[0]?.land()
    await first
    await settled()
    flights[1]?.crash(down())
    for (const copy of copies) await expect(copy).rejects.toMatchObject({ code: 'storage_unavailable' })
  })

  test('corners the one row the database refuses by halving', async () => {
    const statements: number[] = []
    const accept: AcceptDrafts = async (drafts) => {
      statements.push(drafts.length)
      if (drafts.some((draft) => draft.messageId === 'poison')) throw refusedRow()
      return drafts.map(accepted)
    }
    const committer = createGroupCommit(accept)
    const ids = ['warm', 'a', 'b', 'poison', 'c', 'd']
    const results = await Promise.allSettled(ids.map((messageId) => commitOne(committer, aDraft({ messageId }))))
    expect(results.map((result) => result.status)).toEqual([
      'fulfilled',
      'fulfilled',
      'fulfilled',
      'rejected',
      'fulfilled',
      'fulfilled',
    ])
    expect(statements[1]).toBe(5)
  })

  test('does not halve when the database is down: everybody is told', async () => {
    let statements = 0
    const committer = createGroupCommit(async () => {
      statements += 1
      throw down()
    })
    const results = await Promise.allSettled(
      ['a', 'b', 'c'].map((messageId) => commitOne(committer, aDraft({ messageId }))),
    )
    expect(results.map((result) => result.status)).toEqual(['rejected', 'rejected', 'rejected'])
    expect(statements).toBe(2)
  })

  test('answers within its deadline when commits hang, then refuses at once, then recovers', async () => {
    const { accept, flights } = heldStore()
    const committer = createGroupCommit(accept, { ...defaultLimits, deadlineMs: 30 })
    await expect(commitOne(committer, aDraft({ messageId: 'a' }))).rejects.toMatchObject({
      code: 'storage_unavailable',
    })
    await expect(commitOne(committer, aDraft({ messageId: 'b' }))).rejects.toMatchObject({
      code: 'storage_unavailable',
    })
    expect(committer.isAnswered()).toBe(false)
    await expect(commitOne(committer, aDraft({ messageId: 'c' }))).rejects.toThrow('does not answer')
    expect(flights).toHaveLength(2)
    for (const flight of flights) flight.land()
    await settled()
    expect(committer.isAnswered()).toBe(true)
    const after = commitOne(committer, aDraft({ messageId: 'd' }))
    flights[2]?.land()
    expect(await after).toMatchObject({ kind: 'accepted' })
  })

  test('forgets what nobody waits for any more, instead of storing it when the database is back', async () => {
    const { accept, flights } = heldStore()
    const committer = createGroupCommit(accept, { ...defaultLimits, deadlineMs: 30, maxRows: 1 })
    const outcomes = await Promise.allSettled(
      ['a', 'b', 'c', 'd'].map((messageId) => commitOne(committer, aDraft({ messageId }))),
    )
    expect(outcomes.map((outcome) => outcome.status)).toEqual(['rejected', 'rejected', 'rejected', 'rejected'])
    for (const flight of flights) flight.land()
    await settled()
    expect(flights.map((flight) => flight.drafts.map((draft) => draft.messageId))).toEqual([['a'], ['b']])
  })

  test("refuses what would exceed the waiting rows of one connection, and nobody else's", async () => {
    const { accept, flights } = heldStore()
    const committer = createGroupCommit(accept, { ...defaultLimits, maxWaitingPerConnection: 2 })
    const waiting = ['a', 'b'].map((messageId) => commitOne(committer, aDraft({ messageId })))
    await expect(commitOne(committer, aDraft({ messageId: 'c' }))).rejects.toMatchObject({ code: 'storage_overloaded' })
    const other = commitOne(committer, aDraft({ messageId: 'c', connection: 'other' }))
    flights[0]?.land()
    await settled()
    flights[1]?.land()
    await Promise.all([...waiting, other])
  })

  test('cuts a batch at its limits of rows and bytes', async () => {
    const { accept, flights } = heldStore()
    const committer = createGroupCommit(accept, { ...defaultLimits, maxRows: 3, maxBytes: 1000 })
    const all = ['a', 'b', 'c', 'd', 'e'].map((messageId) => commitOne(committer, aDraft({ messageId, bytes: 400 })))
    for (let flight = 0; flight < 3; flight += 1) {
      flights[flight]?.land()
      await settled()
    }
    await Promise.all(all)
    expect(flights.map((flight) => flight.drafts.length)).toEqual([1, 2, 2])
  })

  test('never parts what arrived together, however full a commit is and whoever is guilty', async () => {
    const statements: (string | undefined)[][] = []
    const accept: AcceptDrafts = async (drafts) => {
      statements.push(drafts.map(({ messageId }) => messageId))
      if (drafts.some((draft) => draft.messageId === 'poison')) throw refusedRow()
      return drafts.map(accepted)
    }
    const committer = createGroupCommit(accept, { ...defaultLimits, maxRows: 2 })
    const together = [['warm'], ['a', 'b', 'c'], ['d', 'poison'], ['e']]
    const results = await Promise.allSettled(
      together.map((ids) => committer.commit(ids.map((messageId) => aDraft({ messageId })))),
    )
    expect(results.map((result) => (result.status === 'fulfilled' ? result.value.length : 'none'))).toEqual([
      1,
      3,
      'none',
      1,
    ])
    expect(statements).toEqual([['warm'], ['a', 'b', 'c'], ['d', 'poison'], ['e']])
  })

  test('gives each of several that share a commit its own outcomes, and copies of them the same', async () => {
    const { accept, flights } = heldStore()
    const committer = createGroupCommit(accept)
    const first = commitOne(committer, aDraft({ messageId: 'other' }))
    const pair = () => ['a', 'b'].map((messageId) => aDraft({ id: `id-${messageId}`, messageId }))
    const copies = [committer.commit(pair()), committer.commit(pair())]
    const last = commitOne(committer, aDraft({ id: 'id-c', messageId: 'c' }))
    flights[0]?.land()
    await first
    await settled()
    expect(flights[1]?.drafts.map(({ messageId, copies: more }) => [messageId, more])).toEqual([
      ['a', 1],
      ['b', 1],
      ['c', 0],
    ])
    flights[1]?.land()
    expect((await Promise.all(copies)).map((outcomes) => outcomes.map(({ kind }) => kind))).toEqual([
      ['accepted', 'accepted'],
      ['duplicate', 'duplicate'],
    ])
    expect(await last).toMatchObject({ inboxId: 'id-c' })
  })
})

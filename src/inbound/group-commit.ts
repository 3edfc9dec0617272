// Group commit: what arrives while a commit is in flight goes into the next one. No timer, bounded on every side. What arrived
// together is never parted.

import type { AcceptDrafts, InboxOutcome } from '../db/inbox.ts'
import type { InboxDraft } from '../db/inbox-row.ts'
import { GatewayError, isGatewayError } from '../lib/errors.ts'
import { settleWithin } from '../lib/index.ts'

export type GroupCommitLimits = WaitingLimits & {
  /** Commits that may hang unanswered at the same time before new rows are refused at once. */
  readonly maxHanging: number
}

export const defaultLimits: GroupCommitLimits = {
  maxRows: 256,
  maxBytes: 4 * 1024 * 1024,
  maxWaitingPerConnection: 5_000,
  maxWaitingBytes: 64 * 1024 * 1024,
  deadlineMs: 2_200,
  maxHanging: 2,
}

export type Committer = {
  /** All of them or none; outcomes in their order. */
  readonly commit: (drafts: readonly InboxDraft[]) => Promise<readonly InboxOutcome[]>
  /** False while the database leaves commits unanswered: readiness is red. */
  readonly isAnswered: () => boolean
}

/** A stream that never pauses must not keep a commit waiting. */
const maxBreaths = 3

/** Port: resolves when the runtime has answered what is decided and read what has arrived; without it, at once. */
export type Breath = () => Promise<void>

export function createGroupCommit(
  accept: AcceptDrafts,
  limits: GroupCommitLimits = defaultLimits,
  breathe?: Breath,
): Committer {
  const waiting = createWaitingRoom(limits)
  let isFlushing = false
  let hanging = 0

  const flushWaitingRows = async (): Promise<void> => {
    if (isFlushing) return
    isFlushing = true
    while (waiting.size() > 0 && hanging < limits.maxHanging) {
      // Requests that are already here belong into this commit, and the answers of the last one should not wait for it:
      // an embedded database stops the whole process while it works.
      for (let breaths = 0; breathe !== undefined && breaths < maxBreaths; breaths += 1) {
        const size = waiting.size()
        await breathe()
        if (waiting.size() === size) break
      }
      hanging += 1
      const work = commitBatch(accept, waiting.take()).finally(() => {
        hanging -= 1
      })
      // A commit past its deadline goes on alone: its rows were answered "not stored" and will be delivered again.
      if ((await settleWithin(work, limits.deadlineMs, 'late')) === 'late') void work.then(flushWaitingRows)
    }
    isFlushing = false
  }

  return {
    isAnswered: () => hanging < limits.maxHanging,
    commit(drafts) {
      if (hanging >= limits.maxHanging)
        return Promise.reject(acceptUnavailable('cannot be stored: the database does not answer'))
      const outcomes = waiting.add(drafts)
      void flushWaitingRows()
      return outcomes
    },
  }
}

/** Stores a batch; a fault that one inbound event may have caused is cornered by halving, so it takes no other along. */
async function commitBatch(accept: AcceptDrafts, batch: readonly WaitingRows[]): Promise<void> {
  try {
    const outcomes = await accept(batch.flatMap(withCopyCount))
    let at = 0
    for (const rows of batch) {
      const own = rows.drafts.map((_, index) => outcomes[at + index] ?? ({ kind: 'again' } as const))
      at += rows.drafts.length
      resolveRows(rows, own)
    }
  } catch (error) {
    if (batch.length === 1 || !mayBeOneRow(error)) {
      for (const rows of batch) rejectRows(rows, error)
      return
    }
    const half = Math.ceil(batch.length / 2)
    await commitBatch(accept, batch.slice(0, half))
    await commitBatch(accept, batch.slice(half))
  }
}

/** Every request after the first holds a copy of the same. */
function withCopyCount({ drafts, askers }: WaitingRows): readonly InboxDraft[] {
  return askers.length <= 1 ? drafts : drafts.map((draft) => ({ ...draft, copies: askers.length - 1 }))
}

/** 57014 is the statement deadline: the batch may hold one row that is slow by itself. */
function mayBeOneRow(error: unknown): boolean {
  if (!isGatewayError(error)) return false
  return error.code === 'storage_refused_row' || error.details['sqlstate'] === '57014'
}

// The rows that wait for the next commit: bounded by count and bytes, copies folded into the first of their kind. What arrived
// together is stored together or not at all, so it waits together too.

type WaitingLimits = {
  readonly maxRows: number
  readonly maxBytes: number
  /** Rows of one connection that may wait for a commit; more is answered as overload. */
  readonly maxWaitingPerConnection: number
  readonly maxWaitingBytes: number
  /** A row that is not stored by then is answered as unavailable; the platform will deliver it again. */
  readonly deadlineMs: number
}

/** What arrived together, and every request that brought it: copies in the same window share the outcome, failure included. */
type WaitingRows = { readonly drafts: readonly InboxDraft[]; readonly askers: Asker[] }
type Outcomes = readonly InboxOutcome[]
type Asker = { readonly resolve: (outcomes: Outcomes) => void; readonly reject: (error: GatewayError) => void }

export type WaitingRoom = {
  readonly add: (drafts: readonly InboxDraft[]) => Promise<Outcomes>
  readonly take: () => readonly WaitingRows[]
  readonly size: () => number
}

function createWaitingRoom(limits: WaitingLimits): WaitingRoom {
  const waiting = new Map<string, WaitingRows>()
  const perConnection = new Map<string, number>()
  let bytes = 0

  const countWeight = (weight: Weight, by: 1 | -1): void => {
    bytes += by * weight.bytes
    const left = (perConnection.get(weight.connectionKey) ?? 0) + by * weight.rows
    if (left > 0) perConnection.set(weight.connectionKey, left)
    else perConnection.delete(weight.connectionKey)
  }
  const isQueueFull = (weight: Weight): boolean =>
    bytes + weight.bytes > limits.maxWaitingBytes ||
    (perConnection.get(weight.connectionKey) ?? 0) + weight.rows > limits.maxWaitingPerConnection

  return {
    size: () => waiting.size,
    add(drafts) {
      const [first] = drafts
      if (first === undefined) return Promise.resolve([])
      const weight = { ...measureDrafts(drafts), connectionKey: JSON.stringify([first.tenant, first.connection]) }
      if (isQueueFull(weight)) return Promise.reject(overloaded())
      countWeight(weight, 1)
      return rejectAtDeadline(limits.deadlineMs, (asker) => {
        const key = `${weight.connectionKey}${drafts.length === 1 ? draftKey(first) : JSON.stringify(drafts.map(draftKey))}`
        const rows = waiting.get(key) ?? { drafts, askers: [] }
        waiting.set(key, rows)
        rows.askers.push(asker)
        return {
          done: () => countWeight(weight, -1),
          withdraw() {
            rows.askers.splice(rows.askers.indexOf(asker), 1)
            // No request waits for it any more and it will be delivered again: an outage must not fill the memory with it.
            if (rows.askers.length === 0 && waiting.get(key) === rows) waiting.delete(key)
          },
        }
      })
    },
    take() {
      const batch: WaitingRows[] = []
      let size = { rows: 0, bytes: 0 }
      for (const [key, rows] of waiting) {
        const weight = measureDrafts(rows.drafts)
        size = { rows: size.rows + weight.rows, bytes: size.bytes + weight.bytes }
        if (batch.length > 0 && (size.rows > limits.maxRows || size.bytes > limits.maxBytes)) break
        waiting.delete(key)
        batch.push(rows)
      }
      return batch
    },
  }
}

type Weight = { readonly connectionKey: string; readonly rows: number; readonly bytes: number }

function measureDrafts(drafts: readonly InboxDraft[]): Pick<Weight, 'rows' | 'bytes'> {
  let bytes = 0
  for (const draft of drafts) bytes += draft.bytes
  return { rows: drafts.length, bytes }
}

/** JSON texts and the rest: where one ends the next begins, so no content can imitate another key. */
function draftKey({ dedupe, content, once }: InboxDraft): string {
  // A copy that is proven otherwise is stored on its own: what it is proven by is used up, too.
  const proofs = once === undefined ? '' : JSON.stringify(once.map(({ key }) => key))
  return `${JSON.stringify(dedupe)}${proofs}${content}`
}

/** The first asker learns the outcomes; the others learn that theirs were copies. */
function resolveRows({ askers }: WaitingRows, outcomes: Outcomes): void {
  const [first, ...others] = askers
  first?.resolve(outcomes)
  if (others.length === 0) return
  const copied = outcomes.map(
    (each): InboxOutcome => (each.kind === 'accepted' ? { ...each, kind: 'duplicate' } : each),
  )
  for (const asker of others) asker.resolve(copied)
}

function rejectRows({ askers }: WaitingRows, error: unknown): void {
  const reason = isGatewayError(error) ? error : acceptUnavailable('could not be stored', error)
  for (const asker of askers) asker.reject(reason)
}

function acceptUnavailable(what: string, cause?: unknown): GatewayError {
  const message = `[inbound] the message ${what}; deliver it again`
  return new GatewayError('storage_unavailable', message, { retryable: true, cause })
}

function overloaded(): GatewayError {
  const message = '[inbound] too many messages wait to be stored; deliver again later'
  return new GatewayError('storage_overloaded', message, { retryable: true })
}

type Asked = { readonly done: () => void; readonly withdraw: () => void }

/** `ask` answers how to withdraw what was asked, and what to do when it is over. */
function rejectAtDeadline(ms: number, ask: (asker: Asker) => Asked): Promise<Outcomes> {
  return new Promise((resolve, reject) => {
    const endWait = (): void => {
      clearTimeout(timer)
      asked.done()
    }
    const timer = setTimeout(() => {
      asked.withdraw()
      endWait()
      reject(acceptUnavailable('was not stored in time'))
    }, ms)
    const asked = ask({
      resolve(outcomes) {
        endWait()
        resolve(outcomes)
      },
      reject(error) {
        endWait()
        reject(error)
      },
    })
  })
}

// Runtimes whose requests share nothing commit every inbound event on its own.

export function createSingleCommit(accept: AcceptDrafts): Committer {
  return {
    isAnswered: () => true,
    commit: async (drafts) => (drafts.length === 0 ? [] : accept(drafts)),
  }
}

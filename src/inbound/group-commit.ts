// Group commit: what arrives while a commit is in flight goes into the next one. No timer, bounded on every side. What arrived
// together is never parted.
import { isGatewayError } from '../contract/index.ts'
import type { InboxDraft, InboxOutcome, InboxStore } from '../db/inbox.ts'
import {
  acceptUnavailable,
  createWaitingRoom,
  rejectRows,
  resolveRows,
  type WaitingLimits,
  type WaitingRows,
} from './waiting-rows.ts'

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
  store: InboxStore,
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
      const work = commitBatch(store, waiting.take()).finally(() => {
        hanging -= 1
      })
      // A commit past its deadline goes on alone: its rows were answered "not stored" and will be delivered again.
      if ((await resolveOrLate(limits.deadlineMs, work)) === 'late') void work.then(flushWaitingRows)
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
async function commitBatch(store: InboxStore, batch: readonly WaitingRows[]): Promise<void> {
  try {
    const outcomes = await store.accept(batch.flatMap(withCopyCount))
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
    await commitBatch(store, batch.slice(0, half))
    await commitBatch(store, batch.slice(half))
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

async function resolveOrLate<T>(ms: number, work: Promise<T>): Promise<T | 'late'> {
  const late = Promise.withResolvers<'late'>()
  const timer = setTimeout(() => late.resolve('late'), ms)
  try {
    return await Promise.race([work, late.promise])
  } finally {
    clearTimeout(timer)
  }
}

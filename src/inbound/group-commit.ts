// Group commit: what arrives while a commit is in flight goes into the next one. No timer, bounded on every side.
import { isGatewayError } from '../contract/index.ts'
import type { InboxDraft, InboxOutcome, InboxStore } from './inbox-store.ts'
import {
  createWaitingRows,
  rejectRow,
  resolveRow,
  unavailable,
  type WaitingLimits,
  type WaitingRow,
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
  readonly commit: (draft: InboxDraft) => Promise<InboxOutcome>
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
  const waiting = createWaitingRows(limits)
  let isFlushing = false
  let hanging = 0

  const flush = async (): Promise<void> => {
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
      if ((await within(limits.deadlineMs, work)) === 'late') void work.then(flush)
    }
    isFlushing = false
  }

  return {
    isAnswered: () => hanging < limits.maxHanging,
    commit(draft) {
      if (hanging >= limits.maxHanging)
        return Promise.reject(unavailable('cannot be stored: the database does not answer'))
      const outcome = waiting.add(draft)
      void flush()
      return outcome
    },
  }
}

/** Stores a batch; a fault that one row may have caused is cornered by halving, so it takes no other row along. */
async function commitBatch(store: InboxStore, batch: readonly WaitingRow[]): Promise<void> {
  try {
    const outcomes = await store.accept(batch.map(counted))
    batch.forEach((row, index) => {
      resolveRow(row, outcomes[index] ?? { kind: 'again' })
    })
  } catch (error) {
    if (batch.length === 1 || !mayBeOneRow(error)) {
      for (const row of batch) rejectRow(row, error)
      return
    }
    const half = Math.ceil(batch.length / 2)
    await commitBatch(store, batch.slice(0, half))
    await commitBatch(store, batch.slice(half))
  }
}

/** Everybody after the first asker holds a copy of the same message. */
function counted({ draft, askers }: WaitingRow): InboxDraft {
  return askers.length <= 1 ? draft : { ...draft, copies: askers.length - 1 }
}

/** 57014 is the statement deadline: the batch may hold one row that is slow by itself. */
function mayBeOneRow(error: unknown): boolean {
  if (!isGatewayError(error)) return false
  return error.code === 'storage_refused_row' || error.details['sqlstate'] === '57014'
}

async function within<T>(ms: number, work: Promise<T>): Promise<T | 'late'> {
  const late = Promise.withResolvers<'late'>()
  const timer = setTimeout(() => late.resolve('late'), ms)
  try {
    return await Promise.race([work, late.promise])
  } finally {
    clearTimeout(timer)
  }
}

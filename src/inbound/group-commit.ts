// Group commit: what arrives while a commit is in flight goes into the next one. No timer, bounded on every side. What arrived
// together is never parted.

import type { AcceptDrafts, InboxOutcome } from '../db/inbox.ts'
import type { InboxDraft } from '../db/inbox-row.ts'
import { GatewayError, isGatewayError } from '../lib/errors.ts'
import { settleWithin } from '../lib/index.ts'

export type GroupCommitLimits = {
  readonly maxRows: number
  readonly maxBytes: number
  /** Rows of one connection that may wait for a commit; more is answered as overload. */
  readonly maxWaitingPerConnection: number
  readonly maxWaitingBytes: number
  /** A row that is not stored by then is answered as unavailable; the platform will deliver it again. */
  readonly deadlineMs: number
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

type Outcomes = readonly InboxOutcome[]

export type Committer = {
  /** All of them or none; outcomes in their order. */
  readonly commit: (drafts: readonly InboxDraft[]) => Promise<Outcomes>
  /** False while the database leaves commits unanswered: readiness is red. */
  readonly isAnswered: () => boolean
}

/** A stream that never pauses must not keep a commit waiting. */
const maxBreaths = 3

/** Port: resolves when the runtime has answered what is decided and read what has arrived; without it, at once. */
export type Breath = () => Promise<void>

/** What arrived together, and every request that brought it: copies in the same window share the outcome, failure included. */
type WaitingRows = {
  readonly drafts: readonly InboxDraft[]
  readonly bytes: number
  readonly requests: WaitingRequest[]
}

type WaitingRequest = {
  readonly connectionKey: string
  readonly rows: number
  readonly bytes: number
  readonly deadline: ReturnType<typeof setTimeout>
  readonly resolve: (outcomes: Outcomes) => void
  readonly reject: (error: GatewayError) => void
}

/** `onFailed` is told of every commit that failed. */
export function createGroupCommit(
  accept: AcceptDrafts,
  limits: GroupCommitLimits = defaultLimits,
  breathe?: Breath,
  onFailed?: () => void,
): Committer {
  const waiting = new Map<string, WaitingRows>()
  // Of every request that is not answered yet, whether its rows wait or are being stored.
  const rowsByConnection = new Map<string, number>()
  let waitingBytes = 0
  let isFlushing = false
  let hanging = 0

  const flushWaitingRows = async (): Promise<void> => {
    if (isFlushing) return
    isFlushing = true
    while (waiting.size > 0 && hanging < limits.maxHanging) {
      // Requests that are already here belong into this commit, and the answers of the last one should not wait for it:
      // an embedded database stops the whole process while it works.
      for (let breaths = 0; breathe !== undefined && breaths < maxBreaths; breaths += 1) {
        const { size } = waiting
        await breathe()
        if (waiting.size === size) break
      }
      hanging += 1
      const work = commitBatch(takeBatch()).finally(() => {
        hanging -= 1
      })
      // A commit past its deadline goes on alone: its rows were answered "not stored" and will be delivered again.
      if ((await settleWithin(work, limits.deadlineMs, 'late')) === 'late') void work.then(flushWaitingRows)
    }
    isFlushing = false
  }

  const takeBatch = (): readonly WaitingRows[] => {
    const batch: WaitingRows[] = []
    let count = 0
    let bytes = 0
    for (const [key, rows] of waiting) {
      count += rows.drafts.length
      bytes += rows.bytes
      if (batch.length > 0 && (count > limits.maxRows || bytes > limits.maxBytes)) break
      waiting.delete(key)
      batch.push(rows)
    }
    return batch
  }

  /** Stores a batch; a fault that one inbound event may have caused is cornered by halving, so it takes no other along. */
  const commitBatch = async (batch: readonly WaitingRows[]): Promise<void> => {
    const rows: InboxDraft[] = []
    // Every request after the first holds a copy of the same.
    for (const { drafts, requests } of batch)
      for (const draft of drafts) rows.push(requests.length <= 1 ? draft : { ...draft, copies: requests.length - 1 })
    try {
      const outcomes = await accept(rows)
      let at = 0
      for (const { drafts, requests } of batch) {
        const own: InboxOutcome[] = []
        for (const end = at + drafts.length; at < end; at += 1) own.push(outcomes[at] ?? { kind: 'again' })
        for (const [index, request] of requests.entries()) {
          releaseWaitingRequestQuota(request)
          request.resolve(index === 0 ? own : own.map(toDuplicateOutcome))
        }
      }
    } catch (error) {
      onFailed?.()
      if (batch.length > 1 && mayBeCausedByOneRow(error)) {
        const half = Math.ceil(batch.length / 2)
        await commitBatch(batch.slice(0, half))
        await commitBatch(batch.slice(half))
        return
      }
      const reason = isGatewayError(error) ? error : acceptUnavailableError('could not be stored', error)
      for (const { requests } of batch)
        for (const request of requests) {
          releaseWaitingRequestQuota(request)
          request.reject(reason)
        }
    }
  }

  const releaseWaitingRequestQuota = ({ connectionKey, rows, bytes, deadline }: WaitingRequest): void => {
    clearTimeout(deadline)
    waitingBytes -= bytes
    const left = (rowsByConnection.get(connectionKey) ?? 0) - rows
    if (left > 0) rowsByConnection.set(connectionKey, left)
    else rowsByConnection.delete(connectionKey)
  }

  return {
    isAnswered: () => hanging < limits.maxHanging,
    commit(drafts) {
      if (hanging >= limits.maxHanging)
        return Promise.reject(acceptUnavailableError('cannot be stored: the database does not answer'))
      const [first] = drafts
      if (first === undefined) return Promise.resolve([])
      const connectionKey = JSON.stringify([first.tenant, first.connection])
      const key = `${connectionKey}${drafts.length === 1 ? draftIdentityKey(first) : JSON.stringify(drafts.map(draftIdentityKey))}`
      let bytes = 0
      for (const draft of drafts) bytes += draft.bytes
      const rowsOfConnection = (rowsByConnection.get(connectionKey) ?? 0) + drafts.length
      if (waitingBytes + bytes > limits.maxWaitingBytes || rowsOfConnection > limits.maxWaitingPerConnection)
        return Promise.reject(overloadedError())
      waitingBytes += bytes
      rowsByConnection.set(connectionKey, rowsOfConnection)
      const rows = waiting.get(key) ?? { drafts, bytes, requests: [] }
      waiting.set(key, rows)
      const { promise, resolve, reject } = Promise.withResolvers<Outcomes>()
      const deadline = setTimeout(() => {
        rows.requests.splice(rows.requests.indexOf(request), 1)
        // No request waits for it any more and it will be delivered again: an outage must not fill the memory with it.
        if (rows.requests.length === 0 && waiting.get(key) === rows) waiting.delete(key)
        releaseWaitingRequestQuota(request)
        reject(acceptUnavailableError('was not stored in time'))
      }, limits.deadlineMs)
      const request: WaitingRequest = { connectionKey, rows: drafts.length, bytes, deadline, resolve, reject }
      rows.requests.push(request)
      void flushWaitingRows()
      return promise
    },
  }
}

/** 57014 is the statement deadline: the batch may hold one row that is slow by itself. */
function mayBeCausedByOneRow(error: unknown): boolean {
  if (!isGatewayError(error)) return false
  return error.code === 'storage_refused_row' || error.details['sqlstate'] === '57014'
}

/** JSON texts and the rest: where one ends the next begins, so no content can imitate another key. */
function draftIdentityKey({ dedupe, content, once }: InboxDraft): string {
  // A copy that is proven otherwise is stored on its own: what it is proven by is used up, too.
  const proofs = once === undefined ? '' : JSON.stringify(once.map(({ key }) => key))
  return `${JSON.stringify(dedupe)}${proofs}${content}`
}

/** The first request learns the outcome; the others learn that theirs was a copy. */
function toDuplicateOutcome(outcome: InboxOutcome): InboxOutcome {
  return outcome.kind === 'accepted' ? { ...outcome, kind: 'duplicate' } : outcome
}

function acceptUnavailableError(what: string, cause?: unknown): GatewayError {
  const message = `[inbound] the message ${what}; deliver it again`
  return new GatewayError('storage_unavailable', message, { retryable: true, cause })
}

function overloadedError(): GatewayError {
  const message = '[inbound] too many messages wait to be stored; deliver again later'
  return new GatewayError('storage_overloaded', message, { retryable: true })
}

// Runtimes whose requests share nothing commit every inbound event on its own.

export function createUngroupedCommitter(accept: AcceptDrafts): Committer {
  return {
    isAnswered: () => true,
    commit: async (drafts) => (drafts.length === 0 ? [] : accept(drafts)),
  }
}

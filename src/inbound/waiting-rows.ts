// The rows that wait for the next commit: bounded by count and bytes, copies folded into the first of their kind.
import { GatewayError, isGatewayError } from '../contract/index.ts'
import type { InboxDraft, InboxOutcome } from './inbox-store.ts'

export type WaitingLimits = {
  readonly maxRows: number
  readonly maxBytes: number
  /** Rows of one connection that may wait for a commit; more is answered as overload. */
  readonly maxWaitingPerConnection: number
  readonly maxWaitingBytes: number
  /** A row that is not stored by then is answered as unavailable; the platform will deliver it again. */
  readonly deadlineMs: number
}

/** One row and everybody who asked for it: copies in the same window share its outcome, failure included. */
export type WaitingRow = { readonly draft: InboxDraft; readonly askers: Asker[] }
type Asker = { readonly resolve: (outcome: InboxOutcome) => void; readonly reject: (error: GatewayError) => void }

export type WaitingRows = {
  readonly add: (draft: InboxDraft) => Promise<InboxOutcome>
  readonly take: () => readonly WaitingRow[]
  readonly size: () => number
}

export function createWaitingRows(limits: WaitingLimits): WaitingRows {
  const rows = new Map<string, WaitingRow>()
  const perConnection = new Map<string, number>()
  let bytes = 0

  const count = (draft: InboxDraft, place: string, by: 1 | -1): void => {
    bytes += by * draft.bytes
    const left = (perConnection.get(place) ?? 0) + by
    if (left > 0) perConnection.set(place, left)
    else perConnection.delete(place)
  }
  const isFull = (draft: InboxDraft, place: string): boolean =>
    bytes + draft.bytes > limits.maxWaitingBytes || (perConnection.get(place) ?? 0) >= limits.maxWaitingPerConnection

  return {
    size: () => rows.size,
    add(draft) {
      const place = JSON.stringify([draft.tenant, draft.connection])
      if (isFull(draft, place)) return Promise.reject(overloaded())
      count(draft, place, 1)
      return withDeadline(limits.deadlineMs, (asker) => {
        // Two JSON texts and the rest: where one ends the next begins, so no content can imitate another key.
        const key = `${place}${JSON.stringify(draft.dedupe)}${draft.content}`
        const row = rows.get(key) ?? { draft, askers: [] }
        rows.set(key, row)
        row.askers.push(asker)
        return {
          done: () => count(draft, place, -1),
          withdraw() {
            row.askers.splice(row.askers.indexOf(asker), 1)
            // Nobody waits for it any more and it will be delivered again: an outage must not fill the memory with it.
            if (row.askers.length === 0 && rows.get(key) === row) rows.delete(key)
          },
        }
      })
    },
    take() {
      const batch: WaitingRow[] = []
      let size = 0
      for (const [key, row] of rows) {
        size += row.draft.bytes
        if (batch.length > 0 && (batch.length >= limits.maxRows || size > limits.maxBytes)) break
        rows.delete(key)
        batch.push(row)
      }
      return batch
    },
  }
}

/** The first asker learns the outcome; the others learn that theirs was a copy. */
export function resolveRow(row: WaitingRow, outcome: InboxOutcome): void {
  const copied: InboxOutcome = outcome.kind === 'accepted' ? { ...outcome, kind: 'duplicate' } : outcome
  row.askers.forEach((asker, index) => {
    asker.resolve(index === 0 ? outcome : copied)
  })
}

export function rejectRow(row: WaitingRow, error: unknown): void {
  const reason = isGatewayError(error) ? error : unavailable('could not be stored', error)
  for (const asker of row.askers) asker.reject(reason)
}

export function unavailable(what: string, cause?: unknown): GatewayError {
  const message = `[inbound] the message ${what}; deliver it again`
  return new GatewayError('storage_unavailable', message, { retryable: true, cause })
}

function overloaded(): GatewayError {
  const message = '[inbound] too many messages wait to be stored; deliver again later'
  return new GatewayError('storage_overloaded', message, { retryable: true })
}

type Asked = { readonly done: () => void; readonly withdraw: () => void }

/** `ask` answers how to withdraw what was asked, and what to do when it is over. */
function withDeadline(ms: number, ask: (asker: Asker) => Asked): Promise<InboxOutcome> {
  return new Promise((resolve, reject) => {
    const end = (): void => {
      clearTimeout(timer)
      asked.done()
    }
    const timer = setTimeout(() => {
      asked.withdraw()
      end()
      reject(unavailable('was not stored in time'))
    }, ms)
    const asked = ask({
      resolve(outcome) {
        end()
        resolve(outcome)
      },
      reject(error) {
        end()
        reject(error)
      },
    })
  })
}

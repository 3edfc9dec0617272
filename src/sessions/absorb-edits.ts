// Edits and deletes of messages that still wait: the message is amended or withdrawn before an agent reads it.

import { type Disposition, noAccessBasis, type StoredMessage, type WaitingMessage } from '../db/turn-rows.ts'
import { replyAddressAfterEdit } from './reply-address.ts'

/** A row with the answer it wants after its edits, the message as it reads after them, and the edits it took in. */
export type Absorbed = {
  readonly row: WaitingMessage
  readonly message: StoredMessage
  readonly edits: readonly WaitingMessage[]
}

export type AbsorbedRows = { readonly entries: readonly Absorbed[]; readonly dispositions: Disposition[] }

export function absorbEdits(rows: readonly WaitingMessage[]): AbsorbedRows {
  const entries = new Map<string, Absorbed>()
  const dispositions: Disposition[] = []
  for (const row of rows) {
    const target = row.event === 'new' ? undefined : waitingTarget(entries, row)
    if (target === undefined) {
      entries.set(row.id, { row, message: corrected(row), edits: [] })
    } else if (row.event === 'delete') {
      entries.delete(target.row.id)
      for (const gone of [target.row, ...target.edits]) dispositions.push(refuseEdit(gone.id, 'withdrawn'))
      dispositions.push(refuseEdit(row.id, 'withdrew_a_waiting_message'))
    } else if (JSON.stringify(target.message.parts) === JSON.stringify(row.message.parts)) {
      dispositions.push(refuseEdit(row.id, 'unchanged'))
    } else {
      const message = { ...target.message, parts: row.message.parts }
      const amended = { ...target.row, replyTo: replyAddressAfterEdit(target.row.replyTo, row.replyTo) }
      entries.set(target.row.id, { row: amended, message, edits: [...target.edits, row] })
    }
  }
  return { entries: [...entries.values()], dispositions }
}

/** Only the author's own edit counts; another sender's is judged like an edit of a message that is gone. */
function waitingTarget(entries: ReadonlyMap<string, Absorbed>, edit: WaitingMessage): Absorbed | undefined {
  for (const entry of entries.values()) {
    const isTarget = entry.row.event === 'new' && entry.row.messageId === edit.editOf
    if (isTarget && entry.row.subject === edit.subject && entry.row.agent === edit.agent) return entry
  }
  return undefined
}

/** An edit that overtook its original speaks in its place. */
function corrected(row: WaitingMessage): StoredMessage {
  const parts = row.tombstone?.event === 'edit' ? row.tombstone.parts : null
  return parts === null ? row.message : { ...row.message, parts }
}

function refuseEdit(id: string, reason: string): Disposition {
  return { ...noAccessBasis, id, state: 'refused', reason, tombstone: false, pairingId: null }
}

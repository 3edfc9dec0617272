// What was read about all senders of a lane, given to each message as far as it is about its own.
import { noStoredAccess, type PolicySender, type StoredAccess } from '../contract/index.ts'
import type { StoredMessage } from '../sessions/turn-store.ts'

/** As the statement answers: `told` names who was sent an access challenge within the hour. */
export type LaneAccess = Omit<StoredAccess, 'told' | 'toldAll'> & { readonly told: readonly (string | null)[] }

export function withAccess<Row extends { readonly message: StoredMessage | null }>(
  rows: readonly Row[],
  lane: LaneAccess,
): readonly (Row & { readonly access: StoredAccess })[] {
  return rows.map((row) => ({
    ...row,
    access: row.message === null ? noStoredAccess : aboutSender(row.message.sender, lane),
  }))
}

export function aboutSender(sender: PolicySender, { grants, links, pairings, told }: LaneAccess): StoredAccess {
  const shown = new Set((sender.identities ?? []).map(({ subject }) => subject))
  const own = links.filter((link) => shown.has(link.subject))
  const names = new Set([...shown, ...own.map((link) => link.principal)])
  return {
    grants: grants.filter((grant) => names.has(grant.subject)),
    links: own,
    pairings: pairings.filter((pairing) => names.has(pairing.subject)),
    told: told.filter((subject) => subject !== null && names.has(subject)).length,
    toldAll: told.length,
  }
}

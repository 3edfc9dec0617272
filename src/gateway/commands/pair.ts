// /pair CODE: an admin approves a pairing in a chat. Other senders learn nothing, not even whether there is such a code.
import type { StoredGrant } from '../../contract/index.ts'
import type { PairingDecision, PairingLine } from '../../db/pairings.ts'
import { formatPairingCode, readPairingCode } from '../../identity/pairing/pairing-code.ts'
import type { ChatCommandContext } from './command.ts'

export async function answerPair({
  deps,
  command,
  principal,
  adminGrants,
  write,
}: ChatCommandContext): Promise<string> {
  if (adminGrants.length === 0) return 'Only my admins can let people in.'
  const code = readPairingCode(command.args)
  if (code === undefined)
    return `Tell me whom to let in, by the code they were given: ${write('pair')} and the code, such as BCDF-2345`
  const { pairings } = deps.people
  const pairing = await pairings.find(code)
  const grant = adminGrants.find((each) => pairing !== undefined && grantCoversPairing(each, pairing))
  if (pairing === undefined || grant === undefined) return unknownPairingNotice(code)
  const by = { name: principal, subject: principal }
  const decision = await pairings.approve(code, by, grant.agent ?? undefined)
  deps.bells.turns.ring()
  return pairingDecisionNotice(code, decision, principal)
}

/** Admins let people in as far as they are admins themselves. */
function grantCoversPairing({ connection, agent }: StoredGrant, pairing: PairingLine): boolean {
  const wanted = pairing.agent === '*' ? pairing.wroteTo : pairing.agent
  return (connection === null || connection === pairing.connection) && (agent === null || agent === wanted)
}

function pairingDecisionNotice(code: string, decision: PairingDecision, principal: string): string {
  if (decision.kind === 'unknown') return unknownPairingNotice(code)
  const { pairing } = decision
  const who = pairing.shownName === null ? pairing.subject : `${pairing.subject}, who goes by “${pairing.shownName}”`
  // After a crash the same command finds what it decided before.
  const isOurs = decision.kind === 'decided' || (pairing.status === 'approved' && pairing.decidedBy === principal)
  const held = decision.kind === 'decided' && decision.messages === 0 ? 'Nothing of theirs was waiting.' : undefined
  if (isOurs) return `Let in: ${who}. ${held ?? 'What they wrote is being answered now.'}`
  return `${formatPairingCode(code)} has been decided already: it is ${pairing.status}.`
}

function unknownPairingNotice(code: string): string {
  return `No one is waiting with the code ${formatPairingCode(code)}. It may have been decided, or it has expired.`
}

// /pair CODE: an admin approves a pairing in a chat. Other senders learn nothing, not even whether there is such a code.
import type { StoredGrant } from '../../contract/index.ts'
import { readPairingCode, shownCode } from '../../identity/pairing/pairing-code.ts'
import type { PairingDecision, PairingLine } from '../../identity/pairing/pairing-store.ts'
import type { CommandScene } from './command.ts'

export async function answerPair({ deps, command, principal, adminGrants, write }: CommandScene): Promise<string> {
  if (adminGrants.length === 0) return 'Only my admins can let people in.'
  const code = readPairingCode(command.args)
  if (code === undefined)
    return `Tell me whom to let in, by the code they were given: ${write('pair')} and the code, such as BCDF-2345`
  const { pairings } = deps.people
  const pairing = await pairings.find(code)
  const grant = adminGrants.find((each) => pairing !== undefined && covers(each, pairing))
  if (pairing === undefined || grant === undefined) return unknownWords(code)
  const by = { name: principal, subject: principal }
  const decision = await pairings.approve(code, by, grant.agent ?? undefined)
  deps.bells.turns.ring()
  return decisionWords(code, decision, principal)
}

/** Admins let people in as far as they are admins themselves. */
function covers({ connection, agent }: StoredGrant, pairing: PairingLine): boolean {
  const wanted = pairing.agent === '*' ? pairing.wroteTo : pairing.agent
  return (connection === null || connection === pairing.connection) && (agent === null || agent === wanted)
}

function decisionWords(code: string, decision: PairingDecision, principal: string): string {
  if (decision.kind === 'unknown') return unknownWords(code)
  const { pairing } = decision
  const who = pairing.shownName === null ? pairing.subject : `${pairing.subject}, who goes by “${pairing.shownName}”`
  // After a crash the same command finds what it decided before.
  const isOurs = decision.kind === 'decided' || (pairing.status === 'approved' && pairing.decidedBy === principal)
  const held = decision.kind === 'decided' && decision.messages === 0 ? 'Nothing of theirs was waiting.' : undefined
  if (isOurs) return `Let in: ${who}. ${held ?? 'What they wrote is being answered now.'}`
  return `${shownCode(code)} has been decided already: it is ${pairing.status}.`
}

function unknownWords(code: string): string {
  return `No one is waiting with the code ${shownCode(code)}. It may have been decided, or it has expired.`
}

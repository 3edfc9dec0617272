// What people are told at the door. Useful to them, and worth nothing to anybody else: no rule, no name, no setting.
import type { RefusalReason } from '../access/access-policy.ts'
import { shownCode } from './pairing-code.ts'

export function pairingWords(code: string): string {
  return [
    'I do not know you yet, so I cannot answer until somebody lets you in. Your message is kept until then.',
    `Please give this code to whoever runs me: ${shownCode(code)}`,
    `They let you in with: parley pairings approve ${shownCode(code)}`,
  ].join('\n')
}

/** Undefined: nothing is said. Whoever is not proven to be somebody is never answered: the address may be a victim's. */
export function refusalWords(reason: RefusalReason | string, subject: string | null): string | undefined {
  if (subject === null) return undefined
  switch (reason) {
    case 'connection_closed':
    case 'agent_closed':
      return 'I am not taking messages here at the moment. Please try again later, or ask whoever runs me.'
    case 'not_on_allow_list':
      return `I am not allowed to talk with you here. If you think I should be, ask whoever runs me to let you in, as ${subject}`
    case 'denied_by_rule':
    case 'blocked':
      return 'I am not allowed to talk with you here.'
    case 'gw:hop_limit':
      return 'This has already passed through as many agents as it may. Please ask me directly.'
    case 'gw:agent_loop':
      return 'I have already had my turn with this, and nobody has said anything new since.'
    default:
      return undefined
  }
}
